#include "millrace/metadata/resource_config.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace millrace::metadata {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
using Check = TopicSetting::Check;
using T = SettingType;

constexpr TopicSetting number(std::string_view name, std::string_view default_text, int64_t minimum,
                              std::string_view broker_key, bool is_internal = false) {
  return {name, T::int32, default_text, Check::range, minimum, kHighest, "", broker_key, is_internal};
}
constexpr TopicSetting boolean(std::string_view name, std::string_view default_text, std::string_view broker_key,
                               bool is_internal) {
  return {name, T::boolean, default_text, Check::none, kLowest, kHighest, "", broker_key, is_internal};
}

constexpr std::array kGroupSettings{
    number("consumer.assignment.interval.ms", "1000", 0, "group.consumer.assignment.interval.ms"),
    boolean("consumer.assignor.offload.enable", "true", "group.consumer.assignor.offload.enable", true),
    number("consumer.heartbeat.interval.ms", "5000", 1, "group.consumer.heartbeat.interval.ms"),
    number("consumer.session.timeout.ms", "45000", 1, "group.consumer.session.timeout.ms"),
    boolean("errors.deadletterqueue.copy.record.enable", "false", "", false),
    TopicSetting{"errors.deadletterqueue.topic.name", T::string, "", Check::none, kLowest, kHighest, "", "", false},
    number("share.assignment.interval.ms", "1000", 0, "group.share.assignment.interval.ms"),
    boolean("share.assignor.offload.enable", "true", "group.share.assignor.offload.enable", true),
    TopicSetting{"share.auto.offset.reset", T::string, "latest", Check::none, kLowest, kHighest, "", "", false},
    number("share.delivery.count.limit", "5", 2, "group.share.delivery.count.limit"),
    number("share.heartbeat.interval.ms", "5000", 1, "group.share.heartbeat.interval.ms"),
    TopicSetting{"share.isolation.level", T::string, "read_uncommitted", Check::one_of, kLowest, kHighest,
                 "read_committed, read_uncommitted", "", false},
    number("share.partition.max.record.locks", "2000", 100, "group.share.partition.max.record.locks"),
    number("share.record.lock.duration.ms", "30000", 1000, "group.share.record.lock.duration.ms"),
    boolean("share.renew.acknowledge.enable", "true", "", false),
    number("share.session.timeout.ms", "45000", 1, "group.share.session.timeout.ms"),
    TopicSetting{"streams.acceptable.recovery.lag", T::int64, "10000", Check::range, 0, kHighest, "",
                 "group.streams.acceptable.recovery.lag", true},
    number("streams.assignment.interval.ms", "1000", 0, "group.streams.assignment.interval.ms"),
    TopicSetting{"streams.assignor.name", T::string, "", Check::none, kLowest, kHighest, "", "group.streams.assignors",
                 false},
    boolean("streams.assignor.offload.enable", "true", "group.streams.assignor.offload.enable", true),
    number("streams.heartbeat.interval.ms", "5000", 1, "group.streams.heartbeat.interval.ms"),
    number("streams.initial.rebalance.delay.ms", "3000", 0, "group.streams.initial.rebalance.delay.ms"),
    number("streams.num.standby.replicas", "0", 0, "group.streams.num.standby.replicas"),
    number("streams.num.warmup.replicas", "2", 0, "group.streams.num.warmup.replicas", true),
    TopicSetting{"streams.rack.aware.assignment.tags", T::list, "", Check::none, kLowest, kHighest, "",
                 "group.streams.rack.aware.assignment.tags", false},
    number("streams.session.timeout.ms", "45000", 1, "group.streams.session.timeout.ms"),
    number("streams.task.offset.interval.ms", "60000", 1, "group.streams.task.offset.interval.ms", true),
};

constexpr std::array kClientMetricsSettings{
    TopicSetting{"interval.ms", T::int32, "300000", Check::none, kLowest, kHighest, "", "", false},
    TopicSetting{"match", T::list, "", Check::none, kLowest, kHighest, "", "", false},
    TopicSetting{"metrics", T::list, "", Check::none, kLowest, kHighest, "", "", false},
};

TopicSetting const* find_in(std::span<TopicSetting const> settings, std::string_view name) {
  auto const found = std::ranges::lower_bound(settings, name, {}, &TopicSetting::name);
  return found != settings.end() && found->name == name ? &*found : nullptr;
}

