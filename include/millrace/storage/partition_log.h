// One replica's log: segments with their indexes, leader epochs, producer state, recovery, truncation, retention.
// File formats: docs/log-format.md. Made by LogDirectory (create_log, open_log).
//
// Threads: calls belong to whoever runs the partition's driver, one at a time ("runner"). A call marked *blocks* may
// wait for the disk and is made from a pool job while the runner is held. Calls marked *any thread* need no runner.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/bytes/view.h"
#include "millrace/storage/leader_epochs.h"
#include "millrace/storage/log_config.h"
#include "millrace/storage/producer_state.h"
#include "millrace/storage/read_view.h"

namespace millrace::storage {

class LogDirectory;
class Compaction;
struct CompactionNeed;
struct CompactionRules;

// What opening found. A log that was cut after a lost machine rejoins as unclean.
struct RecoveryReport {
  int64_t scanned_bytes{};
  int64_t cut_bytes{};
  std::optional<Offset> first_cut_offset;  // set when something was cut: what the log's end is now
  std::optional<Offset> last_cut_offset;   // last offset that a readable batch behind the cut had, if any
  bool were_epochs_rebuilt{};
  bool were_producers_rebuilt{};
};

struct Appended {
  Offset first_offset;  // of the first batch
  LogMark end;          // the log's end after the write
};

struct DeletedSegments;  // files that left the log and wait to be unlinked

struct RetentionResult {
  size_t segment_count{};
  int64_t bytes{};
  Offset log_start;  // after the deletion
  std::shared_ptr<DeletedSegments> files;
};

class PartitionLog {
 public:
  ~PartitionLog();  // closes nothing and writes nothing: as after a kill
  PartitionLog(PartitionLog const&) = delete;
  PartitionLog& operator=(PartitionLog const&) = delete;

  TopicPartition const& topic_partition() const;  // any thread
  TopicId topic_id() const;
  LogDirectory& directory() const;  // any thread
  RecoveryReport const& recovery() const;
  Offset high_watermark_at_start() const;  // from replication-offset-checkpoint, within [log_start, end]

  // ---- Append

  // Appends whole magic 2 batches whose base offsets and leader epochs are written already: one vectored write a
  // segment. Base offsets are at or past end(); each batch is at most segment_bytes. Updates indexes, epochs and
  // producer state. On failure the tail is cut back and nothing of it was appended: no_space leaves the directory in
  // service, io takes it offline, invalid is the caller's mistake.
  Result<Appended> append(std::span<ByteView const> batches, Wall now);
  // False: append() would roll a segment or open a file, so it belongs on the pool.
  bool is_append_short(std::span<ByteView const> batches, Wall now) const;
  // *blocks* Closes the active segment (synced) and begins a new one at end(). Nothing happens if it is empty.
  Status roll(Wall now);

  // ---- State

  Offset log_start() const;
  LogMark end() const;
  int64_t size_bytes() const;            // of the .log files; any thread
  size_t segment_count() const;          // any thread
  int64_t largest_timestamp_ms() const;  // of the active segment; -1 none
  ReadView view() const;                 // any thread
  // *blocks* Any thread. When the record at `offset` was appended to this replica: right to a second while the side
  // file knows it, otherwise what its batch says. None: there is no such record.
  std::optional<int64_t> append_time_ms(Offset offset) const;
  LogConfig const& config() const;
  void set_config(LogConfig const& config);

  // ---- Producers

  ProducerState const& producers() const;
  // min(high watermark, first unstable offset).
  Offset last_stable_offset(Offset high_watermark) const;
  void on_high_watermark(Offset high_watermark);  // forgets finished transactions; noted for the checkpoint
  void expire_producers(Wall now);

  // ---- Leader epochs

  LeaderEpochs const& epochs() const;
  void assign_epoch(LeaderEpoch epoch);  // begins at end(); saved with the next flush
  EpochEnd end_of_epoch(LeaderEpoch epoch) const;

  // ---- Truncation and deletion

  // *blocks* Keeps what is below `offset`. Regions past the cut are revoked first. Above end(): nothing happens.
  Status truncate_to(Offset offset);
  // *blocks* Drops everything; the log starts and ends at `offset`.
  Status truncate_fully_and_start_at(Offset offset);
  // *blocks* Raises log_start and makes that durable before it returns; whole segments below it leave the log.
  // out_of_range above `high_watermark`.
  Result<RetentionResult> delete_records(Offset before, Offset high_watermark);
  // A follower adopts its leader's log start; durable with the next checkpoint.
  void advance_log_start(Offset log_start);
  // *blocks* Deletes by retention time and size, never at or past `high_watermark`. `now` is the clock of
  // RetentionClock.
  Result<RetentionResult> apply_retention(Wall now, Offset high_watermark);
  // *blocks* Any thread, without the runner.
  static Status unlink(DeletedSegments& files);

  // ---- Compaction (compaction.h)

  // Any thread: a pass might find something.
  bool has_closed_dirty_segments() const;
  // What was never compacted begins here.
  Offset first_dirty_offset() const;
  // *blocks*
  Result<CompactionNeed> compaction_need(Wall now, Offset high_watermark) const;
  // *blocks* Up to the active segment, the last stable offset and what is too young. At most one pass at a time.
  Result<std::unique_ptr<Compaction>> begin_compaction(CompactionRules const& rules, Wall now, Offset high_watermark);
  // *blocks* What the pass has written replaces the segments that it was made from; readers notice nothing.
  Result<std::shared_ptr<DeletedSegments>> install(Compaction& compaction);

  // ---- Durability

  // *blocks* Any thread, without the runner: makes everything that was appended before the call durable and returns
  // the end that this covers. An error takes the directory offline; it is never repeated.
  Result<Offset> sync();
  Offset recovery_point() const;  // any thread

  // *blocks* Writes indexes, epochs and a producer snapshot, truncates preallocation. The last call; what it wrote
  // counts once LogDirectory::stop_cleanly() has synced it.
  Status close_cleanly();

 private:
  friend class LogDirectory;
  friend class PlainLog;
  friend class Compaction;
  class Body;
  explicit PartitionLog(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// The wall clock as time retention sees it. After a forward jump it stays on the old line until the new time has held
// for an hour: a clock that leaps ahead by a year and is then corrected deletes nothing.
class RetentionClock {
 public:
  static constexpr Duration kJumpMax = std::chrono::hours(1);
  static constexpr Duration kHold = std::chrono::hours(1);
  Wall observe(Wall wall, Mono mono);

 private:
  std::optional<std::pair<Wall, Mono>> last_;
  std::optional<Mono> jumped_;
};

}  // namespace millrace::storage
