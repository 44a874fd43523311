// Idempotent and transactional producers of one partition: the last five batches of each, its open transaction, and
// the first unstable offset. Replaying the log's batches gives the same state. Used by the partition's runner only.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/bytes/view.h"
#include "millrace/storage/read_view.h"

namespace millrace::storage {

inline constexpr size_t kProducerBatchesKept = 5;

struct ProducerBatch {
  int32_t last_sequence = -1;
  int32_t offset_delta = 0;  // last offset minus first offset
  Offset last_offset{-1};
  int64_t timestamp_ms = -1;

  Offset first_offset() const { return last_offset - offset_delta; }
  int32_t first_sequence() const;  // sequences wrap at 2^31 - 1
  friend bool operator==(ProducerBatch const&, ProducerBatch const&) = default;
};

struct ProducerEntry {
  ProducerEpoch epoch{-1};
  int32_t coordinator_epoch = -1;
  int64_t last_timestamp_ms = -1;
  std::optional<Offset> open_transaction_first_offset;
  uint8_t batch_count = 0;
  std::array<ProducerBatch, kProducerBatchesKept> batches{};  // oldest first

  int32_t last_sequence() const { return batch_count ? batches[batch_count - 1].last_sequence : -1; }
  void add(ProducerBatch const& batch);
  ProducerBatch const* find(int32_t first_sequence, int32_t last_sequence) const;
  friend bool operator==(ProducerEntry const&, ProducerEntry const&) = default;
};

// What a batch header says about its producer.
struct ProducerClaim {
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch epoch{-1};
  int32_t first_sequence = -1;
  int32_t last_sequence = -1;
  Offset base_offset;
  Offset last_offset;
  int64_t timestamp_ms = -1;  // largest of the batch
  bool is_transactional = false;
  bool is_control = false;
  // Of an end-transaction marker only.
  bool is_commit = false;
  int32_t coordinator_epoch = -1;

  // From a whole magic 2 batch; ErrorKind::corrupt for a control batch whose record cannot be read.
  static Result<ProducerClaim> of(ByteView batch);
};

enum class ClaimVerdict {
  append,
  duplicate,  // of the batch in ClaimAnswer::batch
  out_of_order_sequence,
  invalid_producer_epoch,
  invalid_transaction_state,
  transaction_coordinator_fenced,
};

struct ClaimAnswer {
  ClaimVerdict verdict = ClaimVerdict::append;
  ProducerBatch batch{};      // of a duplicate: its offsets and timestamp
  bool is_in_flight = false;  // the duplicated batch is part of the overlay: it shares that batch's fate
  // Of a refused claim or a gap: where its producer was.
  ProducerEpoch known_epoch{-1};
  int32_t next_sequence = -1;  // in the known epoch
  Offset last_offset{-1};      // of its last batch; -1: none is remembered
  bool is_gap = false;         // refused or not: batches of its epoch that come before it are missing
};

enum class ClaimOrigin { client, replication, coordinator };

class ProducerState;

// The batches accepted into the write that is being gathered but not yet in the log. Dropped after the write.
class ProducerOverlay {
 public:
  void add(ProducerState const& state, ProducerClaim const& claim);  // after check() said append
  void clear() { entries_.clear(); }
  bool empty() const { return entries_.empty(); }

 private:
  friend class ProducerState;
  struct Pending {
    ProducerId producer_id;
    ProducerEntry entry;
    Offset first_pending;  // batches at or past it are in flight
  };
  Pending const* find(ProducerId id) const;
  std::vector<Pending> entries_;  // few: a gathered write holds some tens of batches
};

class ProducerState {
 public:
  // Pure: the answer for `claim` given this state with `overlay` (may be null) on top.
  ClaimAnswer check(ProducerClaim const& claim, ProducerOverlay const* overlay, ClaimOrigin origin) const;

  // The batch is in the log. Returns the transaction that its marker ended by abort or commit.
  struct Ended {
    ProducerId producer_id;
    Offset first_offset;
    Offset last_offset;
    bool is_aborted{};
    Offset last_stable_offset;  // what the log's last stable offset is once the marker counts
  };
  std::optional<Ended> apply(ProducerClaim const& claim);

  // First offset of the oldest transaction without a marker; none: everything below the end is stable.
  std::optional<Offset> first_open_offset() const;
  // As above, but a transaction whose marker is at or past `high_watermark` still counts as open.
  std::optional<Offset> first_unstable_offset(Offset high_watermark) const;
  void forget_completed_below(Offset high_watermark);
  bool has_completed() const { return !completed_.empty(); }

  ProducerEntry const* find(ProducerId id) const;
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  template <class F>
  void for_each(F&& f) const {  // in order of producer id
    for (auto const& [id, entry] : entries_) f(ProducerId(id), entry);
  }
  // Drops producers without an open transaction that were silent for longer than `expiry_ms`.
  void expire(Wall now, int64_t expiry_ms);
  void clear();

  // Kafka's `.snapshot` file. load() replaces the state; ErrorKind::corrupt leaves it empty.
  std::string snapshot() const;
  Status load(std::string_view content, Wall now, int64_t expiry_ms);
  // What a snapshot leaves out: batches before the last one, oldest first. Those that do not lead up to it without a
  // gap, or begin below the log start, do not count.
  void add_earlier(ProducerId id, ProducerEpoch epoch, std::span<ProducerBatch const> batches, Offset log_start);

  friend bool operator==(ProducerState const& a, ProducerState const& b) { return a.entries_ == b.entries_; }

 private:
  std::map<int64_t, ProducerEntry> entries_;
  std::map<Offset, ProducerId> open_;  // first offset of each open transaction
  std::map<Offset, Ended> completed_;  // ended, marker perhaps not below the high watermark yet
};

// The entries of a `.snapshot` file in its order. corrupt: not one, or damaged.
Result<std::vector<std::pair<ProducerId, ProducerEntry>>> parse_producer_snapshot(std::string_view content);

}  // namespace millrace::storage
