// Proves that PersistentMap agrees with std::map under random changes, that older copies never change, and that its
// shape depends on its contents only.
#include "millrace/metadata/persistent_map.h"

#include <gtest/gtest.h>

#include <map>

#include "millrace/base/random.h"

namespace millrace::metadata {
namespace {

using Map = PersistentMap<std::string, int>;

std::map<std::string, int> contents(Map const& map) {
  std::map<std::string, int> out;
  map.for_each([&](std::string const& k, int v) { out.emplace(k, v); });
  return out;
}

TEST(PersistentMap, AgreesWithStdMapAndOldCopiesStay) {
  Random random(8123);
  Map map;
  std::map<std::string, int> model;
  std::vector<std::pair<Map, std::map<std::string, int>>> copies;
  for (int step = 0; step < 3000; ++step) {
    auto const key = fmt::format("topic-{}", random.below(200));
    if (random.chance(0.6)) {
      map.set(key, step);
      model[key] = step;
    } else {
      map.remove(key);
      model.erase(key);
    }
    ASSERT_TRUE(map.is_well_formed());
    ASSERT_EQ(map.size(), model.size());
    if (step % 100 == 0) copies.emplace_back(map, model);
  }
  ASSERT_EQ(contents(map), model);
  for (auto const& [copy, then] : copies) ASSERT_EQ(contents(copy), then);
}

TEST(PersistentMap, WalksFromAKeyAndStopsWhenTold) {
  Map map;
  for (int i = 0; i < 100; ++i) map.set(fmt::format("{:02}", i), i);
  std::vector<int> seen;
  EXPECT_FALSE(map.for_each_from(std::string_view("42x"), [&](std::string const&, int v) {
    seen.push_back(v);
    return v < 45;
  }));
  EXPECT_EQ(seen, (std::vector<int>{43, 44, 45}));
}

TEST(PersistentMap, FindsWithoutMakingAKey) {
  auto const map = Map().with("a", 1).with("b", 2);
  ASSERT_NE(map.find(std::string_view("b")), nullptr);
  EXPECT_EQ(*map.find(std::string_view("b")), 2);
  EXPECT_EQ(map.find(std::string_view("c")), nullptr);
  EXPECT_TRUE(map.without("c").is_same_tree(map));
}

}  // namespace
}  // namespace millrace::metadata
