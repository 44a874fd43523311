// Strong ids and quantities: an offset is not a file position and neither is a size.
#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "millrace/base/result.h"

namespace millrace {

// An ordered quantity: differences and steps are plain integers.
template <class Tag, class Rep>
struct Quantity {
  using rep = Rep;
  Rep value{};
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Rep n) { return Quantity(static_cast<Rep>(a.value + n)); }
  friend constexpr Quantity operator-(Quantity a, Rep n) { return Quantity(static_cast<Rep>(a.value - n)); }
  friend constexpr Rep operator-(Quantity a, Quantity b) { return static_cast<Rep>(a.value - b.value); }
  constexpr Quantity& operator+=(Rep n) { value = static_cast<Rep>(value + n); return *this; }
};

using Offset = Quantity<struct OffsetTag, int64_t>;            // of a record in a partition
using Position = Quantity<struct PositionTag, int64_t>;        // byte in a file
using LeaderEpoch = Quantity<struct LeaderEpochTag, int32_t>;  // -1: unknown
using BrokerId = Quantity<struct BrokerIdTag, int32_t>;        // -1: none
using ProducerId = Quantity<struct ProducerIdTag, int64_t>;    // -1: none
using ProducerEpoch = Quantity<struct ProducerEpochTag, int16_t>;

inline constexpr LeaderEpoch kNoLeaderEpoch{-1};
inline constexpr BrokerId kNoBroker{-1};
inline constexpr ProducerId kNoProducerId{-1};

// 16 bytes as on the wire; text form is Kafka's unpadded url-safe base64 (22 characters).
struct Uuid {
  std::array<uint8_t, 16> bytes{};
  friend constexpr auto operator<=>(Uuid const&, Uuid const&) = default;
  constexpr bool is_zero() const { return bytes == std::array<uint8_t, 16>{}; }
  std::string text() const;
  static Result<Uuid> parse(std::string_view text);
};
using TopicId = Uuid;
using DirectoryId = Uuid;

struct TopicPartition {
  std::string topic;
  int32_t partition{};
  friend auto operator<=>(TopicPartition const&, TopicPartition const&) = default;
};

struct TopicIdPartition {
  TopicId topic_id;
  int32_t partition{};
  friend constexpr auto operator<=>(TopicIdPartition const&, TopicIdPartition const&) = default;
};

}  // namespace millrace

template <class Tag, class Rep>
struct std::hash<millrace::Quantity<Tag, Rep>> {
  size_t operator()(millrace::Quantity<Tag, Rep> q) const noexcept { return std::hash<Rep>{}(q.value); }
};
template <>
struct std::hash<millrace::Uuid> {
  size_t operator()(millrace::Uuid const& id) const noexcept {
    return std::hash<std::string_view>{}({reinterpret_cast<char const*>(id.bytes.data()), id.bytes.size()});
  }
};
template <>
struct std::hash<millrace::TopicIdPartition> {
  size_t operator()(millrace::TopicIdPartition const& p) const noexcept {
    return std::hash<millrace::Uuid>{}(p.topic_id) * 31 + static_cast<size_t>(p.partition);
  }
};
template <class Tag, class Rep>
struct fmt::formatter<millrace::Quantity<Tag, Rep>> : fmt::formatter<Rep> {
  auto format(millrace::Quantity<Tag, Rep> q, format_context& ctx) const {
    return fmt::formatter<Rep>::format(q.value, ctx);
  }
};
template <>
struct fmt::formatter<millrace::Uuid> : fmt::formatter<std::string> {
  auto format(millrace::Uuid const& id, format_context& ctx) const {
    return fmt::formatter<std::string>::format(id.text(), ctx);
  }
};
