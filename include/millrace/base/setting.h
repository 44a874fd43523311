// One configuration key: name, type, default, range, when a change takes effect, one sentence. The configuration
// reference, the parser and DescribeConfigs are all made from these.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace millrace {

enum class SettingType { boolean, string, int16, int32, int64, real, list, password, klass };
enum class SettingChange { restart, live };

struct Setting {
  std::string_view name;           // Kafka's name where Kafka has the thing, else millrace.*
  SettingType type{};
  std::string_view default_text;   // as it would be written in a file; meaningless when `is_unset_by_default`
  std::string_view sentence;       // one sentence for the reference
  SettingChange change = SettingChange::restart;
  double minimum = std::numeric_limits<double>::lowest();
  double maximum = std::numeric_limits<double>::max();
  std::string_view allowed = {};   // comma-separated values, empty: any
  bool is_unset_by_default = false;
};

}  // namespace millrace
