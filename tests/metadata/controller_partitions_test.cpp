// Proves what leaders may change of in-sync sets, with Kafka's refusals in Kafka's order, and what becomes of a
// partition while brokers come and go (KIP-903, KIP-966).
#include "../base/one_mutant.h"
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

// ---- brokers come and go

TEST(Partitions, ControlledShutdownMovesLeadersAndWaitsForTheOthersToHear) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "2"}});
  EXPECT_FALSE(story.beat(1, true).should_shut_down);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=1/1 isr=[2,3] elr=[] last=[]");
  auto const moved = story.image().offset.value;
  auto const heard_of = [&](int id, int64_t offset) {
    auto h = story.heartbeat(id);
    h.metadata_offset = offset;
    story.ask<BrokerHeartbeatAnswer>(h);
  };
  heard_of(2, moved);
  heard_of(3, moved - 1);
  EXPECT_FALSE(story.beat(1, true).should_shut_down);
  heard_of(3, moved);
  auto const answer = story.beat(1, true);
  EXPECT_TRUE(answer.should_shut_down);
  EXPECT_TRUE(answer.is_fenced);
  EXPECT_TRUE(story.image().find_broker(BrokerId{1})->is_fenced);
  // Who has no leadership may go at once, and who is fenced already.
  EXPECT_TRUE(story.beat(3, true).should_shut_down);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=1/2 isr=[2] elr=[3] last=[]");
  EXPECT_TRUE(story.beat(3, true).should_shut_down);
}

TEST(Partitions, AnUncleanStartLeavesSetAndEligibleOnes) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "3"}});
  story.fence(3);
  ASSERT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1,2] elr=[3] last=[]");
  ASSERT_TRUE(story.register_broker(3, 30, story.broker_epoch(3)).error.ok());  // clean: stays eligible
  EXPECT_EQ(story.last_record_count(), 1U);
  ASSERT_TRUE(story.register_broker(3, 31, 5).error.ok());  // unclean
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1,2] elr=[] last=[]");
  ASSERT_TRUE(story.register_broker(1, 10, -1).error.ok());
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=1/3 isr=[2] elr=[] last=[]");
  EXPECT_EQ(story.broker_epoch(1), story.image().offset.value);  // its record's own offset, behind the moves
  // The same process again, with other listeners: the same registration goes on.
  auto const epoch = story.broker_epoch(2);
  EXPECT_EQ(story.register_broker(2, 2, -1).broker_epoch, epoch);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=1/3 isr=[2] elr=[] last=[]");
}

// Killed before it heard of its registration, a broker names the one before it.
TEST(Partitions, AStartThatNeverBecameActiveCostsNoEligibility) {
  auto const partition_of = [](auto const& between) {
    Story story;
    story.start_brokers(3);
    story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "3"}});
    story.fence(3);
    auto const before = story.broker_epoch(3);
    EXPECT_TRUE(story.register_broker(3, 30, before).error.ok());
    between(story);
    EXPECT_TRUE(story.register_broker(3, 31, before).error.ok());
    return story.partition("t");
  };
  EXPECT_EQ(partition_of([](Story&) {}), "leader=1 epoch=0/1 isr=[1,2] elr=[3] last=[]");
  EXPECT_EQ(partition_of([](Story& story) { story.register_broker(3, 40, story.broker_epoch(3)); }),
            "leader=1 epoch=0/1 isr=[1,2] elr=[3] last=[]");
  // Since then it may have had more.
  EXPECT_EQ(partition_of([](Story& story) {
              story.beat(3);
              story.fence(3);
            }),
            "leader=1 epoch=0/2 isr=[1,2] elr=[] last=[]");
  // Nor does a start with a disk that was lost come back by naming an older one.
  EXPECT_EQ(partition_of([](Story& story) { story.register_broker(3, 40, -1); }), "leader=1 epoch=0/2 isr=[1,2] elr=[] last=[]");
  // Whoever leads next knows it from the log.
  EXPECT_EQ(partition_of([](Story& story) { story.controller().reset_sessions(story.image(), Mono{}); }),
            "leader=1 epoch=0/1 isr=[1,2] elr=[3] last=[]");
}

