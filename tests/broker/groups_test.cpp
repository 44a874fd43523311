// Groups through a whole broker on simulated disks: what was answered is there after a crash, an answer waits for the
// mark that a lagging follower holds back, and who waits is sent away with the leadership.
#include "node.h"

#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/heartbeat.h"
#include "millrace/protocol/api/join_group.h"
#include "millrace/protocol/api/list_groups.h"
#include "millrace/protocol/api/offset_commit.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "millrace/protocol/api/sync_group.h"

namespace millrace::broker {
namespace {

using namespace protocol;

constexpr auto kTopic = "__consumer_offsets";
constexpr auto kMarkDelay = 500ms;

class Groups : public BrokerTest {
 protected:
  void SetUp() override {
    start();
    add_topic("t", 2);
  }

  std::shared_ptr<Outcome> send_commit(int64_t offset, Str member = "", int32_t generation = -1) {
    OffsetCommitRequest::OffsetCommitRequestPartition partition;
    partition.committed_offset = offset;
    OffsetCommitRequest::OffsetCommitRequestTopic topic;
    topic.name = "t";
    topic.partitions = Array(&partition, 1);
    OffsetCommitRequest request;
    request.group_id = "g";
    request.member_id = member;
    request.generation_id_or_member_epoch = generation;
    request.topics = Array(&topic, 1);
    return send(request, 8);
  }
  ErrorCode commit_answer(std::shared_ptr<Outcome> const& outcome) {
    EXPECT_TRUE(wait(outcome));
    return decode<OffsetCommitResponse>(*outcome, 8).topics[0].partitions[0].error_code;
  }
  ErrorCode commit(int64_t offset, Str member = "", int32_t generation = -1) {
    return commit_answer(send_commit(offset, member, generation));
  }
  std::shared_ptr<Outcome> send_fetch() {
    int32_t index = 0;
    OffsetFetchRequest::OffsetFetchRequestTopic topic;
    topic.name = "t";
    topic.partition_indexes = Array(&index, 1);
    OffsetFetchRequest request;
    request.group_id = "g";
    request.topics = Array(&topic, 1);
    return send(request, 7);
  }
  // -1: none; -100 - error when the group answers one.
  int64_t committed() {
    auto const outcome = send_fetch();
    EXPECT_TRUE(wait(outcome));
    auto const response = decode<OffsetFetchResponse>(*outcome, 7);
    if (response.error_code != ErrorCode::none) return -100 - static_cast<int64_t>(response.error_code);
    return response.topics[0].partitions[0].committed_offset;
  }
  std::shared_ptr<Outcome> send_join(Str member) {
    JoinGroupRequest::JoinGroupRequestProtocol range;
    range.name = "range";
    range.metadata = as_bytes("m");
    JoinGroupRequest request;
    request.group_id = "g";
    request.session_timeout_ms = 10'000;
    request.rebalance_timeout_ms = 30'000;
    request.member_id = member;
    request.protocol_type = "consumer";
    request.protocols = Array(&range, 1);
    return send(request, 5);
  }
  JoinGroupResponse join_answer(std::shared_ptr<Outcome> const& outcome) {
    EXPECT_TRUE(wait(outcome));
    return decode<JoinGroupResponse>(*outcome, 5);
  }
  // A group of one, stable.
  std::string form() {
    auto const first = join_answer(send_join(""));
    EXPECT_EQ(first.error_code, ErrorCode::member_id_required);
    auto const joined = join_answer(send_join(first.member_id));
    EXPECT_EQ(joined.error_code, ErrorCode::none);
    EXPECT_EQ(joined.generation_id, 1);
    SyncGroupRequest::SyncGroupRequestAssignment assignment;
    assignment.member_id = joined.member_id;
    assignment.assignment = as_bytes("mine");
    SyncGroupRequest sync;
    sync.group_id = "g";
    sync.generation_id = 1;
    sync.member_id = joined.member_id;
    sync.assignments = Array(&assignment, 1);
    auto const synced = call<SyncGroupResponse>(sync, 3);
    EXPECT_EQ(synced.error_code, ErrorCode::none);
    EXPECT_EQ(as_text(synced.assignment), "mine");
    return std::string(joined.member_id);
  }
  ErrorCode heartbeat(Str member, int32_t generation) {
    HeartbeatRequest request;
    request.group_id = "g";
    request.generation_id = generation;
    request.member_id = member;
    return call<HeartbeatResponse>(request, 3).error_code;
  }
  void lose_power() {
    machine.kill(sim::CrashKind::power_loss);
    world.run_for(1s);
    start();
  }
  // The follower, broker 2, has everything below `offset`.
  void follower_fetches(int64_t offset) {
    FetchRequest::FetchPartition partition;
    partition.fetch_offset = offset;
    partition.partition_max_bytes = 1 << 20;
    FetchRequest::FetchTopic topic;
    topic.topic = kTopic;
    topic.partitions = Array(&partition, 1);
    FetchRequest request;
    request.replica_id = 2;
    request.max_wait_ms = 0;
    request.max_bytes = 1 << 20;
    request.topics = Array(&topic, 1);
    EXPECT_TRUE(wait(send(request, 12)));
  }
};

TEST_F(Groups, without_their_topic_nobody_coordinates) {
  EXPECT_EQ(commit(1), ErrorCode::not_coordinator);
  EXPECT_EQ(committed(), -100 - static_cast<int64_t>(ErrorCode::not_coordinator));
  EXPECT_EQ(join_answer(send_join("")).error_code, ErrorCode::not_coordinator);
  EXPECT_EQ(call<ListGroupsResponse>(ListGroupsRequest{}, 4).groups.size(), 0u);
}

TEST_F(Groups, are_there_after_a_crash) {
  add_topic(kTopic, 1, {{"flush.messages", "1"}});
  EXPECT_EQ(committed(), -1);
  auto const member = form();
  EXPECT_EQ(commit(7, member, 1), ErrorCode::none);
  EXPECT_EQ(commit(8, member, 2), ErrorCode::illegal_generation);
  EXPECT_EQ(committed(), 7);
  lose_power();
  EXPECT_EQ(committed(), 7);
  EXPECT_EQ(heartbeat(member, 1), ErrorCode::none);
  EXPECT_EQ(commit(9, member, 1), ErrorCode::none);
  auto const listed = call<ListGroupsResponse>(ListGroupsRequest{}, 4);
  ASSERT_EQ(listed.groups.size(), 1u);
  EXPECT_EQ(listed.groups[0].group_state, "Stable");
  // Silent for its session: gone, and that is in the log.
  world.run_for(11s);
  EXPECT_EQ(heartbeat(member, 1), ErrorCode::unknown_member_id);
  lose_power();
  EXPECT_EQ(heartbeat(member, 1), ErrorCode::unknown_member_id);
  EXPECT_EQ(committed(), 9);
}

TEST_F(Groups, answers_wait_for_the_mark) {
  add_topic(kTopic, 1, {}, {BrokerId(1), BrokerId(2)});
  auto const waiting = send_commit(5);
  world.run_for(kMarkDelay);
  EXPECT_FALSE(waiting->is_answered);
  // A read that has seen it waits too.
  auto const reading = send_fetch();
  world.run_for(kMarkDelay);
  EXPECT_FALSE(reading->is_answered);
  follower_fetches(0);
  follower_fetches(1);
  EXPECT_EQ(commit_answer(waiting), ErrorCode::none);
  ASSERT_TRUE(wait(reading));
  EXPECT_EQ(decode<OffsetFetchResponse>(*reading, 7).topics[0].partitions[0].committed_offset, 5);
  // No longer than offsets.commit.timeout.ms.
  auto const lost = send_commit(6);
  world.run_for(4500ms);
  EXPECT_FALSE(lost->is_answered);
  world.run_for(1s);
  EXPECT_EQ(commit_answer(lost), ErrorCode::coordinator_not_available);
  follower_fetches(2);
  world.run_for(kMarkDelay);
  EXPECT_EQ(committed(), 6);
}

TEST_F(Groups, who_waits_is_sent_away_with_the_leadership) {
  add_topic(kTopic, 1);
  auto const member = form();
  auto const first = join_answer(send_join(""));
  auto const waiting = send_join(first.member_id);  // for `member`, which does not come
  world.run_for(kMarkDelay);
  EXPECT_FALSE(waiting->is_answered);
  machine.node()->control_reactor().post([this] { process().broker_->stop_groups(); });
  EXPECT_EQ(join_answer(waiting).error_code, ErrorCode::not_coordinator);
  EXPECT_EQ(heartbeat(member, 1), ErrorCode::not_coordinator);
}

}  // namespace
}  // namespace millrace::broker
