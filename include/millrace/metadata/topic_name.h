// Rules for topic names.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace millrace::metadata {

inline constexpr size_t kTopicNameLengthMax = 249;

// Null when legal, else Kafka's message.
std::optional<std::string> check_topic_name(std::string_view name);
// '.' and '_' look alike in metric names: two topics may not differ only in them.
bool has_collision_chars(std::string_view name);
bool topic_names_collide(std::string_view a, std::string_view b);
// __consumer_offsets, __transaction_state and __share_group_state.
bool is_internal_topic(std::string_view name);

}  // namespace millrace::metadata
