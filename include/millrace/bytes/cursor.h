// Reader and Writer: big-endian cursors over borrowed bytes, as the Kafka protocol and log files lay them out.
#pragma once
#include <bit>
#include <cstring>
#include <type_traits>

#include "millrace/base/assert.h"
#include "millrace/base/ids.h"
#include "millrace/bytes/varint.h"
#include "millrace/bytes/view.h"

namespace millrace {

namespace detail {
template <class T>
constexpr T byte_swap(T value) {
  static_assert(std::is_unsigned_v<T> && std::endian::native == std::endian::little);
  if constexpr (sizeof(T) == 1)
    return value;
  else if constexpr (sizeof(T) == 2)
    return __builtin_bswap16(value);
  else if constexpr (sizeof(T) == 4)
    return __builtin_bswap32(value);
  else
    return __builtin_bswap64(value);
}
}  // namespace detail

// Reads untrusted bytes. A read past the end, or a varint that is too long, returns zero or empty and makes the reader
// fail for good: nothing is left, and ok() is false. So a caller reads a whole structure and checks once. Views that it
// returns live as long as the bytes under it.
class Reader {
 public:
  Reader() = default;
  explicit Reader(ByteView bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return !failed_; }
  void fail() {
    at_ = end_;
    failed_ = true;
  }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  size_t position() const { return static_cast<size_t>(at_ - begin_); }  // meaningless after a failure
  bool at_end() const { return at_ == end_; }

  uint8_t u8() { return number<uint8_t>(); }
  int8_t i8() { return static_cast<int8_t>(number<uint8_t>()); }
  bool boolean() { return number<uint8_t>() != 0; }
  uint16_t u16() { return number<uint16_t>(); }
  int16_t i16() { return static_cast<int16_t>(number<uint16_t>()); }
  uint32_t u32() { return number<uint32_t>(); }
  int32_t i32() { return static_cast<int32_t>(number<uint32_t>()); }
  uint64_t u64() { return number<uint64_t>(); }
  int64_t i64() { return static_cast<int64_t>(number<uint64_t>()); }
  double f64() { return std::bit_cast<double>(number<uint64_t>()); }
  Uuid uuid() {
    Uuid id;
    if (auto const view = bytes(id.bytes.size()); !view.empty()) std::memcpy(id.bytes.data(), view.data(), view.size());
    return id;
  }
  uint32_t uvarint() { return long_number<uint32_t, kVarint32BytesMax>(); }
  int32_t varint() { return unzigzag(uvarint()); }
  uint64_t uvarlong() { return long_number<uint64_t, kVarint64BytesMax>(); }
  int64_t varlong() { return unzigzag(uvarlong()); }

  ByteView bytes(size_t count) {
    if (count > remaining()) {
      fail();
      return {};
    }
    ByteView const view(at_, count);
    at_ += count;
    return view;
  }
  void skip(size_t count) { static_cast<void>(bytes(count)); }
  ByteView rest() { return bytes(remaining()); }

 private:
  template <class T>
  T number() {
    if (remaining() < sizeof(T)) [[unlikely]] {
      fail();
      return 0;
    }
    T raw;
    std::memcpy(&raw, at_, sizeof(T));
    at_ += sizeof(T);
    return detail::byte_swap(raw);
  }
  template <class T, size_t kBytesMax>
  T long_number() {
    T value = 0;
    for (size_t i = 0; i < kBytesMax; ++i) {
      if (at_ == end_) break;
      auto const byte = static_cast<uint8_t>(*at_++);
      value |= static_cast<T>(static_cast<T>(byte & 0x7f) << (7 * i));
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  std::byte const* begin_ = nullptr;
  std::byte const* at_ = nullptr;
  std::byte const* end_ = nullptr;
  bool failed_ = false;
};

// Writes into bytes of the right size: the caller measured first, so running over the end is our bug and asserted.
class Writer {
 public:
  Writer() = default;
  explicit Writer(MutableByteView bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  size_t position() const { return static_cast<size_t>(at_ - begin_); }
  size_t remaining() const { return static_cast<size_t>(end_ - at_); }
  ByteView written() const { return {begin_, position()}; }

  void u8(uint8_t value) { number(value); }
  void i8(int8_t value) { number(static_cast<uint8_t>(value)); }
  void boolean(bool value) { number(static_cast<uint8_t>(value ? 1 : 0)); }
  void u16(uint16_t value) { number(value); }
  void i16(int16_t value) { number(static_cast<uint16_t>(value)); }
  void u32(uint32_t value) { number(value); }
  void i32(int32_t value) { number(static_cast<uint32_t>(value)); }
  void u64(uint64_t value) { number(value); }
  void i64(int64_t value) { number(static_cast<uint64_t>(value)); }
  void f64(double value) { number(std::bit_cast<uint64_t>(value)); }
  void uuid(Uuid const& id) { bytes(std::as_bytes(std::span(id.bytes))); }
  void uvarint(uint32_t value) { uvarlong(value); }
  void varint(int32_t value) { uvarlong(zigzag(value)); }
  void uvarlong(uint64_t value) {
    while (value >= 0x80) {
      number(static_cast<uint8_t>(value | 0x80));
      value >>= 7;
    }
    number(static_cast<uint8_t>(value));
  }
  void varlong(int64_t value) { uvarlong(zigzag(value)); }
  void bytes(ByteView view) {
    if (view.empty()) return;
    MR_ASSERT(view.size() <= remaining());
    std::memcpy(at_, view.data(), view.size());
    at_ += view.size();
  }
  void text(std::string_view view) { bytes(as_bytes(view)); }

 private:
  template <class T>
  void number(T value) {
    MR_ASSERT(sizeof(T) <= remaining());
    auto const raw = detail::byte_swap(value);
    std::memcpy(at_, &raw, sizeof(T));
    at_ += sizeof(T);
  }

  std::byte* begin_ = nullptr;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace millrace
