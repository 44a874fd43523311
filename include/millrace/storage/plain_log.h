// The log of the metadata quorum: offsets and leader epochs given by the caller, every append synced before it
// returns, no producer state, and snapshots `<end offset, 20 digits>-<epoch, 10 digits>.checkpoint` beside the
// segments. Used by one runner at a time; all calls but view() and the getters block.
#pragma once
#include <functional>
#include <memory>
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
#include "millrace/storage/partition_log.h"
#include "millrace/storage/read_view.h"

namespace millrace::storage {

// A snapshot holds every record below `end_offset`; `epoch` is that of the record before it.
struct SnapshotId {
  Offset end_offset;
  LeaderEpoch epoch;
  friend auto operator<=>(SnapshotId, SnapshotId) = default;
};

class PlainLog {
 public:
  // Is what lies there under the name of a snapshot one? corrupt: it is not.
  using CheckSnapshot = std::function<Status(PlainLog&, SnapshotId)>;

  // Opens `__cluster_metadata-0` of `directory`, makes it if it is missing. A snapshot takes the log's place only if
  // `check` lets it; one that is damaged is forgotten where the log goes back before it.
  static Result<std::unique_ptr<PlainLog>> open(LogDirectory& directory, TopicId topic_id, LogConfig const& config,
                                                Wall now, CheckSnapshot const& check = {});
  ~PlainLog();

  Offset log_start() const;
  LogMark end() const;
  LeaderEpochs const& epochs() const;
  EpochEnd end_of_epoch(LeaderEpoch epoch) const;
  ReadView view() const;
  RecoveryReport const& recovery() const;

  // Written and synced when it returns. no_space: nothing was appended.
  Result<Appended> append(std::span<ByteView const> batches, Wall now);
  // The same in two steps, for a leader that gathers: written, and then synced up to the returned end.
  Result<Appended> append_unsynced(std::span<ByteView const> batches, Wall now);
  Result<Offset> sync();
  void assign_epoch(LeaderEpoch epoch);
  Status truncate_to(Offset offset);

  // ---- Snapshots

  std::vector<SnapshotId> snapshots() const;  // oldest first
  std::optional<SnapshotId> latest_snapshot() const;
  std::string snapshot_path(SnapshotId id) const;
  // To its own beginning, or to an older snapshot's end: without this one nothing is missing.
  bool goes_back_before(SnapshotId id) const;
  // Writes a part, syncs, renames: a crash leaves no snapshot or the whole one.
  Status write_snapshot(SnapshotId id, std::span<ByteView const> content);
  Result<int64_t> snapshot_bytes(SnapshotId id);
  // At most `into.size()` bytes from `position`; the count read.
  Result<size_t> read_snapshot(SnapshotId id, Position position, MutableByteView into);
  // A snapshot that arrives in pieces from the leader.
  class Download {
   public:
    virtual ~Download() = default;  // an unfinished one is removed
    virtual Status append(ByteView piece) = 0;
    virtual int64_t bytes() const = 0;
    virtual Status finish() = 0;
  };
  Result<std::unique_ptr<Download>> begin_download(SnapshotId id);
  // Gives up a snapshot that turned out not to be one.
  Status forget_snapshot(SnapshotId id);
  // Drops the whole log: it starts and ends at the latest snapshot's end, with its epoch.
  Status reset_to_latest_snapshot();
  // Raises log_start to the oldest kept snapshot's end and removes segments and snapshots below it.
  Status delete_before_snapshot(SnapshotId id);

  Status close_cleanly();

 private:
  class Body;
  explicit PlainLog(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace millrace::storage
