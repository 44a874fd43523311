// What voters and observers say to each other, as far as the algorithm needs it. Addresses, cluster ids and record
// bytes stay with the driver. Error precedence is the machine's: a request says what its handler found out.
#pragma once
#include <memory>
#include <variant>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/protocol/errors.h"
#include "millrace/raft/types.h"

namespace millrace::raft {

// ---- requests

struct Addressing {
  bool is_same_cluster = true;  // no cluster id was named, or this one
  bool is_metadata_log = true;  // exactly its one partition
  friend bool operator==(Addressing const&, Addressing const&) = default;
};

struct VoteRequest {
  Addressing addressing;
  ReplicaKey candidate;
  ReplicaKey voter;  // who is meant; no id: whoever gets it
  LeaderEpoch epoch;
  LogEnd last;
  bool is_pre_vote = false;
  friend bool operator==(VoteRequest const&, VoteRequest const&) = default;
};

struct BeginEpochRequest {
  Addressing addressing;
  ReplicaKey voter;
  BrokerId leader;
  LeaderEpoch epoch;
  friend bool operator==(BeginEpochRequest const&, BeginEpochRequest const&) = default;
};

struct EndEpochRequest {
  Addressing addressing;
  BrokerId leader;
  LeaderEpoch epoch;
  std::vector<ReplicaKey> preferred_successors;  // the most advanced first
  friend bool operator==(EndEpochRequest const&, EndEpochRequest const&) = default;
};

struct FetchRequest {
  Addressing addressing;
  ReplicaKey replica;  // id -1: not a replica
  LeaderEpoch current_epoch;
  Offset offset;
  LeaderEpoch last_epoch;
  Offset high_watermark{INT64_MAX};  // as the replica knows it; a leader that knows more answers at once
  int32_t bytes_max = INT32_MAX;
  Duration wait_max{};
  friend bool operator==(FetchRequest const&, FetchRequest const&) = default;
};

struct FetchSnapshotRequest {
  Addressing addressing;
  ReplicaKey replica;
  LeaderEpoch current_epoch;
  SnapshotId id;
  int64_t position = 0;
  int32_t bytes_max = INT32_MAX;
  friend bool operator==(FetchSnapshotRequest const&, FetchSnapshotRequest const&) = default;
};

using Request = std::variant<VoteRequest, BeginEpochRequest, EndEpochRequest, FetchRequest, FetchSnapshotRequest>;

// ---- responses

// What every answer carries. `top` stands for the whole request; nothing else is set then.
struct Verdict {
  ErrorCode top = ErrorCode::none;
  ErrorCode error = ErrorCode::none;
  BrokerId leader = kNoBroker;
  LeaderEpoch epoch{-1};
  friend bool operator==(Verdict const&, Verdict const&) = default;
};

struct VoteResponse {
  Verdict verdict;
  bool is_granted = false;
  friend bool operator==(VoteResponse const&, VoteResponse const&) = default;
};

struct BeginEpochResponse {
  Verdict verdict;
  friend bool operator==(BeginEpochResponse const&, BeginEpochResponse const&) = default;
};

struct EndEpochResponse {
  Verdict verdict;
  friend bool operator==(EndEpochResponse const&, EndEpochResponse const&) = default;
};

// One batch of a Fetch answer, whose bytes the driver has checked and holds.
struct BatchInfo {
  Offset base, next;
  LeaderEpoch epoch;
  // What its control records say of the quorum; they count from their append on.
  std::shared_ptr<VoterSet const> voters;
  std::optional<int16_t> kraft_version;
  friend bool operator==(BatchInfo const&, BatchInfo const&) = default;
};

struct FetchResponse {
  Verdict verdict;
  Offset high_watermark{-1};
  Offset log_start{-1};
  std::optional<LogEnd> diverging;     // cut to the end of this epoch and ask again
  std::optional<SnapshotId> snapshot;  // fetch this first
  std::vector<BatchInfo> batches;      // arrived
  bool has_records = false;            // to send: those from the requested offset on
  friend bool operator==(FetchResponse const&, FetchResponse const&) = default;
};

struct FetchSnapshotResponse {
  Verdict verdict;
  SnapshotId id;
  int64_t snapshot_bytes = 0;
  int64_t position = 0;
  int64_t piece_bytes = 0;
  friend bool operator==(FetchSnapshotResponse const&, FetchSnapshotResponse const&) = default;
};

using Response = std::variant<VoteResponse, BeginEpochResponse, EndEpochResponse, FetchResponse, FetchSnapshotResponse>;

}  // namespace millrace::raft