TEST(Partitions, WithoutAnySafeReplicaTheLastLeaderOrAnUncleanOneLeads) {
  Story story;
  story.start_brokers(3);
  story.create_on("safe", {1, 2});
  story.create_on("any", {1, 2, 3}, {{"unclean.leader.election.enable", "true"}});
  for (auto const* topic : {"safe", "any"}) ASSERT_EQ(story.alter_isr(topic, {1}), ErrorCode::none);
  story.fence(1);
  EXPECT_EQ(story.partition("safe"), "leader=-1 epoch=1/2 isr=[] elr=[1] last=[1]");
  EXPECT_EQ(story.partition("any"), "leader=2 epoch=1/2 isr=[2] elr=[] last=[] recovering");
  ASSERT_TRUE(story.register_broker(1, 10, -1).error.ok());
  EXPECT_EQ(story.partition("safe"), "leader=-1 epoch=1/3 isr=[] elr=[] last=[1]");
  story.fence(2);
  story.beat(2);
  EXPECT_EQ(story.partition("safe"), "leader=-1 epoch=1/3 isr=[] elr=[] last=[1]");  // it never had everything
  story.beat(1);
  EXPECT_EQ(story.partition("safe"), "leader=1 epoch=2/4 isr=[1] elr=[] last=[] recovering");
}

TEST(Partitions, ChangedMinIsrForgetsTheEligible) {
  Story story;
  story.start_brokers(3);
  story.create_on("t", {1, 2, 3}, {{"min.insync.replicas", "3"}});
  story.fence(3);
  ASSERT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1,2] elr=[3] last=[]");
  AlterConfigs r;
  r.resources.push_back({{ConfigResourceType::topic, "t"}, {{"min.insync.replicas", ConfigOperation::set, "2"}}});
  ASSERT_TRUE(story.ask<AlterConfigsAnswer>(r).resources.front().second.ok());
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1,2] elr=[] last=[]");
}

// All were stopped: whoever comes back first must find somebody eligible, whatever was set meanwhile.
TEST(Partitions, ChangedMinIsrKeepsTheEligibleOfWhatHasNoLeader) {
  ConfigResource const of_topic{ConfigResourceType::topic, "down"}, of_all{ConfigResourceType::broker, ""};
  for (auto const& resource : {of_topic, of_all}) {
    Story story;
    story.start_brokers(3);
    story.create_on("down", {1, 2}, {{"min.insync.replicas", "2"}});
    story.create_on("up", {3, 1}, {{"min.insync.replicas", "2"}});
    for (int const id : {2, 1}) story.fence(id);
    ASSERT_EQ(story.partition("down"), "leader=-1 epoch=1/2 isr=[] elr=[1,2] last=[1]");
    ASSERT_EQ(story.partition("up"), "leader=3 epoch=0/1 isr=[3] elr=[1] last=[]");
    AlterConfigs r;
    r.resources.push_back({resource, {{"min.insync.replicas", ConfigOperation::set, "3"}}});
    ASSERT_TRUE(story.ask<AlterConfigsAnswer>(r).resources.front().second.ok());
    EXPECT_EQ(story.partition("down"), "leader=-1 epoch=1/4 isr=[] elr=[1,2] last=[1]");
    EXPECT_EQ(story.partition("up"), resource == of_all ? "leader=3 epoch=0/2 isr=[3] elr=[] last=[]"
                                                        : "leader=3 epoch=0/1 isr=[3] elr=[1] last=[]");
    story.beat(2);
    EXPECT_EQ(story.partition("down"), "leader=2 epoch=2/5 isr=[2] elr=[1] last=[]");
  }
}

