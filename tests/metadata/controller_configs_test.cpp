// What the controller lets be configured: operations on values and lists, each resource all or nothing, Kafka's
// refusals.
#include <gtest/gtest.h>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/replay.h"

namespace millrace::metadata {
namespace {

using Operation = ConfigOperation;

class ControllerConfigs : public testing::Test {
 protected:
  ControllerConfigs() : controller_(make_config(), [this] { return Uuid{{7, ++uuid_}}; }) {
    replay(controller_.bootstrap_records());
    RegisterBroker broker;
    broker.id = BrokerId{1};
    broker.cluster_id = "c";
    broker.incarnation_id = Uuid{{1}};
    broker.endpoints = {{"PLAINTEXT", "h", 9092, 0}};
    broker.features = supported_features();
    broker.directories = {Uuid{{9, 1}}};
    replay(decide(broker).records);
    BrokerHeartbeat beat;
    beat.id = BrokerId{1};
    beat.epoch = image().find_broker(BrokerId{1})->epoch;
    beat.metadata_offset = image().offset.value;
    replay(decide(beat).records);
    CreateTopics create;
    create.topics.push_back({"t", 1, 1, {}, {}});
    replay(decide(create).records);
  }
  static ControllerConfig make_config() {
    ControllerConfig config;
    config.node_id = BrokerId{1};
    config.cluster_id = "c";
    BrokerSettings settings;
    settings.all = {{"group.consumer.max.session.timeout.ms", SettingType::int32, "60000"},
                    {"group.consumer.min.session.timeout.ms", SettingType::int32, "45000"},
                    {"metric.reporters", SettingType::list, "a", UpdateMode::cluster_wide}};
    config.settings = std::make_shared<BrokerSettings const>(std::move(settings));
    return config;
  }
  Decision decide(ControllerRequest const& request) { return controller_.decide(image(), request, {}); }
  void replay(RecordList const& records) {
    record_count_ = records.size();
    for (auto const& value : records.values()) {
      auto const status = replayer_.apply(value.view(), replayer_.image().offset + 1, LeaderEpoch{1}, 0);
      ASSERT_TRUE(status) << status.error().message;
    }
    image().check_invariants();
  }
  Image const& image() const { return replayer_.image(); }

  ErrorCode alter(ConfigResource resource, std::vector<ConfigChange> changes, bool replaces_all = false,
                  bool validate_only = false) {
    AlterConfigs request;
    request.resources.push_back({std::move(resource), std::move(changes)});
    request.replaces_all = replaces_all;
    request.validate_only = validate_only;
    auto decision = decide(request);
    replay(decision.records);
    return std::get<AlterConfigsAnswer>(decision.answer).resources[0].second.code;
  }
  ErrorCode alter_topic(std::string key, Operation operation, std::string value = "") {
    return alter(topic_, {{std::move(key), operation, std::move(value)}});
  }
  // "key=value key=value"
  std::string configs(ConfigResource const& resource) const {
    std::string out;
    if (auto const* found = image().find_configs(resource.type, resource.name)) {
      found->for_each([&](auto const& key, auto const& value) {
        out += fmt::format("{}{}={}", out.empty() ? "" : " ", key, value);
      });
    }
    return out;
  }

