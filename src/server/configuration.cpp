#include "millrace/server/configuration.h"

#include "millrace/base/assert.h"
#include "settings_rules.h"

namespace millrace::server {

namespace {

constexpr std::string_view kEnvironmentPrefix = "MILLRACE_";
constexpr std::string_view kClientVariable = "MILLRACE_BOOTSTRAP";  // for the commands that are clients
constexpr std::string_view kListenerPrefix = "listener.name.";

// MILLRACE_LOG_DIRS is log.dirs: no key has an underscore or a capital.
std::string key_of_variable(std::string_view name) {
  std::string key(name.substr(kEnvironmentPrefix.size()));
  for (auto& c : key) {
    if (c == '_') c = '.';
    else if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

// The key proper of `listener.name.NAME[.MECHANISM].key`, which is one that Kafka lets differ between listeners.
std::string_view without_listener_prefix(std::string_view key) {
  if (!key.starts_with(kListenerPrefix)) return key;
  auto rest = key.substr(kListenerPrefix.size());
  while (true) {
    auto const dot = rest.find('.');
    if (dot == std::string_view::npos) return key;
    rest.remove_prefix(dot + 1);
    if (find_setting(rest) != nullptr) return rest;
  }
}

bool is_secret(std::string_view key) {
  auto const* const known = find_setting(without_listener_prefix(key));
  return known != nullptr && known->setting.type == SettingType::password;
}

class Loader {
 public:
  void take(std::string const& key, std::string const& value, Origin origin, std::string const& place) {
    auto const name = without_listener_prefix(key);
    auto const* const known = find_setting(name);
    if (known == nullptr) {
      auto const nearest = nearest_setting(key);
      auto text = fmt::format("{}: unknown key {}; {}", place, shown(key),
                              nearest ? fmt::format("the nearest one is {}", *nearest)
                                      : "none is like it, `millrace config reference` lists them all");
      // Variables may be there for something else.
      (origin == Origin::environment ? warnings : problems_).push_back(std::move(text));
      return;
    }
    if (auto const problem = check_value(*known, value)) {
      problems_.push_back(fmt::format("{}: {}={} {}", place, shown(key), is_secret(key) ? "[hidden]" : shown(value), *problem));
      return;
    }
    switch (known->support) {
      case Support::served: break;
      case Support::later:
        if (value != known->setting.default_text) warn(place, key, "has no effect in this version");
        break;
      case Support::jvm_only: warn(place, key, "means something to a JVM only and is ignored"); break;
      case Support::refused:
        if (value != known->setting.default_text) {
          problems_.push_back(fmt::format("{}: {} is not served by this version; leave it out", place, shown(key)));
        }
        return;
    }
    if (name.size() != key.size() && known->support == Support::served) {
      warn(place, key, "has no effect for a single listener in this version");
    }
    auto const [entry, is_new] = values.insert_or_assign(key, ConfiguredValue{value, origin, place});
    static_cast<void>(entry);
    if (!is_new && seen_in_[key] == origin) {
      warnings.push_back(fmt::format("{}: {} is set twice; the last value counts", place, shown(key)));
    }
    seen_in_[key] = origin;
  }

  void fail(std::string problem) { problems_.push_back(std::move(problem)); }
  std::optional<Error> error() const {
    if (problems_.empty()) return std::nullopt;
    std::string text;
    for (auto const& problem : problems_) text += (text.empty() ? "" : "\n") + problem;
    return Error{ErrorKind::invalid, std::move(text)};
  }

  std::map<std::string, ConfiguredValue, std::less<>> values;
  std::vector<std::string> warnings;

 private:
  void warn(std::string const& place, std::string const& key, std::string_view what) {
    warnings.push_back(fmt::format("{}: {} {}", place, shown(key), what));
  }

  std::vector<std::string> problems_;
  std::map<std::string, Origin> seen_in_;
};

}  // namespace

Result<Configuration> Configuration::load(ConfigurationSources const& sources) {
  Loader loader;
  if (!sources.file_content.empty()) {
    bool const is_yaml = sources.file_name.ends_with(".yaml") || sources.file_name.ends_with(".yml");
    auto const entries = is_yaml ? parse_yaml(sources.file_content) : parse_properties(sources.file_content);
    if (!entries) {
      loader.fail(fmt::format("{}: {}", sources.file_name, entries.error().message));
    } else {
      for (auto const& entry : *entries) {
        loader.take(entry.key, entry.value, Origin::file, fmt::format("{}:{}", sources.file_name, entry.line));
      }
    }
  }
  for (auto const& [name, value] : sources.environment) {
    if (name.starts_with(kEnvironmentPrefix) && name != kClientVariable) loader.take(key_of_variable(name), value, Origin::environment, name);
  }
  for (auto const& assignment : sources.overrides) {
    auto const equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      loader.fail(fmt::format("-o {}: not key=value", shown(assignment)));
      continue;
    }
    loader.take(assignment.substr(0, equals), assignment.substr(equals + 1), Origin::command_line, "-o");
  }
  if (auto error = loader.error()) return *std::move(error);
  Configuration configuration;
  configuration.values_ = std::move(loader.values);
  configuration.warnings_ = std::move(loader.warnings);
  for (auto& problem : broken_rules(configuration)) loader.fail(std::move(problem));
  if (auto error = loader.error()) return *std::move(error);
  for (auto& warning : odd_values(configuration)) configuration.warnings_.push_back(std::move(warning));
  return configuration;
}

std::optional<std::string> Configuration::text(std::string_view key) const {
  if (auto const found = values_.find(key); found != values_.end()) return found->second.text;
  auto const* const known = find_setting(key);
  MR_ASSERT(known != nullptr);
  if (known->setting.is_unset_by_default) return std::nullopt;
  return std::string(known->setting.default_text);
}

int64_t Configuration::integer(std::string_view key) const {
  auto const value = parse_integer(text_or_empty(key));
  MR_ASSERT(value.has_value());  // checked when it was set, and defaults are good
  return *value;
}

bool Configuration::boolean(std::string_view key) const {
  auto const value = parse_boolean(text_or_empty(key));
  MR_ASSERT(value.has_value());
  return *value;
}

double Configuration::real(std::string_view key) const {
  auto const value = parse_real(text_or_empty(key));
  MR_ASSERT(value.has_value());
  return *value;
}

std::vector<std::string> Configuration::list(std::string_view key) const { return parse_list(text_or_empty(key)); }

}  // namespace millrace::server