TEST(Partitions, FailedDirectoriesAreNotLedFrom) {
  Story story;
  story.start_brokers(2);
  RegisterBroker r;
  r.id = BrokerId{3};
  r.cluster_id = "c";
  r.incarnation_id = Uuid{{3}};
  r.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
  r.features = supported_features();
  DirectoryId const a{{9, 3}}, b{{9, 33}};
  r.directories = {a, b};
  ASSERT_TRUE(story.ask<RegisterBrokerAnswer>(r).error.ok());
  story.beat(3);
  for (auto const* topic : {"ta", "tb"}) story.create_on(topic, {3, 1});
  auto const assign = [&](std::string const& topic, DirectoryId directory) {
    AssignReplicasToDirectories request{BrokerId{3}, story.broker_epoch(3), {{directory, story.image().find_topic(topic)->id, 0}}};
    return story.ask<AssignReplicasToDirectoriesAnswer>(request).replicas.front().second;
  };
  EXPECT_EQ(assign("ta", a), ErrorCode::none);
  EXPECT_EQ(assign("tb", b), ErrorCode::none);
  EXPECT_EQ(story.image().find_partition("ta", 0)->directory_of(BrokerId{3}), a);
  auto h = story.heartbeat(3);
  h.offline_directories = {{a}};
  EXPECT_FALSE(story.ask<BrokerHeartbeatAnswer>(h).is_fenced);
  EXPECT_EQ(story.partition("ta"), "leader=1 epoch=1/2 isr=[1] elr=[] last=[]");
  EXPECT_EQ(story.partition("tb"), "leader=3 epoch=0/1 isr=[3,1] elr=[] last=[]");
  EXPECT_EQ(story.image().find_broker(BrokerId{3})->directories, std::vector{b});
  story.ask<BrokerHeartbeatAnswer>(h);
  EXPECT_EQ(story.last_record_count(), 0U);
  // Found to lie in a directory that is lost.
  EXPECT_EQ(assign("tb", kDirectoryLost), ErrorCode::none);
  EXPECT_EQ(story.partition("tb"), "leader=1 epoch=1/2 isr=[1] elr=[] last=[]");
  auto const code = [&](int broker, int64_t epoch, TopicId topic, int32_t partition) {
    auto const answer = story.ask<AssignReplicasToDirectoriesAnswer>(
        AssignReplicasToDirectories{BrokerId{broker}, epoch, {{b, topic, partition}}});
    return answer.error.ok() ? answer.replicas.front().second : answer.error.code;
  };
  auto const topic = story.image().find_topic("ta")->id;
  EXPECT_EQ(code(3, 1, topic, 0), ErrorCode::stale_broker_epoch);
  EXPECT_EQ(code(3, story.broker_epoch(3), Uuid{{1}}, 0), ErrorCode::unknown_topic_id);
  EXPECT_EQ(code(3, story.broker_epoch(3), topic, 5), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(code(2, story.broker_epoch(2), topic, 0), ErrorCode::not_leader_or_follower);
}

// A controller remembers whom it saw being fenced: the limit is the cluster's. Its own restart does not count.
TEST(Partitions, EarlyFencingKnowsOfEarlierControllers) {
  for (int const fenced_before : {1, 2}) {
    Story story;
    story.start_brokers(3);
    story.create_on("t", {3, 1});
    ControllerConfig config;
    config.node_id = BrokerId{1};
    Controller controller(config, [] { return Uuid{}; });  // follows the one of the story
    auto const probed = [&](int id, fencing::ProbeResult result, Mono now) {
      return controller.on_fencing_event(story.image(), fencing::Probed{BrokerId{id}, story.broker_epoch(id), result}, now);
    };
    Mono now{};
    controller.observe_brokers(story.image(), now);
    for (int id : {2, 3}) probed(id, fencing::ProbeResult::reached, now);
    story.fence(fenced_before);
    controller.observe_brokers(story.image(), now);
    now = now + 1s;
    controller.reset_sessions(story.image(), now);
    controller.take_probes();
    fencing::HeartbeatConnectionEnded const ended{BrokerId{3}, story.broker_epoch(3), false};
    EXPECT_TRUE(controller.on_fencing_event(story.image(), ended, now).empty());
    auto const is_tried = !controller.take_probes().empty();
    probed(3, fencing::ProbeResult::refused, now);
    auto const fences = !probed(3, fencing::ProbeResult::refused, now + 50ms).empty();
    EXPECT_EQ(is_tried, fenced_before == 1);
    EXPECT_EQ(fences, fenced_before == 1);
  }
}

// A directory that is gone took acknowledged records along: what lies in another one now began empty.
TEST(Partitions, WhoseDirectoryIsGoneIsNotEligible) {
  Story story;
  story.start_brokers(3);
  auto const lose = [&](std::string const& topic) {
    AssignReplicasToDirectories request{
        BrokerId{3}, story.broker_epoch(3), {{kDirectoryLost, story.image().find_topic(topic)->id, 0}}};
    EXPECT_EQ(story.ask<AssignReplicasToDirectoriesAnswer>(request).replicas.front().second, ErrorCode::none);
  };
  for (auto const* topic : {"kept", "lost"}) story.create_on(topic, {3, 1}, {{"min.insync.replicas", "2"}});
  lose("lost");
  EXPECT_EQ(story.partition("lost"), "leader=1 epoch=1/1 isr=[1] elr=[3] last=[]");
  // The same directories, stopped in order: what was not to be found may have been made anew.
  ASSERT_TRUE(story.register_broker(3, 30, story.broker_epoch(3)).error.ok());
  EXPECT_EQ(story.partition("lost"), "leader=1 epoch=1/2 isr=[1] elr=[] last=[]");
  EXPECT_EQ(story.partition("kept"), "leader=1 epoch=1/1 isr=[1] elr=[3] last=[]");
  // Another one in place of its only directory.
  ASSERT_TRUE(story.register_broker(3, 31, story.broker_epoch(3), 77).error.ok());
  EXPECT_EQ(story.partition("kept"), "leader=1 epoch=1/2 isr=[1] elr=[] last=[]");
}

// With several directories it is told only later which of them holds a replica: the one that is missing may have.
TEST(Partitions, WhoseDirectoryIsNotKnownIsNotEligibleWhenOneIsGone) {
  Story story;
  story.start_brokers(2);
  DirectoryId const a{{9, 3}}, b{{9, 33}}, c{{9, 77}};
  RegisterBroker r;
  r.id = BrokerId{3};
  r.cluster_id = "c";
  r.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
  r.features = supported_features();
  auto const start = [&](uint8_t incarnation, std::vector<DirectoryId> directories) {
    r.incarnation_id = Uuid{{incarnation}};
    r.directories = std::move(directories);
    if (story.image().find_broker(r.id) != nullptr) r.previous_broker_epoch = story.broker_epoch(3);
    ASSERT_TRUE(story.ask<RegisterBrokerAnswer>(r).error.ok());
    story.beat(3);
  };
  start(30, {a, b});
  story.create_on("t", {1, 3}, {{"min.insync.replicas", "2"}});
  ASSERT_EQ(story.image().find_partition("t", 0)->directory_of(BrokerId{3}), kDirectoryUnassigned);
  start(31, {c, b, a});  // one more
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1] elr=[3] last=[]");
  start(32, {a, c});
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1] elr=[] last=[]");
}

