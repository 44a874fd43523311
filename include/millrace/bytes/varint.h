// Kafka's variable-length integers: seven bits a byte, lowest first; signed ones in zigzag form. A 32-bit one takes at
// most 5 bytes and a 64-bit one at most 10. Bits of the last byte that do not fit are dropped, as Kafka drops them.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>

namespace millrace {

inline constexpr size_t kVarint32BytesMax = 5;
inline constexpr size_t kVarint64BytesMax = 10;

constexpr uint32_t zigzag(int32_t value) {
  return (static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31);
}
constexpr uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int32_t unzigzag(uint32_t value) { return static_cast<int32_t>((value >> 1) ^ (~(value & 1) + 1)); }
constexpr int64_t unzigzag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

constexpr size_t uvarint_bytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }
constexpr size_t varint_bytes(int32_t value) { return uvarint_bytes(zigzag(value)); }
constexpr size_t varlong_bytes(int64_t value) { return uvarint_bytes(zigzag(value)); }

}  // namespace millrace
