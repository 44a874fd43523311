#include <bit>
#include <cstring>

#include "millrace/bytes/hash.h"

namespace millrace {
namespace {

struct Lanes {
  uint64_t a, b, c, d;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      a += b;
      b = std::rotl(b, 13) ^ a;
      a = std::rotl(a, 32);
      c += d;
      d = std::rotl(d, 16) ^ c;
      a += d;
      d = std::rotl(d, 21) ^ a;
      c += b;
      b = std::rotl(b, 17) ^ c;
      c = std::rotl(c, 32);
    }
  }
  void take(uint64_t word) {
    d ^= word;
    rounds(2);
    a ^= word;
  }
  uint64_t fold() const { return a ^ b ^ c ^ d; }
};

// Little-endian, as the paper has it.
uint64_t load_word(std::byte const* at, size_t count) {
  uint64_t word = 0;
  std::memcpy(&word, at, count);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

}  // namespace

Hash128 siphash128(ByteView bytes, SipKey key) {
  Lanes lanes{0x736f6d6570736575 ^ key.low, 0x646f72616e646f6d ^ key.high ^ 0xee, 0x6c7967656e657261 ^ key.low,
              0x7465646279746573 ^ key.high};
  auto const whole = bytes.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8) lanes.take(load_word(bytes.data() + i, 8));
  auto const left = bytes.size() - whole;
  lanes.take((uint64_t{bytes.size()} << 56) | (left > 0 ? load_word(bytes.data() + whole, left) : 0));
  lanes.c ^= 0xee;
  lanes.rounds(4);
  Hash128 out;
  out.low = lanes.fold();
  lanes.b ^= 0xdd;
  lanes.rounds(4);
  out.high = lanes.fold();
  return out;
}

}  // namespace millrace
