#include "millrace/metadata/topic_name.h"

#include <algorithm>

namespace millrace::metadata {

std::optional<std::string> check_topic_name(std::string_view name) {
  if (name.empty()) return "Topic name is invalid: the empty string is not allowed";
  if (name == "." || name == "..") return "Topic name is invalid: '.' or '..' is not allowed";
  if (name.size() > kTopicNameLengthMax) {
    return fmt::format("Topic name is invalid: the length of '{}' is longer than the max allowed length {}", name,
                       kTopicNameLengthMax);
  }
  auto const is_legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  if (!std::all_of(name.begin(), name.end(), is_legal)) {
    return fmt::format("Topic name is invalid: '{}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
                       name);
  }
  return std::nullopt;
}

bool has_collision_chars(std::string_view name) { return name.find_first_of("._") != std::string_view::npos; }

bool topic_names_collide(std::string_view a, std::string_view b) {
  auto const same = [](char x, char y) { return x == y || ((x == '.' || x == '_') && (y == '.' || y == '_')); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

bool is_internal_topic(std::string_view name) {
  return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state";
}

}  // namespace millrace::metadata
