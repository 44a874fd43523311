// Proves XXH3 on both sides of each of its length classes against values of the reference implementation, and the
// string hashes at the edges that Kafka's own vectors do not reach.
#include "millrace/bytes/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

struct Expected {
  size_t size;
  uint64_t hash;
};

constexpr Expected kExpected[] = {
    {0, 0x2d06800538d394c2},    {1, 0x8a21d78b1538b1c0},    {3, 0xa3fe531c8676a3ff},    {4, 0x85543c55666bb354},
    {8, 0x70d12370c8ab8ff7},    {9, 0x940adb331664b60b},    {16, 0xf759f70cd6d4468c},   {17, 0xde1a12f1dc37a694},
    {32, 0xf4b07683c055841a},   {33, 0x4d7b30759322ff52},   {64, 0x41826ae114baab18},   {65, 0x8ba7b404514bcd9f},
    {96, 0xfb050e7eb674791e},   {97, 0xfcddfb2aae50f8a9},   {128, 0xb4d8febe31d4dbd2},  {129, 0xa0c2dac4b39faad0},
    {144, 0x074f74fb23a96b9b},  {239, 0xcaf9ef677d7eb072},  {240, 0x3cf827b2b3c184f7},  {241, 0x4202f9257d5a78b3},
    {511, 0x1afb2fccd8b0ea34},  {513, 0x13cb12ecee0fd47d},  {1023, 0x0b97675ca93c7f41}, {1024, 0xe224b0023690b3da},
    {1025, 0xf58bf12d1379c7c3}, {1088, 0x63fb7d786e00d44f}, {2049, 0xacfe7538ff5b2374}, {5000, 0x09a7caeaf6c0869e},
};

TEST(Hash, Xxh3) {
  for (auto const& [size, hash] : kExpected) {
    std::vector<std::byte> bytes(size);
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>((i * 7 + size * 13) % 251);
    EXPECT_EQ(xxh3_64(bytes), hash) << size;
  }
}

TEST(Hash, JavaString) {
  EXPECT_EQ(java_string_hash(""), 0);
  EXPECT_EQ(java_string_hash("polygenelubricants"), INT32_MIN);  // the one value that has no absolute value
  EXPECT_EQ(coordinator_partition("polygenelubricants", 50), 0);
  EXPECT_EQ(coordinator_partition("a", 50), 47);
}

// The first three vectors of the reference implementation: key 00 01 .. 0f, input 00 01 .. of that length.
TEST(Hash, siphash128_gives_the_published_values) {
  SipKey const key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::vector<std::byte> input;
  auto const next = [&] {
    auto const out = siphash128(input, key);
    input.push_back(static_cast<std::byte>(input.size()));
    return out;
  };
  EXPECT_EQ(next(), (Hash128{0xe6a825ba047f81a3, 0x930255c71472f66d}));
  EXPECT_EQ(next(), (Hash128{0x44af996bd8c187da, 0x45fc229b11597634}));
  EXPECT_EQ(next(), (Hash128{0xc75da4a48d227781, 0xe4ff0af6de8ba3fc}));
}

}  // namespace
}  // namespace millrace
