// Where the value of a key comes from, in Kafka's order, and in what form it is told.
#include <gtest/gtest.h>

#include "millrace/metadata/config_entries.h"

namespace millrace::metadata {
namespace {

class ConfigEntries : public testing::Test {
 protected:
  ConfigEntries() {
    settings_.all = {
        {"log.retention.hours", SettingType::int32, "168", UpdateMode::read_only, false, ""},
        {"log.retention.minutes", SettingType::int32, std::nullopt, UpdateMode::read_only, false, ""},
        {"log.retention.ms", SettingType::int64, std::nullopt, UpdateMode::cluster_wide, false, ""},
        {"message.max.bytes", SettingType::int32, "1048588", UpdateMode::cluster_wide, false, ""},
        {"sasl.login.refresh.window.factor", SettingType::real, "0.8", UpdateMode::per_broker, false, ""},
        {"ssl.keystore.password", SettingType::password, std::nullopt, UpdateMode::per_broker, false, ""},
        {"unstable.api.versions.enable", SettingType::boolean, "false", UpdateMode::read_only, true, ""},
    };
  }
  void set(ConfigResourceType type, std::string const& name, std::string const& key, std::string const& value) {
    auto const* found = image_.find_configs(type, name);
    auto configs = found == nullptr ? ConfigMap() : *found;
    configs.set(key, value);
    image_.configs.set({type, name}, configs);
  }
  ConfigContext context() { return {image_, BrokerId(1), statics_, settings_}; }
  // "value source: name=value@source, ..." of one key.
  static std::string text(std::vector<ConfigEntry> const& entries, std::string_view name) {
    for (auto const& entry : entries) {
      if (entry.name != name) continue;
      auto out = fmt::format("{} {}:", entry.value.value_or("-"), static_cast<int>(entry.source));
      for (auto const& s : entry.synonyms) {
        out += fmt::format(" {}={}@{}", s.name, s.value.value_or("-"), static_cast<int>(s.source));
      }
      return out;
    }
    return "absent";
  }

  Image image_;
  StaticConfigs statics_;
  BrokerSettings settings_;
};

TEST_F(ConfigEntries, of_a_topic_name_every_place) {
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "max.message.bytes"), "1048588 5: message.max.bytes=1048588@5");
  statics_["message.max.bytes"] = "5";
  set(ConfigResourceType::broker, "", "message.max.bytes", "6");
  set(ConfigResourceType::broker, "1", "message.max.bytes", "7");
  set(ConfigResourceType::broker, "2", "message.max.bytes", "99");
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "max.message.bytes"),
            "7 2: message.max.bytes=7@2 message.max.bytes=6@3 message.max.bytes=5@4 message.max.bytes=1048588@5");
  set(ConfigResourceType::topic, "t", "max.message.bytes", " 8");
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "max.message.bytes"),
            "8 1: max.message.bytes=8@1 message.max.bytes=7@2 message.max.bytes=6@3 message.max.bytes=5@4 "
            "message.max.bytes=1048588@5");
  EXPECT_EQ(text(topic_config_entries(context(), "other"), "max.message.bytes").substr(0, 4), "7 2:");
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "internal.segment.bytes"), "absent");
}

TEST_F(ConfigEntries, fall_back_to_coarser_units_only_where_the_finest_is_set) {
  statics_["log.retention.hours"] = "2";
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "retention.ms"), "7200000 5:");
  EXPECT_EQ(text(broker_config_entries(context()), "log.retention.ms"), "- 5:");
  statics_["log.retention.ms"] = "3";
  EXPECT_EQ(text(topic_config_entries(context(), "t"), "retention.ms"),
            "3 4: log.retention.ms=3@4 log.retention.hours=2@4 log.retention.hours=168@5");
}

TEST_F(ConfigEntries, hide_secrets_and_what_nobody_knows) {
  statics_["ssl.keystore.password"] = "secret";
  statics_["my.own"] = "secret too";
  auto const entries = broker_config_entries(context());
  EXPECT_EQ(text(entries, "ssl.keystore.password"), "- 4: ssl.keystore.password=-@4");
  EXPECT_EQ(text(entries, "my.own"), "- 4: my.own=-@4");
  EXPECT_EQ(text(entries, "unstable.api.versions.enable"), "absent");
  statics_["listener.name.x.sasl.login.refresh.window.factor"] = "0.5";
  EXPECT_EQ(text(broker_config_entries(context()), "listener.name.x.sasl.login.refresh.window.factor"),
            "0.5 4: listener.name.x.sasl.login.refresh.window.factor=0.5@4");
}

TEST_F(ConfigEntries, of_the_cluster_are_what_was_set_for_it) {
  EXPECT_TRUE(cluster_config_entries(context()).empty());
  statics_["message.max.bytes"] = "5";
  set(ConfigResourceType::broker, "", "message.max.bytes", "6");
  EXPECT_EQ(text(cluster_config_entries(context()), "message.max.bytes"), "6 3: message.max.bytes=6@3");
}

TEST_F(ConfigEntries, of_groups_and_client_metrics) {
  EXPECT_EQ(text(group_config_entries(context(), "g"), "share.isolation.level"),
            "read_uncommitted 5: share.isolation.level=read_uncommitted@5");
  set(ConfigResourceType::group, "g", "consumer.session.timeout.ms", "50000");
  EXPECT_EQ(text(group_config_entries(context(), "g"), "consumer.session.timeout.ms"),
            "50000 8: consumer.session.timeout.ms=50000@8");
  set(ConfigResourceType::client_metrics, "m", "interval.ms", "100");
  EXPECT_EQ(text(client_metrics_config_entries(context(), "m"), "interval.ms"),
            "100 7: interval.ms=100@7 interval.ms=300000@5");
}

TEST_F(ConfigEntries, values_are_written_as_java_does) {
  EXPECT_EQ(canonical_value(SettingType::real, "1"), "1.0");
  EXPECT_EQ(canonical_value(SettingType::real, "0.50"), "0.5");
  EXPECT_EQ(canonical_value(SettingType::real, "12345678"), "1.2345678E7");
  EXPECT_EQ(canonical_value(SettingType::real, "0.0001"), "1.0E-4");
  EXPECT_EQ(canonical_value(SettingType::list, " compact , delete"), "compact,delete");
  EXPECT_EQ(canonical_value(SettingType::boolean, "TRUE"), "true");
  EXPECT_EQ(canonical_value(SettingType::int64, " +7 "), "7");
}

}  // namespace
}  // namespace millrace::metadata
