// Proves, as stories, what the controller decides: bootstrap, a broker's life with and without losing records, topics
// with Kafka's refusals, producer id blocks, features. Each decision is replayed into the next image.
#include "story.h"

namespace millrace::metadata {
namespace {

TEST(Controller, BootstrapFinalisesWhatANewClusterHas) {
  Story story;
  std::string features;
  story.image().features.for_each([&](std::string const& name, int16_t level) { features += fmt::format("{}={} ", name, level); });
  EXPECT_EQ(features,
            "eligible.leader.replicas.version=1 group.version=1 metadata.version=33 share.version=2 streams.version=1 "
            "transaction.version=2 ");
  auto const* min_isr = story.image().find_config(ConfigResourceType::broker, "", "min.insync.replicas");
  ASSERT_NE(min_isr, nullptr);
  EXPECT_EQ(*min_isr, "1");
}

TEST(Controller, ASingleBrokerRegistersLeadsStopsAndComesBack) {
  Story story;
  auto const first = story.register_broker(1, 1);
  ASSERT_TRUE(first.error.ok());
  EXPECT_EQ(first.broker_epoch, story.image().offset.value);
  EXPECT_EQ(story.create("early").error.code, ErrorCode::invalid_replication_factor);  // fenced: nobody can lead
  EXPECT_FALSE(story.beat(1).is_fenced);
  ASSERT_TRUE(story.create("t", 2).error.ok());
  EXPECT_EQ(story.partition("t", 1), "leader=1 epoch=0/0 isr=[1] elr=[] last=[]");

  // A clean stop: the leaderships go first, then the broker.
  auto answer = story.beat(1, true);
  EXPECT_FALSE(answer.should_shut_down);
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=1/1 isr=[] elr=[1] last=[1]");
  answer = story.beat(1, true);
  EXPECT_TRUE(answer.should_shut_down);
  EXPECT_TRUE(story.image().find_broker(BrokerId{1})->is_fenced);

  // Back after a clean stop: eligible, so elected cleanly.
  ASSERT_TRUE(story.register_broker(1, 2, first.broker_epoch).error.ok());
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=1/1 isr=[] elr=[1] last=[1]");
  story.beat(1);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=2/2 isr=[1] elr=[] last=[]");

  // Killed, but the machine stayed up: the process before it is replaced at once, and nothing was lost.
  auto const epoch = story.image().find_broker(BrokerId{1})->epoch;
  ASSERT_TRUE(story.register_broker(1, 3, epoch).error.ok());
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=3/3 isr=[] elr=[1] last=[1]");
  story.beat(1);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=4/4 isr=[1] elr=[] last=[]");

  // The machine was lost: the sole replica leads again only as the last one known.
  ASSERT_TRUE(story.register_broker(1, 4, -1).error.ok());
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=5/5 isr=[] elr=[] last=[1]");
  story.beat(1);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=6/6 isr=[1] elr=[] last=[] recovering");
}

TEST(Controller, AControllerIsKnownUntilItIsUnregistered) {
  Story story;
  RegisterController request;
  request.controller.id = 7;
  request.controller.endpoints = {{"CONTROLLER", "h", 9093, 0}};
  ASSERT_TRUE(story.ask<RegisterControllerAnswer>(request).error.ok());
  ASSERT_NE(story.image().controllers.find(7), nullptr);
  ASSERT_TRUE(story.ask<RegisterControllerAnswer>(request).error.ok());
  EXPECT_EQ(story.last_record_count(), 0u);  // nothing new
  ASSERT_TRUE(story.ask<UnregisterControllerAnswer>(UnregisterController{7}).error.ok());
  EXPECT_EQ(story.image().controllers.find(7), nullptr);
  EXPECT_EQ(story.ask<UnregisterControllerAnswer>(UnregisterController{7}).error.code, ErrorCode::controller_id_not_registered);
}

TEST(Controller, RegistrationIsRefusedAsKafkaRefusesIt) {
  Story story;
  ASSERT_TRUE(story.register_broker(1, 1).error.ok());
  story.beat(1);
  RegisterBroker wrong;
  wrong.id = BrokerId{2};
  wrong.cluster_id = "other";
  EXPECT_EQ(story.ask<RegisterBrokerAnswer>(wrong).error.code, ErrorCode::inconsistent_cluster_id);
  EXPECT_EQ(story.register_broker(1, 9, -1, 77).error.code, ErrorCode::duplicate_broker_registration);
  EXPECT_EQ(story.register_broker(2, 9, -1, 1).error.code, ErrorCode::invalid_registration);  // broker 1's directory
  wrong.cluster_id = "c";
  EXPECT_EQ(story.ask<RegisterBrokerAnswer>(wrong).error.code, ErrorCode::invalid_registration);  // no directory
  BrokerHeartbeat unknown;
  unknown.id = BrokerId{77};
  EXPECT_EQ(story.ask<BrokerHeartbeatAnswer>(unknown).error.code, ErrorCode::stale_broker_epoch);
  EXPECT_EQ(story.last_record_count(), 0U);
}

TEST(Controller, ThreeBrokersKeepThoseWhoLeftBelowMinIsrEligible) {
  Story story;
  for (int id = 1; id <= 3; ++id) {
    ASSERT_TRUE(story.register_broker(id, static_cast<uint8_t>(id)).error.ok());
    story.beat(id);
  }
  CreateTopics r;
  r.topics.push_back({"t", -1, -1, {{0, {BrokerId{2}, BrokerId{3}, BrokerId{1}}}}, {{"min.insync.replicas", "2"}}});
  ASSERT_TRUE(story.ask<CreateTopicsAnswer>(r).topics.front().error.ok());
  EXPECT_EQ(story.partition("t"), "leader=2 epoch=0/0 isr=[2,3,1] elr=[] last=[]");
  story.controller().reset_sessions(story.image(), Mono{});
  auto const fence = [&](int id) {
    BrokerHeartbeat h;
    h.id = BrokerId{id};
    h.epoch = story.image().find_broker(h.id)->epoch;
    h.want_fence = true;
    story.ask<BrokerHeartbeatAnswer>(h);
  };
  fence(2);
  EXPECT_EQ(story.partition("t"), "leader=3 epoch=1/1 isr=[3,1] elr=[] last=[]");
  fence(3);
  EXPECT_EQ(story.partition("t"), "leader=1 epoch=2/2 isr=[1] elr=[3] last=[]");
  fence(1);
  EXPECT_EQ(story.partition("t"), "leader=-1 epoch=3/3 isr=[] elr=[1,3] last=[1]");
  story.beat(3);
  EXPECT_EQ(story.partition("t"), "leader=3 epoch=4/4 isr=[3] elr=[1] last=[]");
}

TEST(Controller, StaleBrokersAreFencedButNotThisNode) {
  Story story;
  for (int id = 1; id <= 2; ++id) {
    ASSERT_TRUE(story.register_broker(id, static_cast<uint8_t>(id)).error.ok());
    story.beat(id);
  }
  EXPECT_TRUE(story.controller().fence_stale_brokers(story.image(), Mono{5s}).empty());
  EXPECT_FALSE(story.controller().fence_stale_brokers(story.image(), Mono{10s}).empty());
  story.controller().reset_sessions(story.image(), Mono{10s});
  EXPECT_TRUE(story.controller().fence_stale_brokers(story.image(), Mono{18s}).empty());
}

// Its disk was replaced: nothing of the new registration shows that the process before it is gone, but that this one holds
// the node's metadata directory.
TEST(Controller, WhatThisNodeWasRegisteredAsBeforeIsGone) {
  Story story;
  story.start_brokers(2);
  auto const empty_disk = uint8_t{77};
  EXPECT_EQ(story.register_broker(2, 20, -1, empty_disk).error.code, ErrorCode::duplicate_broker_registration);
  EXPECT_EQ(story.register_broker(1, 10, -1, empty_disk).error.code, ErrorCode::duplicate_broker_registration);  // this process

  Story restarted;
  ASSERT_TRUE(restarted.register_broker(1, 10).error.ok());
  restarted.beat(1);
  restarted.create_on("t", {1});
  EXPECT_FALSE(restarted.controller().fence_stale_brokers(restarted.image(), Mono{}).empty());
  ASSERT_TRUE(restarted.register_broker(1, Story::kOwnIncarnation.bytes[0], -1, empty_disk).error.ok());
  EXPECT_EQ(restarted.partition("t"), "leader=-1 epoch=1/1 isr=[] elr=[] last=[1]");
  restarted.beat(1);
  EXPECT_TRUE(restarted.controller().fence_stale_brokers(restarted.image(), Mono{100s}).empty());
}

TEST(Controller, TopicCreationIsCheckedInKafkasOrder) {
  Story story(StaticConfigs{{"log.retention.hours", "2"}});
  ASSERT_TRUE(story.register_broker(1, 1).error.ok());
  story.beat(1);
  ASSERT_TRUE(story.create("a.b").error.ok());
  auto const code = [&](std::string name, int partitions = 1, int rf = 1,
                        std::vector<std::pair<std::string, std::optional<std::string>>> configs = {}) {
    auto const created = story.create(std::move(name), partitions, static_cast<int16_t>(rf), std::move(configs));
    EXPECT_EQ(story.last_record_count() == 0, !created.error.ok());
    return created.error.code;
  };
  EXPECT_EQ(code("a.b"), ErrorCode::topic_already_exists);
  EXPECT_EQ(code("a_b"), ErrorCode::invalid_topic_exception);
  EXPECT_EQ(code("a/b"), ErrorCode::invalid_topic_exception);
  EXPECT_EQ(code(""), ErrorCode::invalid_topic_exception);
  EXPECT_EQ(code("x", 0, 0), ErrorCode::invalid_replication_factor);
  EXPECT_EQ(code("x", 0, 1), ErrorCode::invalid_partitions);
  EXPECT_EQ(code("x", 1, 2), ErrorCode::invalid_replication_factor);
  EXPECT_EQ(code("x", 0, 0, {{"nope", "1"}}), ErrorCode::invalid_config);  // configs come first
  EXPECT_EQ(code("x", 1, 1, {{"retention.ms", std::nullopt}}), ErrorCode::invalid_config);
  EXPECT_EQ(code("x", 1, 1, {{"segment.bytes", "1"}}), ErrorCode::invalid_config);
  EXPECT_EQ(code("x", 10'001), ErrorCode::policy_violation);
  EXPECT_EQ(story.create("x", 1, 2).error.message,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 "
            "broker(s) are registered.");
  EXPECT_EQ(story.create("x", 1, 1, {{"retention.ms", "abc"}}).error.message,
            "Invalid value abc for configuration retention.ms: Not a number of type LONG");

  CreateTopics validate;
  validate.topics.push_back({"v", 3, 1, {}, {{"retention.ms", "5"}}});
  validate.validate_only = true;
  auto const created = story.ask<CreateTopicsAnswer>(validate).topics.front();
  EXPECT_TRUE(created.error.ok());
  EXPECT_EQ(created.partition_count, 3);
  EXPECT_EQ(created.configs.size(), 37U);
  for (auto const& config : created.configs) {
    auto const expected = config.name == "retention.ms"          ? ConfigSource::topic
                          : config.name == "min.insync.replicas" ? ConfigSource::dynamic_default_broker
                                                                 : ConfigSource::default_value;
    EXPECT_EQ(config.effective.source, expected) << config.name;
  }
  EXPECT_EQ(story.image().find_topic("v"), nullptr);
  auto const* retention = find_topic_setting("retention.ms");
  auto const effective = effective_topic_config(story.image(), BrokerId{1}, story.controller().config().statics, "a.b", *retention);
  EXPECT_EQ(effective.value, "7200000");
  EXPECT_EQ(effective.source, ConfigSource::static_broker);
}

// Kafka's brokers create what a Metadata request misses by the same request as CreateTopics, so no handler is the place for this.
TEST(Controller, TheMetadataLogIsNoTopic) {
  Story story;
  story.register_broker(1, 1);
  story.beat(1);
  auto const created = story.create("__cluster_metadata");
  EXPECT_EQ(created.error.code, ErrorCode::invalid_request);
  EXPECT_EQ(created.error.message, "Creation of internal topic __cluster_metadata is prohibited.");
  EXPECT_EQ(story.last_record_count(), 0u);
}

TEST(Controller, TopicsGrowAndGo) {
  Story story;
  ASSERT_TRUE(story.register_broker(1, 1).error.ok());
  story.beat(1);
  auto const created = story.create("t", 2, 1, {{"retention.ms", "5"}});
  auto const grow = [&](TopicGrowth growth) {
    CreatePartitions r;
    r.topics.push_back(std::move(growth));
    return story.ask<CreatePartitionsAnswer>(r).topics.front().second.code;
  };
  EXPECT_EQ(grow({"none", 3, {}}), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(grow({"t", 2, {}}), ErrorCode::invalid_partitions);
  EXPECT_EQ(grow({"t", -1, {}}), ErrorCode::invalid_partitions);
  EXPECT_EQ(grow({"t", 4, {{{BrokerId{1}}}}}), ErrorCode::invalid_replica_assignment);
  EXPECT_EQ(grow({"t", 3, {{{BrokerId{9}}}}}), ErrorCode::invalid_replica_assignment);
  EXPECT_EQ(grow({"t", 3, {{{BrokerId{1}, BrokerId{1}}}}}), ErrorCode::invalid_replica_assignment);
  EXPECT_EQ(grow({"t", 3, {}}), ErrorCode::none);
  EXPECT_EQ(story.image().find_topic("t")->partition_count(), 3);
  DeleteTopics gone;
  gone.ids = {created.id, Uuid{{3}}};
  auto const answer = story.ask<DeleteTopicsAnswer>(gone);
  EXPECT_EQ(answer.topics[0].second.code, ErrorCode::none);
  EXPECT_EQ(answer.topics[1].second.code, ErrorCode::unknown_topic_id);
  EXPECT_TRUE(story.image().topics.empty());
  EXPECT_EQ(story.image().find_configs(ConfigResourceType::topic, "t"), nullptr);
}

TEST(Controller, InternalTopicsFitTheClusterThatThereIs) {
  Story story;
  ASSERT_TRUE(story.register_broker(1, 1).error.ok());
  story.beat(1);
  auto const make = [&](std::string name) {
    return story.ask<CreateInternalTopicAnswer>(CreateInternalTopic{std::move(name)}).error.code;
  };
  EXPECT_EQ(make("__transaction_state"), ErrorCode::none);
  EXPECT_EQ(make("__transaction_state"), ErrorCode::none);
  EXPECT_EQ(story.last_record_count(), 0U);
  EXPECT_EQ(make("orders"), ErrorCode::invalid_request);
  auto const* topic = story.image().find_topic("__transaction_state");
  ASSERT_NE(topic, nullptr);
  EXPECT_EQ(topic->partition_count(), 50);
  EXPECT_EQ(topic->find_partition(0)->replicas.size(), 1U);
  std::string configs;
  story.image().find_configs(ConfigResourceType::topic, topic->name)->for_each([&](std::string const& key, std::string const& value) {
    configs += fmt::format("{}={} ", key, value);
  });
  EXPECT_EQ(configs, "cleanup.policy=compact compression.type=uncompressed min.insync.replicas=1 segment.bytes=104857600 "
                     "unclean.leader.election.enable=false ");
}

TEST(Controller, ProducerIdBlocksNeverOverlap) {
  Story story;
  auto const epoch = story.register_broker(1, 1).broker_epoch;
  auto const first = story.ask<AllocateProducerIdsAnswer>(AllocateProducerIds{BrokerId{1}, epoch});
  auto const second = story.ask<AllocateProducerIdsAnswer>(AllocateProducerIds{BrokerId{1}, epoch});
  EXPECT_EQ(first.first, ProducerId{0});
  EXPECT_EQ(second.first, ProducerId{1000});
  EXPECT_EQ(story.ask<AllocateProducerIdsAnswer>(AllocateProducerIds{BrokerId{1}, epoch + 1}).error.code,
            ErrorCode::stale_broker_epoch);
  EXPECT_EQ(story.image().next_producer_id, ProducerId{2000});
}

TEST(Controller, FeatureUpdatesAreAllOrNothing) {
  Story story;
  auto const update = [&](std::vector<FeatureUpdate> updates, bool validate = false) {
    return story.ask<UpdateFeaturesAnswer>(UpdateFeatures{std::move(updates), validate}).error.code;
  };
  EXPECT_EQ(update({{"nope", 1, UpgradeType::upgrade}}), ErrorCode::invalid_update_version);
  EXPECT_EQ(update({{"metadata.version", 99, UpgradeType::upgrade}}), ErrorCode::invalid_update_version);
  EXPECT_EQ(update({{"metadata.version", 25, UpgradeType::upgrade}}), ErrorCode::invalid_update_version);
  EXPECT_EQ(update({{"metadata.version", 25, UpgradeType::unsafe_downgrade}}), ErrorCode::invalid_update_version);
  EXPECT_EQ(update({{"group.version", 1, UpgradeType::upgrade}}), ErrorCode::none);
  EXPECT_EQ(update({{"share.version", 1, UpgradeType::safe_downgrade}, {"nope", 1, UpgradeType::upgrade}}),
            ErrorCode::invalid_update_version);
  EXPECT_EQ(story.image().feature_level("share.version"), 2);
  EXPECT_EQ(update({{"share.version", 1, UpgradeType::safe_downgrade}}, true), ErrorCode::none);
  EXPECT_EQ(story.image().feature_level("share.version"), 2);
  EXPECT_EQ(update({{"share.version", 1, UpgradeType::safe_downgrade}}), ErrorCode::none);
  EXPECT_EQ(story.image().feature_level("share.version"), 1);
}

}  // namespace
}  // namespace millrace::metadata