// How it was registered is forgotten, so nothing tells that it stopped in order.
TEST(Partitions, WhoComesBackUnregisteredIsNotEligible) {
  Story story;
  story.start_brokers(2);
  story.create_on("t", {1, 2}, {{"min.insync.replicas", "2"}});
  auto const epoch = story.broker_epoch(2);
  ASSERT_TRUE(story.ask<UnregisterBrokerAnswer>(UnregisterBroker{BrokerId{2}}).error.ok());
  ASSERT_EQ(story.partition("t"), "leader=1 epoch=0/1 isr=[1] elr=[2] last=[]");
  ASSERT_TRUE(story.register_broker(2, 20, epoch).error.ok());
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=0/2 isr=[1] elr=[] last=[]");
}

// What the broker says lies in a directory that serves may be led at once.
TEST(Partitions, AReplicaThatIsFoundAgainLeads) {
  Story story;
  story.start_brokers(2);
  story.create_on("t", {2});
  auto const directory = story.image().find_partition("t", 0)->directory_of(BrokerId{2});
  auto const assign = [&](DirectoryId to) {
    AssignReplicasToDirectories request{BrokerId{2}, story.broker_epoch(2), {{to, story.image().find_topic("t")->id, 0}}};
    EXPECT_EQ(story.ask<AssignReplicasToDirectoriesAnswer>(request).replicas.front().second, ErrorCode::none);
  };
  assign(kDirectoryLost);
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=1/1 isr=[] elr=[2] last=[2]");
  assign(directory);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=2/2 isr=[2] elr=[] last=[]");
}

