// Proves what leaders may change of in-sync sets, with Kafka's refusals in Kafka's order, and what becomes of a
// partition while brokers come and go (KIP-903, KIP-966).
#include "story.h"

namespace millrace::metadata {
namespace {

TEST(AlterPartition, TheSetShrinksAndGrowsWithinOneLeaderEpoch) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "2"}});
  auto answer = story.ask<AlterPartitionAnswer>(story.isr_change("t", {1, 3}));
  ASSERT_EQ(answer.partitions.size(), 1U);
  auto const& changed = answer.partitions.front();
  EXPECT_EQ(changed.error, ErrorCode::none);
  EXPECT_EQ(changed.leader, BrokerId{1});
  EXPECT_EQ(changed.leader_epoch, LeaderEpoch{0});
  EXPECT_EQ(changed.partition_epoch, 1);
  EXPECT_EQ(changed.isr, (std::vector{BrokerId{1}, BrokerId{3}}));
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1,3] elr=[] last=[]");
  // Below min ISR who leaves stays eligible, and reaching it again forgets them.
  EXPECT_EQ(story.alter_isr("t", {1}), ErrorCode::none);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1] elr=[3] last=[]");
  EXPECT_EQ(story.alter_isr("t", {1, 2}), ErrorCode::none);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/3 isr=[1,2] elr=[] last=[]");
  // Nothing to change is no error and no record.
  EXPECT_EQ(story.alter_isr("t", {1, 2}), ErrorCode::none);
  EXPECT_EQ(story.last_record_count(), 0U);
}

TEST(AlterPartition, IsCheckedInKafkasOrder) {
  Story story;
  story.start_brokers(4);
  story.create_on("t", {1, 2, 3});
  story.fence(3);
  story.beat(3);
  ASSERT_EQ(story.alter_isr("t", {1, 2, 3}), ErrorCode::none);
  ASSERT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1,2,3] elr=[] last=[]");
  auto const good = story.isr_change("t", {1, 2});
  // Each change to the request is refused for it, and wins over the changes after it.
  std::vector<std::pair<ErrorCode, std::function<void(PartitionIsrChange&)>>> const cases{
      {ErrorCode::unknown_topic_id, [](auto& c) { c.topic = Uuid{{1, 2, 3}}; }},
      {ErrorCode::unknown_topic_or_partition, [](auto& c) { c.partition = 7; }},
      {ErrorCode::not_controller, [](auto& c) { c.leader_epoch = LeaderEpoch{1}; }},
      {ErrorCode::not_controller, [](auto& c) { c.partition_epoch = 3; }},
      {ErrorCode::fenced_leader_epoch, [](auto& c) { c.leader_epoch = LeaderEpoch{-1}; }},
      {ErrorCode::invalid_update_version, [](auto& c) { c.partition_epoch = 1; }},
      {ErrorCode::invalid_request, [](auto& c) { c.isr.clear(); }},
      {ErrorCode::invalid_request, [](auto& c) { c.isr = {{BrokerId{1}}, {BrokerId{1}}}; }},
      {ErrorCode::invalid_request, [](auto& c) { c.isr = {{BrokerId{1}}, {BrokerId{4}}}; }},
      {ErrorCode::invalid_request, [](auto& c) { c.isr = {{BrokerId{2}}}; }},
      {ErrorCode::invalid_request, [](auto& c) { c.recovery_state = LeaderRecoveryState::recovering; }},
      {ErrorCode::ineligible_replica, [](auto& c) { c.isr.back().broker_epoch = 77; }},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    auto request = good;
    // Later faults first: the one under test has the last word on what it changes.
    if (cases[i].first != ErrorCode::ineligible_replica) cases.back().second(request.partitions.front());
    cases[i].second(request.partitions.front());
    auto const answer = story.ask<AlterPartitionAnswer>(request);
    ASSERT_TRUE(answer.error.ok());
    EXPECT_EQ(answer.partitions.front().error, cases[i].first) << i;
    EXPECT_EQ(story.last_record_count(), 0U) << i;
  }
  auto other = good;
  other.broker = BrokerId{2};
  other.broker_epoch = story.broker_epoch(2);
  other.partitions.front().partition_epoch = 1;
  EXPECT_EQ(story.ask<AlterPartitionAnswer>(other).partitions.front().error, ErrorCode::invalid_request);  // not the leader
  other = good;
  other.broker_epoch -= 1;
  EXPECT_EQ(story.ask<AlterPartitionAnswer>(other).error.code, ErrorCode::stale_broker_epoch);
  other.broker = BrokerId{9};
  EXPECT_EQ(story.ask<AlterPartitionAnswer>(other).error.code, ErrorCode::stale_broker_epoch);
  // One partition's refusal leaves the others of the request alone.
  auto both = good;
  both.partitions.insert(both.partitions.begin(), good.partitions.front());
  both.partitions.front().partition = 7;
  auto const answer = story.ask<AlterPartitionAnswer>(both);
  EXPECT_EQ(answer.partitions[0].error, ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(answer.partitions[1].error, ErrorCode::none);
}

TEST(AlterPartition, FencedAndLeavingBrokersDoNotComeIn) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3});
  story.create_on("led", {2});
  story.fence(3);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1,2] elr=[] last=[]");
  EXPECT_EQ(story.alter_isr("t", {1, 2, 3}), ErrorCode::ineligible_replica);
  story.beat(2, true);  // still leads something, so it is asked to wait
  ASSERT_TRUE(story.image().find_broker(BrokerId{2})->is_in_controlled_shutdown);
  EXPECT_EQ(story.alter_isr("t", {1, 2}), ErrorCode::ineligible_replica);
  // It came back as another process, and who saw it in sync saw the one before.
  auto const before = story.broker_epoch(3);
  ASSERT_TRUE(story.register_broker(3, 33, before).error.ok());
  story.beat(3);
  auto request = story.isr_change("t", {1, 3});
  request.partitions.front().isr[1].broker_epoch = before;
  EXPECT_EQ(story.ask<AlterPartitionAnswer>(request).partitions.front().error, ErrorCode::ineligible_replica);
  request.partitions.front().isr[1].broker_epoch = story.broker_epoch(3);
  EXPECT_EQ(story.ask<AlterPartitionAnswer>(request).partitions.front().error, ErrorCode::none);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/3 isr=[1,3] elr=[] last=[]");
}

TEST(AlterPartition, ALeaderThatRecoversStaysAloneUntilItSaysSo) {
  Story story;
  story.start_brokers(2);
  story.create_on("t", {1, 2}, {{"unclean.leader.election.enable", "true"}});
  ASSERT_EQ(story.alter_isr("t", {1}), ErrorCode::none);
  // An unclean leader, as one is elected from outside the set.
  ASSERT_TRUE(story.register_broker(1, 11, -1).error.ok());
  ASSERT_EQ(story.partition("t"), "leader=2 epoch=1/2 isr=[2] elr=[] last=[] recovering");
  story.beat(1);
  EXPECT_EQ(story.alter_isr("t", {2, 1}), ErrorCode::invalid_request);
  auto request = story.isr_change("t", {2});
  request.partitions.front().recovery_state = LeaderRecoveryState::recovered;
  auto const changed = story.ask<AlterPartitionAnswer>(request).partitions.front();
  EXPECT_EQ(changed.error, ErrorCode::none);
  EXPECT_EQ(changed.recovery_state, LeaderRecoveryState::recovered);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=1/3 isr=[2] elr=[] last=[]");
  EXPECT_EQ(story.alter_isr("t", {2, 1}), ErrorCode::none);
}

}  // namespace
}  // namespace millrace::metadata
