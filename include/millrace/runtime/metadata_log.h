// The metadata log as bytes: reading what is on disk at start, and building the batches and snapshots that go there.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/env/disk.h"
#include "millrace/metadata/records.h"
#include "millrace/metadata/replay.h"
#include "millrace/raft/machine.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/plain_log.h"

namespace millrace::runtime {

using Bytes = std::vector<std::byte>;

struct MetadataLogOptions {
  raft::ReplicaKey self;
  // controller.quorum.voters. Empty: voters are in the log, and a fresh directory is formatted with this node alone.
  raft::VoterSet static_voters;
  std::vector<raft::VoterEndpoint> endpoints;  // of this node's controller listener
};

struct LoadedMetadata {
  std::unique_ptr<storage::PlainLog> log;
  raft::LoadedState raft;
  metadata::Replayer replayer;                  // everything that is in the log
  metadata::RecordList formatted;               // bootstrap records of a log that is still empty
  std::optional<storage::SnapshotId> snapshot;  // the latest
  int64_t bytes_since_snapshot = 0;
};

// Opens the log, formats a fresh one (quorum-state comes later, from the machine) and replays it. Blocks.
// Errors: unsupported: records or features that this node does not know; nothing was changed. corrupt.
Result<LoadedMetadata> load_metadata_log(storage::LogDirectory& directory, MetadataLogOptions const& options, Wall now);

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
