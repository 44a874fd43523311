// Configuration as DescribeConfigs tells it: for each resource its keys, their values in force and where those come
// from. Pure: the image, and what the node knows of itself.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/metadata/broker_settings.h"
#include "millrace/metadata/image.h"
#include "millrace/metadata/topic_config.h"

namespace millrace::metadata {

struct ConfigSynonym {
  std::string_view name;
  std::optional<std::string> value;  // none: hidden
  ConfigSource source{};
};

struct ConfigEntry {
  std::string name;
  std::optional<std::string> value;  // none: it has none, or it is hidden
  ConfigSource source = ConfigSource::default_value;
  std::optional<SettingType> type;  // none: the key is unknown
  bool is_read_only = false;
  bool is_sensitive = false;
  std::vector<ConfigSynonym> synonyms;  // what was looked at, the first one counts
  std::optional<std::string> documentation;
};

// What a node knows of its own configuration. All members outlive the calls.
struct ConfigContext {
  Image const& image;
  BrokerId node;
  StaticConfigs const& statics;
  BrokerSettings const& settings;
};

std::vector<ConfigEntry> topic_config_entries(ConfigContext const& context, std::string_view topic);
std::vector<ConfigEntry> broker_config_entries(ConfigContext const& context);   // of this node
std::vector<ConfigEntry> cluster_config_entries(ConfigContext const& context);  // set for all brokers
std::vector<ConfigEntry> group_config_entries(ConfigContext const& context, std::string_view group);
std::vector<ConfigEntry> client_metrics_config_entries(ConfigContext const& context, std::string_view name);

// The value of a broker key in force on this node; none when it has none.
std::optional<std::string> effective_broker_config(ConfigContext const& context, std::string_view name);

// The number of a type in DescribeConfigs.
int8_t config_type_number(std::optional<SettingType> type);

// `text` as Kafka writes a parsed value back: blanks dropped, numbers and lists in one form.
std::string canonical_value(SettingType type, std::string_view text);

}  // namespace millrace::metadata
