// Proves that quorum-state is written byte for byte as Kafka 4.4.0 writes it in both versions, read back, and that
// damaged files are refused.
#include "millrace/raft/quorum_state.h"

#include <gtest/gtest.h>

namespace millrace::raft {
namespace {

constexpr std::string_view kDynamic =
    R"({"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})";
constexpr std::string_view kStatic =
    R"({"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0})";

VoterSet one_voter() { return {{Voter{{BrokerId{1}, {}}, {}}}}; }

TEST(QuorumState, WritesAndReadsKafkasFiles) {
  ElectionState const leading{LeaderEpoch{1}, BrokerId{1}, {}};
  EXPECT_EQ(format_quorum_state(leading, 1, one_voter()), kDynamic);
  EXPECT_EQ(format_quorum_state(leading, 0, one_voter()), kStatic);
  for (auto text : {kDynamic, kStatic}) {
    auto const parsed = parse_quorum_state(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, leading);
  }
}

TEST(QuorumState, KeepsTheVote) {
  ElectionState const voted{LeaderEpoch{7}, kNoBroker, ReplicaKey{BrokerId{3}, Uuid{{9}}}};
  auto const parsed = parse_quorum_state(format_quorum_state(voted, 1, one_voter()));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(*parsed, voted);
}

TEST(QuorumState, RefusesDamage) {
  for (auto text :
       {"", "{", "[]", "{}", R"({"leaderId":1})", R"({"leaderId":1,"leaderEpoch":x,"votedId":-1,"data_version":1})",
        R"({"leaderId":1,"leaderEpoch":-4,"votedId":-1,"data_version":1})",
        R"({"leaderId":1,"leaderEpoch":4,"votedId":-1,"data_version":2})",
        R"({"leaderId":1,"leaderEpoch":4,"votedId":-1,"data_version":1}x)"}) {
    EXPECT_FALSE(parse_quorum_state(text)) << text;
  }
}

}  // namespace
}  // namespace millrace::raft
