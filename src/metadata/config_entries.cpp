#include "millrace/metadata/config_entries.h"

#include <charconv>
#include <cmath>

#include "millrace/metadata/resource_config.h"

namespace millrace::metadata {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// As Java writes a double: always with a fraction, with an exponent outside 10^-3 to 10^7.
std::string java_real(double value) {
  if (value == 0) return std::signbit(value) ? "-0.0" : "0.0";
  auto const magnitude = std::abs(value);
  if (magnitude >= 1e-3 && magnitude < 1e7) {
    auto text = fmt::format("{}", value);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  char digits[32];
  auto const [end, error] = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::scientific);
  if (error != std::errc()) return fmt::format("{}", value);
  std::string_view const text(digits, static_cast<size_t>(end - digits));
  auto const e = text.find('e');
  if (e == std::string_view::npos) return std::string(text);  // not finite
  std::string mantissa(text.substr(0, e));
  if (mantissa.find('.') == std::string::npos) mantissa += ".0";
  auto exponent = text.substr(e + 1);
  bool const is_negative = exponent.front() == '-';
  exponent.remove_prefix(1);
  while (exponent.size() > 1 && exponent.front() == '0') exponent.remove_prefix(1);
  return fmt::format("{}E{}{}", mantissa, is_negative ? "-" : "", exponent);
}

// The broker keys that are asked in turn for the value of `name`.
std::vector<std::string_view> chain_of(std::string_view name) {
  if (name == "log.retention.ms") return {name, "log.retention.minutes", "log.retention.hours"};
  if (name == "log.retention.minutes") return {name, "log.retention.hours"};
  if (name == "log.roll.ms") return {name, "log.roll.hours"};
  if (name == "log.roll.jitter.ms") return {name, "log.roll.jitter.hours"};
  if (name == "log.flush.interval.ms") return {name, "log.flush.scheduler.interval.ms"};
  return {name};
}

struct Sources {
  explicit Sources(ConfigContext const& c)
      : context(c),
        of_node(c.image.find_configs(ConfigResourceType::broker, fmt::format("{}", c.node))),
        of_cluster(c.image.find_configs(ConfigResourceType::broker, "")) {}

