// Big-endian integers at an address, as Kafka's formats store them. The caller has checked that the bytes are there.
#pragma once
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace millrace {

namespace detail {
template <std::integral T>
constexpr T swap_bytes(T value) {
  using U = std::make_unsigned_t<T>;
  if constexpr (sizeof(T) == 1) return value;
  if constexpr (sizeof(T) == 2) return static_cast<T>(__builtin_bswap16(static_cast<U>(value)));
  if constexpr (sizeof(T) == 4) return static_cast<T>(__builtin_bswap32(static_cast<U>(value)));
  if constexpr (sizeof(T) == 8) return static_cast<T>(__builtin_bswap64(static_cast<U>(value)));
}
}  // namespace detail

template <std::integral T>
T load_be(std::byte const* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::little) value = detail::swap_bytes(value);
  return value;
}

template <std::integral T>
void store_be(std::byte* to, T value) {
  if constexpr (std::endian::native == std::endian::little) value = detail::swap_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

template <std::integral T>
T load_le(std::byte const* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  if constexpr (std::endian::native == std::endian::big) value = detail::swap_bytes(value);
  return value;
}

template <std::integral T>
void store_le(std::byte* to, T value) {
  if constexpr (std::endian::native == std::endian::big) value = detail::swap_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace millrace
