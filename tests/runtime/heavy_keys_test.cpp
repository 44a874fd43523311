// Proves that the heaviest keys are found with few counters, and that the bounds of their counts hold.
#include "millrace/runtime/heavy_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "millrace/base/random.h"

namespace millrace::runtime {
namespace {

TEST(HeavyKeys, counts_are_exact_while_there_is_room) {
  HeavyKeys keys(3);
  for (auto const* key : {"a", "b", "a", "c", "a", "b"}) keys.add(key);
  auto const top = keys.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "a");
  EXPECT_EQ(top[0].count, 3);
  EXPECT_EQ(top[0].error, 0);
  EXPECT_EQ(top[1].key, "b");
  EXPECT_EQ(keys.total(), 6);
}

TEST(HeavyKeys, whatever_is_heavier_than_its_share_is_found_among_many) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    HeavyKeys keys(100);
    std::map<std::string, int64_t> truth;
    for (int i = 0; i < 50'000; ++i) {
      auto const roll = random.below(100);
      auto const key = roll < 20 ? std::string("hot") : roll < 25 ? "warm" : "key-" + std::to_string(random.below(20'000));
      keys.add(key);
      ++truth[key];
    }
    auto const top = keys.top(2);
    EXPECT_EQ(top[0].key, "hot") << "seed " << seed;
    EXPECT_EQ(top[1].key, "warm") << "seed " << seed;
    for (auto const& one : keys.top(100)) {
      EXPECT_GE(one.count, truth[one.key]) << "seed " << seed;
      EXPECT_LE(one.count - one.error, truth[one.key]) << "seed " << seed;
    }
  }
}

TEST(HeavyKeys, long_keys_take_no_more_room_than_their_beginning) {
  HeavyKeys keys(2);
  keys.add(std::string(1'000'000, 'x'));
  EXPECT_EQ(keys.top(1)[0].key.size(), HeavyKeys::kKeyBytesMax);
}

}  // namespace
}  // namespace millrace::runtime
