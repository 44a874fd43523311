// Topic configuration: the keys that 4.4 knows, checks with Kafka's messages, and the value in force for a topic.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/setting.h"
#include "millrace/metadata/broker_settings.h"
#include "millrace/metadata/image.h"

namespace millrace::metadata {

struct TopicSetting {
  enum class Check : uint8_t { none, range, or_minus_one, one_of, throttled_replicas };
  std::string_view name;
  SettingType type{};
  std::string_view default_text;
  Check check = Check::none;
  int64_t minimum{}, maximum{};
  std::string_view allowed;          // ", " between values
  std::string_view broker_synonyms;  // broker keys that give the default, the first that is set; "(*1000)" scales it
  bool is_internal = false;          // accepted, never shown
};

// Sorted by name.
std::span<TopicSetting const> topic_settings();
TopicSetting const* find_topic_setting(std::string_view name);

// A broker key that gives a topic's default, and what its value is multiplied by.
struct BrokerKey {
  std::string_view name;
  int64_t factor = 1;
};
std::vector<BrokerKey> broker_keys_of(TopicSetting const& setting);

// Items between commas, trimmed; an empty text has none.
std::vector<std::string_view> split_list(std::string_view text);

// Null when the value is good, else Kafka's message.
std::optional<std::string> check_topic_value(TopicSetting const& setting, std::string_view value);
// One topic's whole set: unknown names, values, and rules between keys. Null when good, else Kafka's message.
std::optional<std::string> check_topic_configs(std::map<std::string, std::string> const& configs);

// Numbers of DescribeConfigs.
enum class ConfigSource : int8_t {
  topic = 1,
  dynamic_broker = 2,
  dynamic_default_broker = 3,
  static_broker = 4,
  default_value = 5,
  logger = 6,
  client_metrics = 7,
  group = 8,
};

struct EffectiveConfig {
  std::string value;
  ConfigSource source = ConfigSource::default_value;
};

// What is in force for `topic` (which need not exist: then the node's defaults) on `node`.
// `overrides`, when given, stands in for what the image holds for the topic.
EffectiveConfig effective_topic_config(Image const& image, BrokerId node, StaticConfigs const& statics,
                                       std::string_view topic, TopicSetting const& setting,
                                       ConfigMap const* overrides = nullptr);

// The same as typed values, for those who act on them. Unparsable values cannot be there: they were checked on entry;
// a bad one in the node's file was refused at start. Falls back to the default otherwise.
class TopicConfigView {
 public:
  TopicConfigView(Image const& image, BrokerId node, StaticConfigs const& statics, std::string_view topic)
      : image_(image), node_(node), statics_(statics), topic_(topic) {}
  int64_t number(std::string_view key) const;
  double real(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::string text(std::string_view key) const;
  bool has_list_item(std::string_view key, std::string_view item) const;  // cleanup.policy holds "compact"
  // Set for this topic itself. Null: not.
  std::string const* own(std::string_view key) const { return image_.find_config(ConfigResourceType::topic, topic_, key); }

 private:
  Image const& image_;
  BrokerId node_;
  StaticConfigs const& statics_;
  std::string_view topic_;
};

}  // namespace millrace::metadata
