// The configuration keys that a node knows: Kafka's and its own.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/setting.h"

namespace millrace::server {

enum class Support : uint8_t {
  served,
  later,     // Kafka's, and this version does nothing with it: setting it warns
  jvm_only,  // means something to a JVM only: setting it warns
  refused,   // leaving it out of account could break a promise that its owner relies on: setting it is an error
};

enum SettingFlag : uint8_t {
  kUnset = 1,       // has no default
  kInternal = 2,    // Kafka does not document it
  kOrMinusOne = 4,  // -1 is allowed beside the range
  kAnyCase = 8,     // the allowed values in any case
};

struct KnownSetting {
  Setting setting;
  uint8_t flags = 0;
  Support support{};
  bool has(SettingFlag flag) const { return (flags & flag) != 0; }
};

// All, sorted by name.
std::vector<KnownSetting const*> const& known_settings();
// Null when the key is unknown.
KnownSetting const* find_setting(std::string_view name);
// Insertions, deletions, replacements and swaps of neighbours that make one word the other: how like they are.
size_t edit_distance(std::string_view a, std::string_view b);
// Beyond this it is another word than the one that was written, not a slip.
inline size_t edit_distance_max(std::string_view written) { return std::max<size_t>(2, written.size() / 4); }
// The known key that differs least from `name`; none when no key is like it.
std::optional<std::string_view> nearest_setting(std::string_view name);
// None when `text` is a good value, else what is wrong with it and what would be right.
std::optional<std::string> check_value(KnownSetting const& known, std::string_view text);

// Text as values are written: `true` in any case; decimal numbers; lists with commas, blanks around items dropped.
std::optional<bool> parse_boolean(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);
std::vector<std::string> parse_list(std::string_view text);

// All keys as Markdown tables: what they take, and what this version makes of them.
std::string settings_reference();

// For messages: control bytes as \xNN, and not more than so much of it. What is shown may come from anybody's file.
std::string shown(std::string_view text, size_t bytes_max = 200);

}  // namespace millrace::server
