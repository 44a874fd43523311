// Proves that an arena keeps to its limit, that what it hands out does not overlap, and that reset gives memory back.
#include "millrace/bytes/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "millrace/base/random.h"

namespace millrace {
namespace {

TEST(Arena, PiecesDoNotOverlapAndAreAligned) {
  Random random(7);
  Arena arena;
  std::vector<std::pair<unsigned char*, size_t>> pieces;
  for (int i = 0; i < 2000; ++i) {
    auto const size = static_cast<size_t>(random.below(i % 50 == 0 ? 200'000 : 300)) + 1;
    auto const alignment = size_t{1} << random.below(5);
    auto* const piece = static_cast<unsigned char*>(arena.allocate(size, alignment));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignment, 0u);
    std::memset(piece, i & 0xff, size);
    pieces.emplace_back(piece, size);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].first[0], i & 0xff);
    EXPECT_EQ(pieces[i].first[pieces[i].second - 1], i & 0xff);
  }
}

TEST(Arena, LimitHolds) {
  for (size_t limit : {0u, 10u, 16u, 17u, 1000u, 1024u, 5000u, 100'000u}) {
    Arena arena(limit);
    size_t given = 0;
    while (arena.try_allocate(24, 8) != nullptr) given += 24;
    EXPECT_LE(arena.allocated_bytes(), limit);
    EXPECT_LE(given, limit);
    if (limit >= 1000) {
      EXPECT_GT(given, limit * 9 / 10);
    }
    EXPECT_EQ(arena.try_allocate(std::numeric_limits<size_t>::max() - 8, 1), nullptr);
  }
}

TEST(Arena, LittleIsLeftOver) {
  Random random(11);
  for (size_t size_max : {10u, 100u, 2000u, 5000u, 20'000u}) {
    Arena arena;
    size_t given = 0;
    while (given < 1'000'000) {
      auto const size = static_cast<size_t>(random.below(size_max)) + 1;
      static_cast<void>(arena.allocate(size, 1));
      given += size;
      EXPECT_LE(arena.allocated_bytes(), given * 4 / 3 + given / 64 + Arena::kChunkBytesMax + Arena::kFirstChunkBytes);
    }
  }
}

TEST(Arena, ResetKeepsOneChunk) {
  Arena arena;
  static_cast<void>(arena.array<int64_t>(100'000));
  static_cast<void>(arena.copy(Str("text")));
  arena.reset();
  EXPECT_LE(arena.allocated_bytes(), Arena::kChunkBytesMax);
  auto const after = arena.allocated_bytes();
  EXPECT_EQ(arena.array<int32_t>(10).size(), 10u);
  EXPECT_EQ(arena.allocated_bytes(), after);
}

TEST(Arena, BuilderGrows) {
  Arena arena;
  ArrayBuilder<int32_t> builder(arena);
  for (int32_t i = 0; i < 1000; ++i) builder.add(i);
  auto const array = builder.finish();
  ASSERT_EQ(array.size(), 1000u);
  for (int32_t i = 0; i < 1000; ++i) EXPECT_EQ(array[static_cast<size_t>(i)], i);
  EXPECT_TRUE(builder.empty());
  EXPECT_FALSE(array.is_null());
  EXPECT_TRUE(Array<int32_t>(kNullArray).is_null());
}

}  // namespace
}  // namespace millrace
