// Two clocks that do not convert. Mono: timeouts, leases, sessions. Wall: record timestamps and retention only.
#pragma once
#include <chrono>
#include <compare>
#include <cstdint>

namespace millrace {

using Duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

// A point on the node's monotonic clock; comparable only within one process life.
struct Mono {
  Duration since_start{};
  friend constexpr auto operator<=>(Mono, Mono) = default;
  friend constexpr Mono operator+(Mono a, Duration d) { return {a.since_start + d}; }
  friend constexpr Mono operator-(Mono a, Duration d) { return {a.since_start - d}; }
  friend constexpr Duration operator-(Mono a, Mono b) { return a.since_start - b.since_start; }
  static constexpr Mono never() { return {Duration::max()}; }
};

// Milliseconds since the Unix epoch, as record timestamps are. May jump.
struct Wall {
  int64_t ms{};
  friend constexpr auto operator<=>(Wall, Wall) = default;
};

constexpr int64_t to_ms(Duration d) { return std::chrono::duration_cast<std::chrono::milliseconds>(d).count(); }
constexpr Duration from_ms(int64_t ms) { return std::chrono::milliseconds(ms); }

}  // namespace millrace
