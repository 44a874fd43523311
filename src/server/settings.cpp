#include "millrace/server/settings.h"

#include <charconv>
#include <cmath>

#include "kafka_settings.h"

namespace millrace::server {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string range_text(KnownSetting const& known) {
  auto const& s = known.setting;
  auto const low = s.minimum > std::numeric_limits<double>::lowest() ? fmt::format("at least {}", s.minimum) : "";
  auto const high = s.maximum < std::numeric_limits<double>::max() ? fmt::format("at most {}", s.maximum) : "";
  return fmt::format("{}{}{}{}", low, low.empty() || high.empty() ? "" : " and ", high,
                     known.has(kOrMinusOne) ? ", or -1" : "");
}

std::string remedy(KnownSetting const& known) {
  auto const& s = known.setting;
  return s.is_unset_by_default ? "; or leave it out" : fmt::format("; or leave it out for the default, {}",
                                                                   s.default_text.empty() ? "nothing" : s.default_text);
}

std::optional<std::string> check_range(KnownSetting const& known, double value) {
  auto const& s = known.setting;
  if (value >= s.minimum && value <= s.maximum) return std::nullopt;
  if (known.has(kOrMinusOne) && value == -1) return std::nullopt;
  return "must be " + range_text(known) + remedy(known);
}

std::optional<std::string> check_integer(KnownSetting const& known, std::string_view text, int64_t lowest, int64_t highest) {
  auto const value = parse_integer(text);
  if (!value || *value < lowest || *value > highest) {
    return fmt::format("is not an integer from {} to {}{}", lowest, highest, remedy(known));
  }
  return check_range(known, static_cast<double>(*value));
}

std::optional<std::string> check_allowed(KnownSetting const& known, std::string_view value) {
  if (known.setting.allowed.empty()) return std::nullopt;
  for (auto const& allowed : parse_list(known.setting.allowed)) {
    if (allowed == value || (known.has(kAnyCase) && lowered(allowed) == lowered(value))) return std::nullopt;
  }
  return fmt::format("must be one of {}{}", known.setting.allowed, remedy(known));
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      auto const replaced = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

std::optional<bool> parse_boolean(std::string_view text) {
  auto const word = lowered(trimmed(text));
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_real(std::string_view text) {
  text = trimmed(text);
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<std::string> parse_list(std::string_view text) {
  std::vector<std::string> items;
  while (!trimmed(text).empty()) {
    auto const comma = std::min(text.find(','), text.size());
    items.emplace_back(trimmed(text.substr(0, comma)));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return items;
}

std::string shown(std::string_view text, size_t bytes_max) {
  std::string out;
  for (auto const c : text.substr(0, bytes_max)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  if (text.size() > bytes_max) out += "...";
  return out;
}

std::vector<KnownSetting const*> const& known_settings() {
  static auto const all = [] {
    std::vector<KnownSetting const*> settings;
    for (auto const& known : kafka_settings()) settings.push_back(&known);
    for (auto const& known : millrace_settings()) settings.push_back(&known);
    std::ranges::sort(settings, {}, [](auto const* known) { return known->setting.name; });
    return settings;
  }();
  return all;
}

KnownSetting const* find_setting(std::string_view name) {
  auto const& all = known_settings();
  auto const found = std::ranges::lower_bound(all, name, {}, [](auto const* known) { return known->setting.name; });
  return found != all.end() && (*found)->setting.name == name ? *found : nullptr;
}

std::optional<std::string_view> nearest_setting(std::string_view name) {
  constexpr size_t kNameBytesMax = 200;  // what a mistyped key may cost to compare
  if (name.size() > kNameBytesMax) return std::nullopt;
  auto const& all = known_settings();
  auto const wanted = lowered(name);
  auto const distance = [&](auto const* known) { return edit_distance(wanted, known->setting.name); };
  auto const* const nearest = *std::ranges::min_element(all, {}, distance);
  return distance(nearest) <= edit_distance_max(wanted) ? std::optional(nearest->setting.name) : std::nullopt;
}

std::optional<std::string> check_value(KnownSetting const& known, std::string_view text) {
  switch (known.setting.type) {
    case SettingType::boolean:
      if (!parse_boolean(text)) return "is neither true nor false" + remedy(known);
      return std::nullopt;
    case SettingType::int16: return check_integer(known, text, INT16_MIN, INT16_MAX);
    case SettingType::int32: return check_integer(known, text, INT32_MIN, INT32_MAX);
    case SettingType::int64: return check_integer(known, text, INT64_MIN, INT64_MAX);
    case SettingType::real: {
      auto const value = parse_real(text);
      return value ? check_range(known, *value) : std::optional("is not a number" + remedy(known));
    }
    case SettingType::list:
      for (auto const& item : parse_list(text)) {
        if (item.empty()) return "has an empty item; separate what it names with single commas";
        if (auto problem = check_allowed(known, item)) return problem;
      }
      return std::nullopt;
    case SettingType::string: return check_allowed(known, trimmed(text));
    case SettingType::password:
    case SettingType::klass: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace millrace::server