TEST(Partitions, LeadersAreElectedOnDemandAndGivenBack) {
  Story story;
  story.start_brokers(2);
  story.create_on("t", {1, 2});
  auto const elect = [&](bool is_unclean, std::string const& topic, int32_t index) {
    ElectLeaders r;
    r.is_unclean = is_unclean;
    r.partitions = {{topic, {index}}};
    return story.ask<ElectLeadersAnswer>(r).partitions.front().error.code;
  };
  EXPECT_EQ(elect(false, "t", 0), ErrorCode::election_not_needed);
  EXPECT_EQ(elect(false, "t", 1), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(elect(false, "none", 0), ErrorCode::unknown_topic_or_partition);
  story.fence(1);
  EXPECT_EQ(elect(false, "t", 0), ErrorCode::preferred_leader_not_available);
  EXPECT_EQ(elect(true, "t", 0), ErrorCode::election_not_needed);
  story.beat(1);
  EXPECT_TRUE(story.controller().balance_leaders(story.image(), 10).empty());  // not in sync yet
  ASSERT_EQ(story.alter_isr("t", {2, 1}), ErrorCode::none);
  EXPECT_EQ(story.controller().balance_leaders(story.image(), 10).size(), 1U);
  EXPECT_EQ(story.ask<ElectLeadersAnswer>(ElectLeaders{}).partitions.size(), 1U);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=2/3 isr=[2,1] elr=[] last=[]");
  EXPECT_EQ(story.ask<ElectLeadersAnswer>(ElectLeaders{}).partitions.size(), 0U);
  ASSERT_EQ(story.alter_isr("t", {1}), ErrorCode::none);
  story.fence(1);
  ASSERT_EQ(story.partition("t"), "leader=-1 epoch=3/5 isr=[] elr=[1] last=[1]");
  EXPECT_TRUE(story.controller().elect_missing_leaders(story.image(), 10).empty());
  EXPECT_EQ(elect(true, "t", 0), ErrorCode::none);
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=4/6 isr=[2] elr=[] last=[] recovering");
}

// What the model of in-sync sets cannot tell from right, for other rules cover it there.
TEST(Partitions, NoticesBrokenRules) {
  auto const takes_a_process_before = [](Hooks& hooks) {
    Story story({}, hooks);
    story.start_brokers(2);
    story.create_on("t", {1, 2});
    auto request = story.isr_change("t", {1});
    request.broker_epoch -= 1;
    return story.ask<AlterPartitionAnswer>(request).error.ok();
  };
  auto const unclean = [](Hooks& hooks) {
    Story story({}, hooks);
    story.start_brokers(3);
    story.create_on("t", {1, 2, 3}, {{"unclean.leader.election.enable", "true"}, {"min.insync.replicas", "2"}});
    story.alter_isr("t", {1, 2});
    for (int id : {2, 1}) story.fence(id);
    return story.partition("t");
  };
  OneMutant stale("metadata.stale_broker_epoch"), keeps("metadata.unclean_keeps_elr");
  EXPECT_FALSE(takes_a_process_before(Hooks::none()));
  EXPECT_TRUE(takes_a_process_before(stale));
  auto const right = "leader=3 epoch=1/3 isr=[3] elr=[] last=[] recovering";
  EXPECT_EQ(unclean(Hooks::none()), right);
  EXPECT_NE(unclean(keeps), right);
}

TEST(Partitions, ReplicasAreSpreadOverBrokersAndRacks) {
  Story story;
  story.start_brokers(6, {"a", "a", "b", "b", "c", "c"});
  ASSERT_TRUE(story.create("t", 60, 3).error.ok());
  std::map<BrokerId, int> leaders, replicas;
  for (int i = 0; i < 60; ++i) {
    auto const& p = *story.image().find_partition("t", i);
    ASSERT_EQ(p.replicas.size(), 3U);
    std::set<std::string> racks;
    for (auto id : p.replicas) {
      racks.insert(*story.image().find_broker(id)->rack);
      ++replicas[id];
    }
    EXPECT_EQ(racks.size(), 3U) << i;
    ++leaders[p.leader];
  }
  for (int id = 1; id <= 6; ++id) {
    EXPECT_EQ(leaders[BrokerId{id}], 10) << id;
    EXPECT_NEAR(replicas[BrokerId{id}], 30, 8) << id;
  }
  // Who is fenced comes last, and who shuts down not at all.
  story.fence(6);
  ASSERT_TRUE(story.create("u", 20, 6).error.ok());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(story.image().find_partition("u", i)->isr.size(), 5U);
    EXPECT_NE(story.image().find_partition("u", i)->replicas.front(), BrokerId{6});
  }
  story.beat(1, true);
  EXPECT_EQ(story.create("v", 1, 6).error.message,
            "Unable to replicate the partition 6 time(s): The target replication factor of 6 cannot be reached because only 5 "
            "broker(s) are registered.");
  CreatePartitions grow;
  grow.topics.push_back({"t", 66, std::nullopt});
  ASSERT_TRUE(story.ask<CreatePartitionsAnswer>(grow).topics.front().second.ok());
  EXPECT_EQ(story.image().find_partition("t", 65)->replicas.size(), 3U);
}

TEST(Partitions, AFencedBrokerWithManyPartitionsIsDecidedAtOnce) {
  Story story;
  story.start_brokers(3);
  ASSERT_TRUE(story.create("t", 10'000, 3).error.ok());
  auto const records = story.controller().fence_stale_brokers(story.image(), Mono{10s});
  EXPECT_EQ(records.size(), 10'001U);
  // Cut anywhere, the image is in order, and the next controller goes on from there.
  Replayer partly(story.image());
  for (size_t i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(partly.apply(records.values()[i].view(), partly.image().offset + 1, LeaderEpoch{1}, 0));
  }
  partly.image().check_invariants();
  EXPECT_EQ(story.controller().fence_stale_brokers(partly.image(), Mono{10s}).size(), 5'001U);
}

}  // namespace
}  // namespace millrace::metadata
