// The quorum-state file of a raft replica.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct QuorumStateData {
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct Voter {
    int32_t voter_id{};
    static void describe(auto& m, auto& v) { v(m.voter_id, {"VoterId", between(0, 0)}); }
  };

  Str cluster_id;
  int32_t leader_id = -1;
  int32_t leader_epoch = -1;
  int32_t voted_id = -1;
  Uuid voted_directory_id;
  int64_t applied_offset{};
  Array<Voter> current_voters;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", between(0, 0)});
    v(m.leader_id, {"LeaderId", since(0)});
    v(m.leader_epoch, {"LeaderEpoch", since(0)});
    v(m.voted_id, {"VotedId", since(0)});
    v(m.voted_directory_id, {"VotedDirectoryId", since(1)});
    v(m.applied_offset, {"AppliedOffset", between(0, 0)});
    v(m.current_voters, {"CurrentVoters", between(0, 0), nullable_between(0, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
