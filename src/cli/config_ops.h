// Changes of settings by IncrementalAlterConfigs, for topics, brokers and the like.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster.h"
#include "millrace/protocol/errors.h"

namespace millrace::cli {

// As the protocol numbers them.
enum class ConfigKind : int8_t { topic = 2, broker = 4, broker_logger = 8, client_metrics = 16, group = 32 };
enum class ConfigOperation : int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

struct ConfigChange {
  ConfigOperation operation{};
  std::string_view key;
  std::optional<std::string_view> value;
};

struct ConfigResult {
  std::string name;  // of the resource
  ErrorCode error{};
  std::optional<std::string> message;
};

// The same changes to each of `names`. A broker's settings are changed by that broker; the name "" is all brokers.
Result<std::vector<ConfigResult>> alter_configs(Cluster& cluster, ConfigKind kind,
                                                std::vector<std::string> const& names,
                                                std::vector<ConfigChange> const& changes, bool only_validate);

// Views of `text`, which is KEY=VALUE. invalid: there is no key or no '='.
Result<std::pair<std::string_view, std::string_view>> split_pair(std::string_view text);

// The broker that must be asked about a resource; any for most. Knows the brokers' addresses afterwards.
Result<int32_t> node_for(Cluster& cluster, ConfigKind kind, std::string const& name);

}  // namespace millrace::cli
