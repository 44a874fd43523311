// A node's configuration: Kafka's keys from a file, the environment and the command line, checked, with the place that
// each value came from.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/server/settings.h"

namespace millrace::server {

// Later ones win.
enum class Origin { default_value, file, environment, command_line };

struct ConfiguredValue {
  std::string text;
  Origin origin = Origin::default_value;
  std::string place;  // "server.properties:12", "MILLRACE_LOG_DIRS", "-o"
};

struct ConfigurationSources {
  std::string file_name;     // for messages; `.yaml` and `.yml` are YAML, anything else is a properties file
  std::string file_content;  // empty: no file
  std::vector<std::pair<std::string, std::string>> environment;  // name, value: all of them
  std::vector<std::string> overrides;                            // key=value
};

class Configuration {
 public:
  // Every problem that there is, one a line, in the error.
  static Result<Configuration> load(ConfigurationSources const& sources);

  // What was set, by key. Keys with a listener's prefix keep it.
  std::map<std::string, ConfiguredValue, std::less<>> const& values() const { return values_; }
  std::vector<std::string> const& warnings() const { return warnings_; }

  bool is_set(std::string_view key) const { return values_.find(key) != values_.end(); }
  // The value or the default; none when it has neither. `key` is a known one.
  std::optional<std::string> text(std::string_view key) const;
  std::string text_or_empty(std::string_view key) const { return text(key).value_or(""); }
  int64_t integer(std::string_view key) const;
  bool boolean(std::string_view key) const;
  double real(std::string_view key) const;
  std::vector<std::string> list(std::string_view key) const;

 private:
  std::map<std::string, ConfiguredValue, std::less<>> values_;
  std::vector<std::string> warnings_;
};

struct FileEntry {
  std::string key;
  std::string value;
  size_t line{};
};

// Java's properties format: `key=value`, `key: value` or `key value`; # and ! comments; \ continues a line.
Result<std::vector<FileEntry>> parse_properties(std::string_view content);
// Maps nest to dotted keys, sequences become lists.
Result<std::vector<FileEntry>> parse_yaml(std::string const& content);

}  // namespace millrace::server