  ConfigResource const topic_{ConfigResourceType::topic, "t"};
  ConfigResource const cluster_{ConfigResourceType::broker, ""};
  uint8_t uuid_ = 0;
  size_t record_count_ = 0;
  Replayer replayer_;
  Controller controller_;
};

TEST_F(ControllerConfigs, sets_and_removes) {
  EXPECT_EQ(alter_topic("retention.ms", Operation::set, "1000"), ErrorCode::none);
  EXPECT_EQ(record_count_, 1u);
  EXPECT_EQ(alter_topic("retention.ms", Operation::set, "1000"), ErrorCode::none);
  EXPECT_EQ(record_count_, 0u);  // nothing changed
  EXPECT_EQ(alter_topic("retention.ms", Operation::set, "x"), ErrorCode::invalid_config);
  EXPECT_EQ(alter_topic("no.such", Operation::set, "1"), ErrorCode::invalid_config);
  EXPECT_EQ(alter_topic("no.such", Operation::remove), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "retention.ms=1000");
  EXPECT_EQ(alter_topic("retention.ms", Operation::remove), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "");
  EXPECT_EQ(alter_topic("retention.ms", Operation::set, std::string(40'000, '1')), ErrorCode::invalid_config);
}

TEST_F(ControllerConfigs, changes_items_of_lists) {
  EXPECT_EQ(alter_topic("cleanup.policy", Operation::append, "compact"), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "cleanup.policy=delete,compact");  // beside the default
  EXPECT_EQ(alter_topic("cleanup.policy", Operation::append, "compact"), ErrorCode::none);
  EXPECT_EQ(alter_topic("cleanup.policy", Operation::subtract, "delete"), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "cleanup.policy=compact");
  EXPECT_EQ(alter_topic("retention.ms", Operation::append, "5"), ErrorCode::invalid_config);
  EXPECT_EQ(alter_topic("no.such", Operation::subtract, "5"), ErrorCode::invalid_config);
  EXPECT_EQ(alter(cluster_, {{"metric.reporters", Operation::append, "b"}}), ErrorCode::none);
  EXPECT_EQ(configs(cluster_), "metric.reporters=a,b min.insync.replicas=1");
}

TEST_F(ControllerConfigs, a_resource_changes_as_a_whole) {
  EXPECT_EQ(alter(topic_, {{"retention.ms", Operation::set, "5"}, {"max.message.bytes", Operation::set, "-1"}}),
            ErrorCode::invalid_config);
  EXPECT_EQ(configs(topic_), "");
  EXPECT_EQ(alter(topic_, {{"retention.ms", Operation::set, "5"}}, false, true), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "");  // was only asked
  EXPECT_EQ(alter(topic_, {{"retention.ms", Operation::set, "5"}, {"segment.ms", Operation::set, "7"}}),
            ErrorCode::none);
  EXPECT_EQ(alter(topic_, {{"max.message.bytes", Operation::set, "9"}}, true), ErrorCode::none);
  EXPECT_EQ(configs(topic_), "max.message.bytes=9");
}

TEST_F(ControllerConfigs, refuses_resources_that_are_not_there) {
  std::vector<ConfigChange> const change{{"retention.ms", Operation::set, "5"}};
  EXPECT_EQ(alter({ConfigResourceType::topic, "none"}, change), ErrorCode::unknown_topic_or_partition);
  EXPECT_EQ(alter({ConfigResourceType::topic, ""}, change), ErrorCode::invalid_request);
  EXPECT_EQ(alter({ConfigResourceType::broker, "7"}, change), ErrorCode::broker_id_not_registered);
  EXPECT_EQ(alter({ConfigResourceType::broker, "x"}, change), ErrorCode::invalid_request);
  EXPECT_EQ(alter({ConfigResourceType::group, ""}, {}), ErrorCode::invalid_request);
  EXPECT_EQ(alter({ConfigResourceType::unknown, "t"}, change), ErrorCode::invalid_request);
}

TEST_F(ControllerConfigs, groups_stay_within_what_brokers_allow) {
  ConfigResource const group{ConfigResourceType::group, "g"};
  auto const session = [&](std::string value) {
    return alter(group, {{"consumer.session.timeout.ms", Operation::set, value}});
  };
  EXPECT_EQ(session("50000"), ErrorCode::none);
  EXPECT_EQ(session("44999"), ErrorCode::invalid_config);
  EXPECT_EQ(session("60001"), ErrorCode::invalid_config);
  EXPECT_EQ(alter(group, {{"consumer.heartbeat.interval.ms", Operation::set, "50000"}}), ErrorCode::invalid_config);
  EXPECT_EQ(alter(group, {{"nope", Operation::set, "5"}}), ErrorCode::invalid_config);
  EXPECT_EQ(configs(group), "consumer.session.timeout.ms=50000");
}

TEST_F(ControllerConfigs, client_metrics_have_rules_of_their_own) {
  ConfigResource const metrics{ConfigResourceType::client_metrics, "m"};
  auto const set = [&](std::string key, std::string value) { return alter(metrics, {{key, Operation::set, value}}); };
  EXPECT_EQ(set("interval.ms", "60000"), ErrorCode::none);
  EXPECT_EQ(set("interval.ms", "1"), ErrorCode::invalid_request);
  EXPECT_EQ(set("no", "1"), ErrorCode::invalid_request);
  EXPECT_EQ(set("match", "client_id=x.*,client_source_port=90(1|2)"), ErrorCode::none);
  EXPECT_EQ(set("match", "foo=x"), ErrorCode::invalid_config);
  EXPECT_EQ(set("match", "client_id=("), ErrorCode::invalid_config);
}

// With eligible leader replicas all brokers must judge in-sync sets by one number.
TEST_F(ControllerConfigs, min_isr_is_the_clusters) {
  EXPECT_EQ(alter({ConfigResourceType::broker, "1"}, {{"min.insync.replicas", Operation::set, "2"}}),
            ErrorCode::invalid_config);
  EXPECT_EQ(alter(cluster_, {{"min.insync.replicas", Operation::remove, ""}}), ErrorCode::invalid_config);
  EXPECT_EQ(alter(cluster_, {{"min.insync.replicas", Operation::set, "2"}}), ErrorCode::none);
  EXPECT_EQ(record_count_, 2u);  // and ClearElrRecord
}

}  // namespace
}  // namespace millrace::metadata