  std::optional<std::string> dynamic(ConfigMap const* set, std::string_view name) const {
    auto const* value = set == nullptr ? nullptr : set->find(name);
    return value == nullptr ? std::nullopt : std::optional(*value);
  }
  std::optional<std::string> of_file(std::string_view name) const {
    auto const found = context.statics.find(name);
    return found == context.statics.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::string> of_default(std::string_view name) const {
    auto const* setting = context.settings.find(name);
    if (setting == nullptr || !setting->default_text) return std::nullopt;
    return std::string(*setting->default_text);
  }

  // All places that have a value for a name of the chain. Nothing when the first name has none anywhere: the others
  // count only as what it would fall back to.
  std::vector<ConfigSynonym> synonyms(std::string_view first, bool is_sensitive) const {
    std::vector<ConfigSynonym> out;
    bool has_first = false;
    auto const add_all = [&](auto const& value_of, ConfigSource source) {
      for (auto name : chain_of(first)) {
        auto value = value_of(name);
        if (!value) continue;
        has_first |= name == first;
        out.push_back({name, is_sensitive ? std::nullopt : std::move(value), source});
      }
    };
    add_all([&](auto name) { return dynamic(of_node, name); }, ConfigSource::dynamic_broker);
    add_all([&](auto name) { return dynamic(of_cluster, name); }, ConfigSource::dynamic_default_broker);
    add_all([&](auto name) { return of_file(name); }, ConfigSource::static_broker);
    add_all([&](auto name) { return of_default(name); }, ConfigSource::default_value);
    if (!has_first) out.clear();
    return out;
  }
  std::optional<std::string> value(std::string_view name) const {
    if (auto found = dynamic(of_node, name)) return found;
    if (auto found = dynamic(of_cluster, name)) return found;
    if (auto found = of_file(name)) return found;
    return of_default(name);
  }

  ConfigContext const& context;
  ConfigMap const* of_node;
  ConfigMap const* of_cluster;
};

std::string documentation_of(std::string_view name) { return fmt::format("As {} in Apache Kafka 4.4.", name); }

std::optional<std::string> documentation_of(BrokerSetting const& setting) {
  return setting.documentation.empty() ? documentation_of(setting.name) : std::string(setting.documentation);
}

ConfigEntry broker_entry(Sources const& sources, std::string_view name) {
  auto const& settings = sources.context.settings;
  auto const* own = settings.find(name);
  auto const* setting = own != nullptr ? own : settings.find_for_listener(name);
  ConfigEntry entry;
  entry.name = std::string(name);
  // What an unknown key holds may be a secret of somebody's.
  entry.is_sensitive = setting == nullptr || setting->type == SettingType::password;
  if (setting != nullptr) entry.type = setting->type;
  auto value = sources.value(name);
  if (value && !entry.is_sensitive) entry.value = canonical_value(setting->type, *value);
  entry.synonyms = sources.synonyms(name, entry.is_sensitive);
  if (!entry.synonyms.empty()) entry.source = entry.synonyms.front().source;
  entry.is_read_only = own == nullptr || own->update_mode == UpdateMode::read_only;
  if (own != nullptr) entry.documentation = documentation_of(*own);
  return entry;
}

ConfigEntry resource_entry(TopicSetting const& setting, std::string_view value) {
  ConfigEntry entry;
  entry.name = std::string(setting.name);
  entry.type = setting.type;
  entry.value = canonical_value(setting.type, value);
  entry.documentation = documentation_of(setting.name);
  return entry;
}

void put_first(ConfigEntry& entry, std::string_view name, std::string const& value, ConfigSource source) {
  entry.synonyms.insert(entry.synonyms.begin(), {name, canonical_value(*entry.type, value), source});
}

}  // namespace

int8_t config_type_number(std::optional<SettingType> type) {
  if (!type) return 0;
  switch (*type) {
    case SettingType::boolean: return 1;
    case SettingType::string: return 2;
    case SettingType::int32: return 3;
    case SettingType::int16: return 4;
    case SettingType::int64: return 5;
    case SettingType::real: return 6;
    case SettingType::list: return 7;
    case SettingType::klass: return 8;
    case SettingType::password: return 9;
  }
  return 0;
}

std::string canonical_value(SettingType type, std::string_view text) {
  auto const trimmed = trim(text);
  switch (type) {
    case SettingType::boolean: return trimmed.size() == 4 ? "true" : "false";
    case SettingType::int16:
    case SettingType::int32:
    case SettingType::int64: {
      int64_t value = 0;
      auto const digits = trimmed.starts_with('+') ? trimmed.substr(1) : trimmed;
      auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error != std::errc() || end != digits.data() + digits.size()) return std::string(trimmed);
      return fmt::format("{}", value);
    }
    case SettingType::real: {
      double value = 0;
      auto const [end, error] = std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value);
      if (error != std::errc() || end != trimmed.data() + trimmed.size()) return std::string(trimmed);
      return java_real(value);
    }
    case SettingType::list: return fmt::format("{}", fmt::join(split_list(text), ","));
    case SettingType::string:
    case SettingType::klass:
    case SettingType::password: return std::string(trimmed);
  }
  return std::string(trimmed);
}

std::optional<std::string> effective_broker_config(ConfigContext const& context, std::string_view name) {
  return Sources(context).value(name);
}

