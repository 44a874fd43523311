// The words of the quorum: who votes, who leads, where a log ends.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/ids.h"

namespace millrace::raft {

// A voter is one directory of one node: a node with a wiped disk is another voter.
struct ReplicaKey {
  BrokerId id = kNoBroker;
  DirectoryId directory;  // zero: not known (static quorums name voters by id alone)
  friend auto operator<=>(ReplicaKey const&, ReplicaKey const&) = default;
};

struct VoterEndpoint {
  std::string listener;
  std::string host;
  uint16_t port{};
  friend bool operator==(VoterEndpoint const&, VoterEndpoint const&) = default;
};

struct Voter {
  ReplicaKey key;
  std::vector<VoterEndpoint> endpoints;
  int16_t kraft_version_min = 0;
  int16_t kraft_version_max = 1;
  friend bool operator==(Voter const&, Voter const&) = default;
};

struct VoterSet {
  std::vector<Voter> voters;  // by id
  Voter const* find(BrokerId id) const;
  // Same id, and the same directory where both sides know it.
  bool contains(ReplicaKey const& key) const;
  size_t majority() const { return voters.size() / 2 + 1; }
  friend bool operator==(VoterSet const&, VoterSet const&) = default;
};

// What a node must remember across restarts; the file `quorum-state`.
struct ElectionState {
  LeaderEpoch epoch{0};
  BrokerId leader = kNoBroker;
  std::optional<ReplicaKey> voted;  // in this epoch
  // As in Kafka the id decides where the directory is not known: version 0 of the file does not tell it.
  bool has_voted_for(ReplicaKey const& candidate) const;
  friend bool operator==(ElectionState const&, ElectionState const&) = default;
};

// The end of a log: the offset after its last record, and that record's epoch.
struct LogEnd {
  Offset offset{0};
  LeaderEpoch epoch{0};
  friend bool operator==(LogEnd const&, LogEnd const&) = default;
};

// A snapshot holds every record below `end_offset`; `epoch` is that of the record before it.
struct SnapshotId {
  Offset end_offset{0};
  LeaderEpoch epoch{0};
  friend auto operator<=>(SnapshotId const&, SnapshotId const&) = default;
};

// Where an epoch's records begin.
struct EpochStart {
  LeaderEpoch epoch;
  Offset start;
  friend bool operator==(EpochStart const&, EpochStart const&) = default;
};

}  // namespace millrace::raft
