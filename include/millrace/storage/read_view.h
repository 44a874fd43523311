// What any thread may read of a log without entering its driver: an immutable list of segments, and the marks that
// the driver publishes beside it.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/env/response.h"

namespace millrace::storage {

class FileCache;
class Segment;
class SegmentList;

// A byte position in the log as a whole: segment after segment, counted from the log's oldest segment when it was
// opened. Differences are byte counts, also across segments. Comparable only within one opening of the log.
using LogPosition = Quantity<struct LogPositionTag, int64_t>;

// An offset together with the log position of the first batch that ends at or after it.
struct LogMark {
  Offset offset;
  LogPosition position;
  friend bool operator==(LogMark, LogMark) = default;
};

// One partition's marks as its driver publishes them.
struct Marks {
  LeaderEpoch epoch{-1};
  Offset log_start;
  LogMark last_stable;
  LogMark high_watermark;
  LogMark end;
  friend bool operator==(Marks const&, Marks const&) = default;
};

// A seqlock: one writer (the driver), any readers. A read takes a few nanoseconds and never waits for the writer
// longer than its few stores.
class PublishedMarks {
 public:
  void publish(Marks const& marks);
  // The marks and the version they were read at; versions grow with each publish.
  Marks read(uint64_t* version = nullptr) const;
  uint64_t version() const { return sequence_.load(std::memory_order_acquire) / 2; }

 private:
  static constexpr size_t kWords = 8;
  std::atomic<uint64_t> sequence_{0};
  std::array<std::atomic<int64_t>, kWords> words_{};
};

struct AbortedTransaction {
  ProducerId producer_id;
  Offset first_offset;
  Offset last_offset;         // of the marker
  Offset last_stable_offset;  // just after the marker was written
  friend bool operator==(AbortedTransaction const&, AbortedTransaction const&) = default;
};

struct ReadRequest {
  Offset from;
  int64_t bytes_max{};
  LogMark upper;                   // nothing at or past it is returned: high watermark, last stable offset or end
  bool at_least_one_batch = true;  // the first batch comes whole even if it is larger than bytes_max
  bool without_cut_batch = false;  // the last one is left out rather than cut, where the newest batches tell its bounds
  bool with_aborted_transactions = false;
  int64_t region_bytes_min = 64 * 1024;  // results at least this large become a file region
  env::Wait wait = env::Wait::yes;       // no: ErrorKind::would_block when an index or the bytes are not in memory
};

// As in Kafka a read stays inside one segment and its last batch may be cut at bytes_max.
struct ReadResult {
  LogMark start;                      // log position of the first returned batch; `start.offset` is the asked one
  std::optional<env::Chunk> records;  // none: nothing between `from` and the upper limit
  int64_t bytes{};
  bool is_first_batch_cut = false;  // only possible without at_least_one_batch; there are no records then
  std::vector<AbortedTransaction> aborted;  // in the order of their markers
};

struct TimestampOffset {
  int64_t timestamp_ms = -1;
  Offset offset{-1};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  friend bool operator==(TimestampOffset const&, TimestampOffset const&) = default;
};

// A snapshot of the segments. Cheap to copy, may be kept; segments deleted meanwhile answer out_of_range, a
// truncation makes reads stop at the new end. Any thread. Calls with Wait::yes may block for the disk.
class ReadView {
 public:
  ReadView() = default;
  explicit ReadView(std::shared_ptr<SegmentList const> segments) : segments_(std::move(segments)) {}

  // ErrorKind::out_of_range below the first segment or past the upper limit's offset; would_block only with
  // Wait::no; limit when the leases are used up (ask again with a larger region_bytes_min or answer empty);
  // corrupt, io: the bytes cannot be served.
  Result<ReadResult> read(ReadRequest const& request) const;

  // The log position of `offset`. `end` bounds the search as in read().
  Result<LogPosition> position_of(Offset offset, LogMark end, env::Wait wait = env::Wait::yes) const;

  // The first record at or past `from` and below `end` whose timestamp is at least `timestamp_ms`; none: {}.
  Result<std::optional<TimestampOffset>> offset_for_timestamp(int64_t timestamp_ms, Offset from, LogMark end) const;
  // The first record with the largest timestamp in the log; none in an empty log.
  Result<std::optional<TimestampOffset>> largest_timestamp(Offset from, LogMark end) const;
  // Transactions aborted by markers, overlapping [from, to).
  Result<std::vector<AbortedTransaction>> aborted_transactions(Offset from, Offset to) const;

 private:
  std::shared_ptr<SegmentList const> segments_;
};

}  // namespace millrace::storage
