// Configuration of groups and of client metrics: the keys that 4.4 knows, and checks with Kafka's messages.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "millrace/metadata/topic_config.h"
#include "millrace/protocol/errors.h"

namespace millrace::metadata {

// Sorted by name.
std::span<TopicSetting const> group_settings();
std::span<TopicSetting const> client_metrics_settings();
TopicSetting const* find_group_setting(std::string_view name);
TopicSetting const* find_client_metrics_setting(std::string_view name);

struct ConfigProblem {
  ErrorCode code{};
  std::string message;
};

// A whole set of a resource. None when it is good. `broker_value` gives a broker key's value, none when there is none.
using BrokerValue = std::function<std::optional<std::string>(std::string const& key)>;
std::optional<ConfigProblem> check_group_configs(std::map<std::string, std::string> const& configs,
                                                 BrokerValue const& broker_value);
std::optional<ConfigProblem> check_client_metrics_configs(std::map<std::string, std::string> const& configs);

}  // namespace millrace::metadata
