#include "millrace/bytes/hash.h"

#include <array>
#include <cstring>

namespace millrace {

namespace {

template <class T>
T little_endian(std::byte const* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

}  // namespace

int32_t murmur2(ByteView bytes) {
  constexpr uint32_t kSeed = 0x9747b28c;
  constexpr uint32_t kFactor = 0x5bd1e995;
  auto hash = kSeed ^ static_cast<uint32_t>(bytes.size());
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4) {
    auto word = little_endian<uint32_t>(bytes.data() + i) * kFactor;
    word ^= word >> 24;
    hash = hash * kFactor ^ word * kFactor;
  }
  if (i < bytes.size()) {
    for (auto k = bytes.size(); k > i; --k) hash ^= static_cast<uint32_t>(bytes[k - 1]) << (8 * (k - 1 - i));
    hash *= kFactor;
  }
  hash ^= hash >> 13;
  hash *= kFactor;
  hash ^= hash >> 15;
  return static_cast<int32_t>(hash);
}

int32_t java_string_hash(std::string_view text) {
  uint32_t hash = 0;
  auto const add = [&](uint32_t unit) { hash = hash * 31 + unit; };
  for (size_t i = 0; i < text.size();) {
    auto const lead = static_cast<uint8_t>(text[i]);
    auto const length = lead < 0x80 ? 1u : lead < 0xe0 ? 2u : lead < 0xf0 ? 3u : 4u;
    uint32_t code = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t k = 1; k < length && i + k < text.size(); ++k)
      code = code << 6 | (static_cast<uint8_t>(text[i + k]) & 63);
    i += length;
    if (code < 0x10000) {
      add(code);
    } else {
      add(0xd800 + ((code - 0x10000) >> 10));
      add(0xdc00 + ((code - 0x10000) & 0x3ff));
    }
  }
  return static_cast<int32_t>(hash);
}

}  // namespace millrace
