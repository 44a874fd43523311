// The metadata log as bytes: reading what is on disk at start, and building the batches and snapshots that go there.
#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/env/disk.h"
#include "millrace/metadata/records.h"
#include "millrace/metadata/replay.h"
#include "millrace/raft/machine.h"
#include "millrace/record/batch.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/plain_log.h"

namespace millrace::runtime {

using Bytes = std::vector<std::byte>;

struct MetadataLogOptions {
  raft::ReplicaKey self;
  // controller.quorum.voters. Empty: voters are in the log, and a fresh directory is formatted with this node alone, if
  // it may be the first.
  raft::VoterSet static_voters;
  bool is_first_voter = true;
  std::vector<raft::VoterEndpoint> endpoints;  // of this node's controller listener
};

// The image after a batch that may not be committed.
struct LoadedTail {
  Offset end;
  metadata::Image image;
  metadata::ImageDelta delta;  // since the one before; of the first: nothing
};

struct LoadedMetadata {
  std::unique_ptr<storage::PlainLog> log;
  raft::LoadedState raft;
  metadata::Replayer replayer;                  // everything that is in the log
  metadata::RecordList formatted;               // bootstrap records of a log that is still empty
  std::optional<storage::SnapshotId> snapshot;  // the latest
  std::vector<std::string> given_up;            // damaged ones, and how; the log holds what is in them
  int64_t bytes_since_snapshot = 0;
  // With other voters: the images after the newest batches, which another leader may cut off again.
  std::deque<LoadedTail> tail;
};
inline constexpr size_t kLoadedTailMax = 256;

// Opens the log, formats a fresh one (quorum-state comes later, from the machine) and replays it. Blocks.
// Errors: unsupported: records or features that this node does not know; nothing was changed. corrupt: the log, or a
// snapshot for which nothing else stands in; it is named.
Result<LoadedMetadata> load_metadata_log(storage::LogDirectory& directory, MetadataLogOptions const& options, Wall now);

// The newest snapshot and what the log holds behind it. Blocks.
Result<metadata::Replayer> replay_log(storage::PlainLog& log);

// A snapshot alone.
struct LoadedSnapshot {
  metadata::Replayer replayer;
  std::optional<raft::VoterSet> voters;
  std::optional<int16_t> kraft_version;
};
Result<LoadedSnapshot> load_snapshot_content(storage::PlainLog& log, storage::SnapshotId id);

// Whole batches from the one that holds `from` on, at most `bytes_max` of them but at least one. Blocks.
Result<std::vector<SharedBytes>> read_batches(storage::PlainLog& log, Offset from, int32_t bytes_max);
// Checks a batch that came from a peer: its checksum and, of control batches, its records.
Result<raft::BatchInfo> describe_batch(record::BatchView batch);
// Replays a batch, as the log's own loading does.
Status replay_batch(record::BatchView batch, metadata::Replayer& replayer);

std::string quorum_state_path(storage::LogDirectory const& directory);

// One batch of metadata records.
Bytes build_record_batch(Offset base, LeaderEpoch epoch, metadata::RecordList const& records, Wall now);
// The control batch that begins an epoch.
Bytes build_leader_change_batch(raft::effect::AppendLeaderChange const& change, int16_t kraft_version,
                                raft::VoterSet const& voters, Wall now);
// A whole checkpoint file.
Bytes build_snapshot(metadata::RecordList const& records, LeaderEpoch epoch, int64_t last_timestamp_ms,
                     int16_t kraft_version, raft::VoterSet const& voters, Wall now);

}  // namespace millrace::runtime