std::vector<ConfigEntry> topic_config_entries(ConfigContext const& context, std::string_view topic) {
  Sources const sources(context);
  std::vector<ConfigEntry> out;
  for (auto const& setting : topic_settings()) {
    if (setting.is_internal) continue;
    auto const effective = effective_topic_config(context.image, context.node, context.statics, topic, setting);
    auto entry = resource_entry(setting, effective.value);
    if (auto const keys = broker_keys_of(setting); !keys.empty())
      entry.synonyms = sources.synonyms(keys.front().name, false);
    if (effective.source == ConfigSource::topic) put_first(entry, setting.name, effective.value, ConfigSource::topic);
    if (!entry.synonyms.empty()) entry.source = entry.synonyms.front().source;
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<ConfigEntry> broker_config_entries(ConfigContext const& context) {
  Sources const sources(context);
  std::vector<ConfigEntry> out;
  for (auto const& setting : context.settings.all) {
    if (setting.is_internal && !context.statics.contains(setting.name)) continue;
    out.push_back(broker_entry(sources, setting.name));
  }
  std::set<std::string_view> others;  // unknown ones, and those of single listeners
  auto const add = [&](std::string_view name) {
    if (context.settings.find(name) == nullptr) others.insert(name);
  };
  for (auto const& [name, value] : context.statics) add(name);
  for (auto const* set : {sources.of_node, sources.of_cluster}) {
    if (set != nullptr) set->for_each([&](std::string const& name, std::string const&) { add(name); });
  }
  for (auto name : others) out.push_back(broker_entry(sources, name));
  return out;
}

std::vector<ConfigEntry> cluster_config_entries(ConfigContext const& context) {
  Sources const sources(context);
  std::vector<ConfigEntry> out;
  if (sources.of_cluster == nullptr) return out;
  sources.of_cluster->for_each([&](std::string const& name, std::string const& value) {
    auto entry = broker_entry(sources, name);
    std::erase_if(entry.synonyms, [](auto const& s) { return s.source != ConfigSource::dynamic_default_broker; });
    if (!entry.synonyms.empty()) entry.source = entry.synonyms.front().source;
    if (!entry.is_sensitive) entry.value = value;
    out.push_back(std::move(entry));
  });
  return out;
}

std::vector<ConfigEntry> group_config_entries(ConfigContext const& context, std::string_view group) {
  Sources const sources(context);
  auto const* own = context.image.find_configs(ConfigResourceType::group, group);
  std::vector<ConfigEntry> out;
  for (auto const& setting : group_settings()) {
    if (setting.is_internal) continue;
    std::string value(setting.default_text);
    std::vector<ConfigSynonym> synonyms;
    auto const keys = broker_keys_of(setting);
    if (keys.empty()) {
      synonyms.push_back({setting.name, value, ConfigSource::default_value});
    } else {
      auto const key = keys.front().name;
      synonyms = sources.synonyms(key, false);
      if (auto const of_broker = sources.value(key)) value = *of_broker;
    }
    auto const* set = own == nullptr ? nullptr : own->find(setting.name);
    if (set != nullptr) value = *set;
    auto entry = resource_entry(setting, value);
    entry.synonyms = std::move(synonyms);
    if (set != nullptr) put_first(entry, setting.name, value, ConfigSource::group);
    if (!entry.synonyms.empty()) entry.source = entry.synonyms.front().source;
    out.push_back(std::move(entry));
  }
  return out;
}

std::vector<ConfigEntry> client_metrics_config_entries(ConfigContext const& context, std::string_view name) {
  auto const* own = context.image.find_configs(ConfigResourceType::client_metrics, name);
  std::vector<ConfigEntry> out;
  for (auto const& setting : client_metrics_settings()) {
    auto const* set = own == nullptr ? nullptr : own->find(setting.name);
    auto entry = resource_entry(setting, set == nullptr ? setting.default_text : std::string_view(*set));
    entry.synonyms.push_back({setting.name, std::string(setting.default_text), ConfigSource::default_value});
    if (set != nullptr) put_first(entry, setting.name, *set, ConfigSource::client_metrics);
    entry.source = entry.synonyms.front().source;
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace millrace::metadata