int64_t number_of(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

ConfigProblem invalid(std::string message) { return {ErrorCode::invalid_config, std::move(message)}; }

// `consumer.session.timeout.ms` has its bounds in `group.consumer.min.session.timeout.ms` and in `...max...`.
std::optional<ConfigProblem> check_bounds(std::string_view name, int64_t value, BrokerValue const& broker_value) {
  auto const dot = name.find('.');
  auto const key = [&](std::string_view bound) {
    return fmt::format("group.{}.{}.{}", name.substr(0, dot), bound, name.substr(dot + 1));
  };
  auto const least = key("min");
  if (auto const text = broker_value(least); text && value < number_of(*text)) {
    return invalid(fmt::format("{} must be greater than or equal to {}", name, least));
  }
  auto const most = key("max");
  if (auto const text = broker_value(most); text && value > number_of(*text)) {
    return invalid(fmt::format("{} must be less than or equal to {}", name, most));
  }
  return std::nullopt;
}

// A member that heart-beats in time must not lose its session.
std::optional<ConfigProblem> check_session(std::map<std::string, std::string> const& configs, std::string const& kind,
                                           BrokerValue const& broker_value) {
  auto const session = kind + ".session.timeout.ms";
  auto const heartbeat = kind + ".heartbeat.interval.ms";
  if (!configs.contains(session) && !configs.contains(heartbeat)) return std::nullopt;
  auto const value = [&](std::string const& name) {
    if (auto const found = configs.find(name); found != configs.end()) return number_of(found->second);
    auto const of_broker = broker_value("group." + name);
    return of_broker ? number_of(*of_broker) : number_of(find_group_setting(name)->default_text);
  };
  if (value(session) > value(heartbeat)) return std::nullopt;
  return invalid(fmt::format("{} must be greater than {}", session, heartbeat));
}

bool has_balanced_brackets(std::string_view pattern) {
  int depth = 0;
  bool is_in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    auto const c = pattern[i];
    if (c == '\\') {
      if (++i == pattern.size()) return false;
    } else if (is_in_class) {
      is_in_class = c != ']';
    } else if (c == '[') {
      is_in_class = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth < 0) {
      return false;
    }
  }
  return depth == 0 && !is_in_class;
}

// `client_id=regular expression`. Who matches is not asked here, so only gross mistakes are told.
bool is_client_match(std::string_view item) {
  constexpr std::string_view kKeys[] = {"client_instance_id",    "client_id",
                                        "client_software_name",  "client_software_version",
                                        "client_source_address", "client_source_port"};
  auto const equals = item.find('=');
  if (equals == std::string_view::npos) return false;
  auto const pattern = item.substr(equals + 1);
  if (std::ranges::find(kKeys, item.substr(0, equals)) == std::end(kKeys)) return false;
  return !pattern.empty() && std::string_view("*+?").find(pattern.front()) == std::string_view::npos &&
         has_balanced_brackets(pattern);
}

}  // namespace

std::span<TopicSetting const> group_settings() { return kGroupSettings; }
std::span<TopicSetting const> client_metrics_settings() { return kClientMetricsSettings; }
TopicSetting const* find_group_setting(std::string_view name) { return find_in(kGroupSettings, name); }
TopicSetting const* find_client_metrics_setting(std::string_view name) { return find_in(kClientMetricsSettings, name); }

std::optional<ConfigProblem> check_group_configs(std::map<std::string, std::string> const& configs,
                                                 BrokerValue const& broker_value) {
  for (auto const& [name, value] : configs) {
    if (find_group_setting(name) == nullptr) return invalid("Unknown group config name: " + name);
  }
  for (auto const& [name, value] : configs) {
    auto const& setting = *find_group_setting(name);
    if (auto problem = check_topic_value(setting, value)) return invalid(*std::move(problem));
    bool const is_reset = name == "share.auto.offset.reset";
    if (is_reset && value != "latest" && value != "earliest" && !value.starts_with("by_duration:P")) {
      return invalid(
          fmt::format("Invalid value {} for configuration {}: it is neither latest, earliest nor "
                      "by_duration:<ISO-8601 duration>",
                      value, name));
    }
    if (setting.type != SettingType::int32) continue;
    if (auto problem = check_bounds(name, number_of(value), broker_value)) return problem;
  }
  for (auto const* kind : {"consumer", "share", "streams"}) {
    if (auto problem = check_session(configs, kind, broker_value)) return problem;
  }
  return std::nullopt;
}

std::optional<ConfigProblem> check_client_metrics_configs(std::map<std::string, std::string> const& configs) {
  constexpr int64_t kIntervalMsMin = 100;
  constexpr int64_t kIntervalMsMax = 3'600'000;
  for (auto const& [name, value] : configs) {
    if (find_client_metrics_setting(name) == nullptr) {
      return ConfigProblem{ErrorCode::invalid_request, "Unknown client metrics configuration: " + name};
    }
  }
  for (auto const& [name, value] : configs) {
    if (auto problem = check_topic_value(*find_client_metrics_setting(name), value))
      return invalid(*std::move(problem));
    if (name == "interval.ms" && (number_of(value) < kIntervalMsMin || number_of(value) > kIntervalMsMax)) {
      return ConfigProblem{ErrorCode::invalid_request,
                           fmt::format("Invalid value {} for {}, interval must be between {} and {} (1 hour)", value,
                                       name, kIntervalMsMin, kIntervalMsMax)};
    }
    if (name != "match") continue;
    for (auto item : split_list(value)) {
      if (!is_client_match(item)) return invalid(fmt::format("Illegal client matching pattern: {}", item));
    }
  }
  return std::nullopt;
}

}  // namespace millrace::metadata
