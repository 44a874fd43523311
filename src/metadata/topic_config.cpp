#include "millrace/metadata/topic_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace millrace::metadata {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
using Check = TopicSetting::Check;

constexpr std::array kSettings{
    TopicSetting{"cleanup.policy", SettingType::list, "delete", Check::one_of, kLowest, kHighest, "compact, delete",
                 "log.cleanup.policy", false},
    TopicSetting{"compression.gzip.level", SettingType::int32, "-1", Check::or_minus_one, 1, 9, "",
                 "compression.gzip.level", false},
    TopicSetting{"compression.lz4.level", SettingType::int32, "9", Check::range, 1, 17, "",
                 "compression.lz4.level", false},
    TopicSetting{"compression.type", SettingType::string, "producer", Check::one_of, kLowest, kHighest, "uncompressed, zstd, lz4, snappy, gzip, producer",
                 "compression.type", false},
    TopicSetting{"compression.zstd.level", SettingType::int32, "3", Check::range, -131072, 22, "",
                 "compression.zstd.level", false},
    TopicSetting{"delete.retention.ms", SettingType::int64, "86400000", Check::range, 0, kHighest, "",
                 "log.cleaner.delete.retention.ms", false},
    TopicSetting{"errors.deadletterqueue.group.enable", SettingType::boolean, "false", Check::none, kLowest, kHighest, "",
                 "", false},
    TopicSetting{"file.delete.delay.ms", SettingType::int64, "60000", Check::range, 0, kHighest, "",
                 "log.segment.delete.delay.ms", false},
    TopicSetting{"flush.messages", SettingType::int64, "9223372036854775807", Check::range, 1, kHighest, "",
                 "log.flush.interval.messages", false},
    TopicSetting{"flush.ms", SettingType::int64, "9223372036854775807", Check::range, 0, kHighest, "",
                 "log.flush.interval.ms,log.flush.scheduler.interval.ms", false},
    TopicSetting{"follower.replication.throttled.replicas", SettingType::list, "", Check::throttled_replicas, kLowest, kHighest, "",
                 "", false},
    TopicSetting{"index.interval.bytes", SettingType::int32, "4096", Check::range, 0, kHighest, "",
                 "log.index.interval.bytes", false},
    TopicSetting{"internal.segment.bytes", SettingType::int32, "", Check::none, kLowest, kHighest, "", "", true},
    TopicSetting{"leader.replication.throttled.replicas", SettingType::list, "", Check::throttled_replicas, kLowest, kHighest, "",
                 "", false},
    TopicSetting{"local.retention.bytes", SettingType::int64, "-2", Check::range, -2, kHighest, "",
                 "log.local.retention.bytes", false},
    TopicSetting{"local.retention.ms", SettingType::int64, "-2", Check::range, -2, kHighest, "",
                 "log.local.retention.ms", false},
    TopicSetting{"max.compaction.lag.ms", SettingType::int64, "9223372036854775807", Check::range, 1, kHighest, "",
                 "log.cleaner.max.compaction.lag.ms", false},
    TopicSetting{"max.decompressed.message.bytes", SettingType::int32, "2147483639", Check::range, 1, 2147483639, "",
                 "max.decompressed.message.bytes", false},
    TopicSetting{"max.message.bytes", SettingType::int32, "1048588", Check::range, 0, kHighest, "",
                 "message.max.bytes", false},
    TopicSetting{"message.timestamp.after.max.ms", SettingType::int64, "3600000", Check::range, 0, kHighest, "",
                 "log.message.timestamp.after.max.ms", false},
    TopicSetting{"message.timestamp.before.max.ms", SettingType::int64, "9223372036854775807", Check::range, 0, kHighest, "",
                 "log.message.timestamp.before.max.ms", false},
    TopicSetting{"message.timestamp.type", SettingType::string, "CreateTime", Check::one_of, kLowest, kHighest, "CreateTime, LogAppendTime",
                 "log.message.timestamp.type", false},
    TopicSetting{"min.cleanable.dirty.ratio", SettingType::real, "0.5", Check::range, 0, 1, "",
                 "log.cleaner.min.cleanable.ratio", false},
    TopicSetting{"min.compaction.lag.ms", SettingType::int64, "0", Check::range, 0, kHighest, "",
                 "log.cleaner.min.compaction.lag.ms", false},
    TopicSetting{"min.insync.replicas", SettingType::int32, "1", Check::range, 1, kHighest, "",
                 "min.insync.replicas", false},
    TopicSetting{"preallocate", SettingType::boolean, "false", Check::none, kLowest, kHighest, "",
                 "log.preallocate", false},
    TopicSetting{"remote.copy.lag.bytes", SettingType::int64, "-1", Check::range, -1, kHighest, "",
                 "log.remote.copy.lag.bytes", false},
    TopicSetting{"remote.copy.lag.ms", SettingType::int64, "0", Check::range, -1, kHighest, "",
                 "log.remote.copy.lag.ms", false},
    TopicSetting{"remote.log.copy.disable", SettingType::boolean, "false", Check::none, kLowest, kHighest, "",
                 "", false},
    TopicSetting{"remote.log.delete.on.disable", SettingType::boolean, "false", Check::none, kLowest, kHighest, "",
                 "", false},
    TopicSetting{"remote.storage.enable", SettingType::boolean, "false", Check::none, kLowest, kHighest, "", "", false},
    TopicSetting{"retention.bytes", SettingType::int64, "-1", Check::none, kLowest, kHighest, "",
                 "log.retention.bytes", false},
    TopicSetting{"retention.ms", SettingType::int64, "604800000", Check::range, -1, kHighest, "",
                 "log.retention.ms,log.retention.minutes (*60000),log.retention.hours (*3600000)", false},
    TopicSetting{"segment.bytes", SettingType::int32, "1073741824", Check::range, 1048576, kHighest, "",
                 "log.segment.bytes", false},
    TopicSetting{"segment.index.bytes", SettingType::int32, "10485760", Check::range, 4, kHighest, "",
                 "log.index.size.max.bytes", false},
    TopicSetting{"segment.jitter.ms", SettingType::int64, "0", Check::range, 0, kHighest, "",
                 "log.roll.jitter.ms,log.roll.jitter.hours (*3600000)", false},
    TopicSetting{"segment.ms", SettingType::int64, "604800000", Check::range, 1, kHighest, "",
                 "log.roll.ms,log.roll.hours (*3600000)", false},
    TopicSetting{"unclean.leader.election.enable", SettingType::boolean, "false", Check::none, kLowest, kHighest, "",
                 "unclean.leader.election.enable", false},
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_one_of(std::string_view value, std::string_view allowed) {
  auto const values = split_list(allowed);
  return std::find(values.begin(), values.end(), value) != values.end();
}

template <class T>
bool parse_whole(std::string_view text, T& out) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

std::string invalid(TopicSetting const& setting, std::string_view value, std::string_view why) {
  return fmt::format("Invalid value {} for configuration {}: {}", value, setting.name, why);
}

bool is_throttled_replica(std::string_view item) {
  auto const colon = item.find(':');
  if (colon == std::string_view::npos) return false;
  auto const digits = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return digits(item.substr(0, colon)) && digits(item.substr(colon + 1));
}

std::optional<std::string> check_range(TopicSetting const& setting, std::string_view value, double number) {
  if (setting.check == Check::or_minus_one && number == -1) return std::nullopt;
  if (setting.check != Check::range && setting.check != Check::or_minus_one) return std::nullopt;
  if (number < static_cast<double>(setting.minimum)) {
    return invalid(setting, value, fmt::format("Value must be at least {}", setting.minimum));
  }
  if (number > static_cast<double>(setting.maximum)) {
    return invalid(setting, value, fmt::format("Value must be no more than {}", setting.maximum));
  }
  return std::nullopt;
}

std::optional<std::string> check_list(TopicSetting const& setting, std::string_view value) {
  auto const items = split_list(value);
  if (setting.check == Check::throttled_replicas) {
    if (items.size() == 1 && items.front() == "*") return std::nullopt;
    for (auto item : items) {
      if (is_throttled_replica(item)) continue;
      return invalid(setting, value, fmt::format("{} must be the literal '*' or a list of replicas in the following format: "
                                                 "[partitionId]:[brokerId],[partitionId]:[brokerId],...", setting.name));
    }
    return std::nullopt;
  }
  for (size_t i = 0; i < items.size(); ++i) {
    if (std::find(items.begin(), items.begin() + static_cast<ptrdiff_t>(i), items[i]) != items.begin() + static_cast<ptrdiff_t>(i)) {
      return fmt::format("Configuration '{}' values must not be duplicated.", setting.name);
    }
    if (setting.check == Check::one_of && !is_one_of(items[i], setting.allowed)) {
      return invalid(setting, items[i], fmt::format("String must be one of: {}", setting.allowed));
    }
  }
  return std::nullopt;
}

std::string scaled(std::string const& value, int64_t factor) {
  int64_t number = 0;
  if (factor == 1 || !parse_whole(std::string_view(value), number) || number < 0) return value;
  int64_t out = 0;
  return fmt::format("{}", __builtin_mul_overflow(number, factor, &out) ? kHighest : out);
}

}  // namespace

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> out;
  if (trim(text).empty()) return out;
  while (true) {
    auto const comma = text.find(',');
    out.push_back(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

// From "log.retention.minutes (*60000)" and the like.
std::vector<BrokerKey> broker_keys_of(TopicSetting const& setting) {
  std::vector<BrokerKey> out;
  for (auto item : split_list(setting.broker_synonyms)) {
    BrokerKey key{item, 1};
    if (auto const open = item.find(" (*"); open != std::string_view::npos) {
      key.name = item.substr(0, open);
      parse_whole(item.substr(open + 3, item.size() - open - 4), key.factor);
    }
    out.push_back(key);
  }
  return out;
}

std::span<TopicSetting const> topic_settings() { return kSettings; }

TopicSetting const* find_topic_setting(std::string_view name) {
  auto const found = std::lower_bound(kSettings.begin(), kSettings.end(), name,
                                      [](TopicSetting const& s, std::string_view n) { return s.name < n; });
  return found != kSettings.end() && found->name == name ? &*found : nullptr;
}

std::optional<std::string> check_topic_value(TopicSetting const& setting, std::string_view value) {
  auto const text = trim(value);
  switch (setting.type) {
    case SettingType::boolean:
      if (equals_ignoring_case(text, "true") || equals_ignoring_case(text, "false")) return std::nullopt;
      return invalid(setting, value, "Expected value to be either true or false");
    case SettingType::int32: {
      int32_t number = 0;
      if (!parse_whole(text, number)) return invalid(setting, value, "Not a number of type INT");
      return check_range(setting, text, number);
    }
    case SettingType::int64: {
      int64_t number = 0;
      if (!parse_whole(text, number)) return invalid(setting, value, "Not a number of type LONG");
      if (setting.check == Check::range && number < setting.minimum) {
        return invalid(setting, text, fmt::format("Value must be at least {}", setting.minimum));
      }
      return std::nullopt;
    }
    case SettingType::real: {
      double number = 0;
      if (!parse_whole(text, number)) return invalid(setting, value, "Not a number of type DOUBLE");
      return check_range(setting, text, number);
    }
    case SettingType::list: return check_list(setting, value);
    default:
      if (setting.check == Check::one_of && !is_one_of(text, setting.allowed)) {
        return invalid(setting, value, fmt::format("String must be one of: {}", setting.allowed));
      }
      return std::nullopt;
  }
}

std::optional<std::string> check_topic_configs(std::map<std::string, std::string> const& configs) {
  for (auto const& [name, value] : configs) {
    if (find_topic_setting(name) == nullptr) return fmt::format("Unknown topic config name: {}", name);
  }
  for (auto const& [name, value] : configs) {
    if (auto problem = check_topic_value(*find_topic_setting(name), value)) return problem;
  }
  auto const number = [&](std::string_view name) {
    auto const* setting = find_topic_setting(name);
    auto const found = configs.find(std::string(name));
    int64_t out = 0;
    parse_whole(trim(found == configs.end() ? setting->default_text : std::string_view(found->second)), out);
    return out;
  };
  if (number("min.compaction.lag.ms") > number("max.compaction.lag.ms")) {
    return fmt::format("conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
                       number("min.compaction.lag.ms"), number("max.compaction.lag.ms"));
  }
  if (auto const remote = configs.find("remote.storage.enable");
      remote != configs.end() && equals_ignoring_case(trim(remote->second), "true")) {
    return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.";
  }
  return std::nullopt;
}

EffectiveConfig effective_topic_config(Image const& image, BrokerId node, StaticConfigs const& statics, std::string_view topic,
                                       TopicSetting const& setting, ConfigMap const* overrides) {
  auto const* own = overrides != nullptr ? overrides : image.find_configs(ConfigResourceType::topic, topic);
  if (own != nullptr) {
    if (auto const* value = own->find(setting.name)) return {*value, ConfigSource::topic};
  }
  auto const broker_keys = broker_keys_of(setting);
  auto const* of_node = image.find_configs(ConfigResourceType::broker, fmt::format("{}", node));
  auto const* of_cluster = image.find_configs(ConfigResourceType::broker, "");
  for (auto const& [set, source] : {std::pair{of_node, ConfigSource::dynamic_broker},
                                    std::pair{of_cluster, ConfigSource::dynamic_default_broker}}) {
    if (set == nullptr) continue;
    for (auto const& key : broker_keys) {
      if (auto const* value = set->find(key.name)) return {scaled(*value, key.factor), source};
    }
  }
  for (auto const& key : broker_keys) {
    if (auto const found = statics.find(key.name); found != statics.end()) {
      return {scaled(found->second, key.factor), ConfigSource::static_broker};
    }
  }
  return {std::string(setting.default_text), ConfigSource::default_value};
}

std::string TopicConfigView::text(std::string_view key) const {
  auto const* setting = find_topic_setting(key);
  MR_ASSERT_VALUES(setting != nullptr, "{}", key);
  return effective_topic_config(image_, node_, statics_, topic_, *setting).value;
}

int64_t TopicConfigView::number(std::string_view key) const {
  int64_t out = 0;
  if (parse_whole(trim(text(key)), out)) return out;
  parse_whole(find_topic_setting(key)->default_text, out);
  return out;
}

double TopicConfigView::real(std::string_view key) const {
  double out = 0;
  if (parse_whole(trim(text(key)), out)) return out;
  parse_whole(find_topic_setting(key)->default_text, out);
  return out;
}

bool TopicConfigView::boolean(std::string_view key) const { return equals_ignoring_case(trim(text(key)), "true"); }

bool TopicConfigView::has_list_item(std::string_view key, std::string_view item) const { return is_one_of(item, text(key)); }

}  // namespace millrace::metadata
