// XXH3 with 64-bit output, seed 0 and the default secret, in portable scalar code.
#include <array>
#include <cstring>

#include "millrace/bytes/hash.h"

namespace millrace {

namespace {

constexpr uint32_t kPrime32_1 = 0x9e3779b1;
constexpr uint32_t kPrime32_2 = 0x85ebca77;
constexpr uint32_t kPrime32_3 = 0xc2b2ae3d;
constexpr uint64_t kPrime64_1 = 0x9e3779b185ebca87;
constexpr uint64_t kPrime64_2 = 0xc2b2ae3d27d4eb4f;
constexpr uint64_t kPrime64_3 = 0x165667b19e3779f9;
constexpr uint64_t kPrime64_4 = 0x85ebca77c2b2ae63;
constexpr uint64_t kPrime64_5 = 0x27d4eb2f165667c5;
constexpr uint64_t kPrimeMx1 = 0x165667919e3779f9;
constexpr uint64_t kPrimeMx2 = 0x9fb21c651e98df25;

constexpr std::array<uint8_t, 192> kSecret{
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4,
    0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43,
    0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19,
    0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78,
    0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16,
    0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

constexpr size_t kStripeBytes = 64;
constexpr size_t kSecretStep = 8;
constexpr size_t kSecretBytesMin = 136;

uint32_t read32(std::byte const* at) {
  uint32_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
uint64_t read64(std::byte const* at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}
std::byte const* secret(size_t at) { return reinterpret_cast<std::byte const*>(kSecret.data()) + at; }

// The 128-bit product, its halves folded together.
uint64_t multiply_fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  auto const product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}
uint64_t avalanche(uint64_t hash) {
  hash ^= hash >> 37;
  hash *= kPrimeMx1;
  return hash ^ hash >> 32;
}
uint64_t avalanche_64(uint64_t hash) {
  hash ^= hash >> 33;
  hash *= kPrime64_2;
  hash ^= hash >> 29;
  hash *= kPrime64_3;
  return hash ^ hash >> 32;
}
uint64_t rotate_left(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

uint64_t hash_to_16(std::byte const* in, size_t size) {
  if (size > 8) {
    auto const flip_low = read64(secret(24)) ^ read64(secret(32));
    auto const flip_high = read64(secret(40)) ^ read64(secret(48));
    auto const low = read64(in) ^ flip_low;
    auto const high = read64(in + size - 8) ^ flip_high;
    return avalanche(size + __builtin_bswap64(low) + high + multiply_fold(low, high));
  }
  if (size >= 4) {
    auto const flip = read64(secret(8)) ^ read64(secret(16));
    auto const value = read32(in + size - 4) + (static_cast<uint64_t>(read32(in)) << 32);
    auto hash = value ^ flip;
    hash ^= rotate_left(hash, 49) ^ rotate_left(hash, 24);
    hash *= kPrimeMx2;
    hash ^= (hash >> 35) + size;
    hash *= kPrimeMx2;
    return hash ^ hash >> 28;
  }
  if (size > 0) {
    auto const first = static_cast<uint32_t>(in[0]);
    auto const middle = static_cast<uint32_t>(in[size >> 1]);
    auto const last = static_cast<uint32_t>(in[size - 1]);
    auto const value = first << 16 | middle << 24 | last | static_cast<uint32_t>(size) << 8;
    return avalanche_64(value ^ static_cast<uint64_t>(read32(secret(0)) ^ read32(secret(4))));
  }
  return avalanche_64(read64(secret(56)) ^ read64(secret(64)));
}

uint64_t mix16(std::byte const* in, size_t secret_at) {
  return multiply_fold(read64(in) ^ read64(secret(secret_at)), read64(in + 8) ^ read64(secret(secret_at + 8)));
}

uint64_t hash_to_240(std::byte const* in, size_t size) {
  auto hash = size * kPrime64_1;
  if (size <= 128) {
    for (size_t i = (size - 1) / 32 + 1; i-- > 0;) {
      hash += mix16(in + 16 * i, 32 * i);
      hash += mix16(in + size - 16 * (i + 1), 32 * i + 16);
    }
    return avalanche(hash);
  }
  for (size_t i = 0; i < 8; ++i) hash += mix16(in + 16 * i, 16 * i);
  hash = avalanche(hash);
  for (size_t i = 8; i < size / 16; ++i) hash += mix16(in + 16 * i, 16 * (i - 8) + 3);
  hash += mix16(in + size - 16, kSecretBytesMin - 17);
  return avalanche(hash);
}

using Lanes = std::array<uint64_t, 8>;

void accumulate(Lanes& lanes, std::byte const* in, size_t secret_at) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    auto const value = read64(in + 8 * i);
    auto const keyed = value ^ read64(secret(secret_at + 8 * i));
    lanes[i ^ 1] += value;
    lanes[i] += (keyed & 0xffffffff) * (keyed >> 32);
  }
}

uint64_t hash_long(std::byte const* in, size_t size) {
  Lanes lanes{kPrime32_3, kPrime64_1, kPrime64_2, kPrime64_3, kPrime64_4, kPrime32_2, kPrime64_5, kPrime32_1};
  constexpr size_t kStripesPerBlock = (kSecret.size() - kStripeBytes) / kSecretStep;
  constexpr size_t kBlockBytes = kStripeBytes * kStripesPerBlock;
  auto const block_count = (size - 1) / kBlockBytes;
  for (size_t block = 0; block < block_count; ++block) {
    for (size_t i = 0; i < kStripesPerBlock; ++i) {
      accumulate(lanes, in + block * kBlockBytes + i * kStripeBytes, i * kSecretStep);
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] ^= lanes[i] >> 47;
      lanes[i] ^= read64(secret(kSecret.size() - kStripeBytes + 8 * i));
      lanes[i] *= kPrime32_1;
    }
  }
  auto const stripe_count = (size - 1 - kBlockBytes * block_count) / kStripeBytes;
  for (size_t i = 0; i < stripe_count; ++i) {
    accumulate(lanes, in + block_count * kBlockBytes + i * kStripeBytes, i * kSecretStep);
  }
  accumulate(lanes, in + size - kStripeBytes, kSecret.size() - kStripeBytes - 7);

  auto hash = size * kPrime64_1;
  for (size_t i = 0; i < 4; ++i) {
    hash += multiply_fold(lanes[2 * i] ^ read64(secret(11 + 16 * i)), lanes[2 * i + 1] ^ read64(secret(19 + 16 * i)));
  }
  return avalanche(hash);
}

}  // namespace

uint64_t xxh3_64(ByteView bytes) {
  if (bytes.size() <= 16) return hash_to_16(bytes.data(), bytes.size());
  if (bytes.size() <= 240) return hash_to_240(bytes.data(), bytes.size());
  return hash_long(bytes.data(), bytes.size());
}

}  // namespace millrace
