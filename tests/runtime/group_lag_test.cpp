// Proves what lag means: records and time since the first record that is not committed was appended, what retention took
// left out; and that a group is stuck only when its lag grew over the whole window without a commit that moved.
#include "millrace/runtime/group_lag.h"

#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

struct Source final : LagSource {
  std::optional<Marks> find(GroupOffset const& offset) override {
    if (offset.topic != "orders") return std::nullopt;
    return Marks{Offset(start), Offset(end)};
  }
  // Record n was appended at second n.
  std::optional<int64_t> append_time_ms(Offset offset) override {
    ++lookups;
    return offset.value * 1000;
  }
  int64_t start = 0, end = 100;
  int lookups = 0;
};

struct GroupLagTest : testing::Test {
  PartitionLag one(int64_t committed) {
    auto const lags =
        tracker.update({{"g", "Stable", 1, {{"orders", {}, 0, Offset(committed)}}}}, true, source, now, Wall{wall_ms});
    EXPECT_EQ(lags.size(), 1u);
    return lags.at(0).partitions.at(0);
  }
  void pass(Duration time) {
    now = now + time;
    wall_ms += to_ms(time);
  }
  LagTracker tracker{60s};
  Source source;
  Mono now{1000s};
  int64_t wall_ms = 200'000;
};

TEST_F(GroupLagTest, records_and_time_since_the_first_uncommitted_record) {
  auto const lag = one(90);
  EXPECT_EQ(lag.end, Offset(100));
  EXPECT_EQ(lag.lag_records, 10);
  EXPECT_EQ(lag.lag_ms, 110'000);
  EXPECT_EQ(one(100).lag_records, 0);
  EXPECT_EQ(one(100).lag_ms, 0);
  EXPECT_EQ(one(101).lag_records, 0);
}

TEST_F(GroupLagTest, time_goes_on_while_nothing_is_committed_and_the_log_is_asked_once) {
  one(90);
  pass(5s);
  EXPECT_EQ(one(90).lag_ms, 115'000);
  EXPECT_EQ(source.lookups, 1);
  EXPECT_EQ(one(91).lag_ms, 114'000);
}

TEST_F(GroupLagTest, what_retention_took_does_not_wait) {
  source.start = 95;
  EXPECT_EQ(one(10).lag_records, 90);
  EXPECT_EQ(one(10).lag_ms, 105'000);
  source.start = 100;
  EXPECT_EQ(one(10).lag_ms, 0);
}

TEST_F(GroupLagTest, a_clock_behind_the_appends_gives_no_negative_time) {
  wall_ms = 1000;
  EXPECT_EQ(one(90).lag_ms, 0);
}

TEST_F(GroupLagTest, stuck_needs_growth_and_the_whole_window) {
  EXPECT_FALSE(one(90).is_stuck);
  pass(61s);
  EXPECT_FALSE(one(90).is_stuck);  // nothing was appended either
  source.end = 101;
  EXPECT_TRUE(one(90).is_stuck);
  EXPECT_FALSE(one(91).is_stuck);  // it moved
  source.end = 110;
  pass(59s);
  EXPECT_FALSE(one(91).is_stuck);
  pass(1s);
  EXPECT_TRUE(one(91).is_stuck);
}

TEST_F(GroupLagTest, a_group_that_has_caught_up_is_not_stuck_by_what_comes_later) {
  one(100);
  pass(600s);
  EXPECT_FALSE(one(100).is_stuck);
  source.end = 101;
  EXPECT_FALSE(one(100).is_stuck);
  pass(60s);
  EXPECT_TRUE(one(100).is_stuck);
}

TEST_F(GroupLagTest, a_slow_group_is_not_stuck) {
  for (int64_t i = 0; i < 100; ++i) {
    source.end += 10;
    EXPECT_FALSE(one(i).is_stuck);
    pass(59s);
  }
}

TEST_F(GroupLagTest, a_partition_that_is_elsewhere_has_no_figures) {
  auto const lags = tracker.update({{"g", "Stable", 1, {{"other", {}, 3, Offset(5)}}}}, true, source, now, Wall{1});
  EXPECT_FALSE(lags[0].partitions[0].end.has_value());
}

TEST_F(GroupLagTest, what_is_gone_is_forgotten_but_not_by_a_look_at_another_group) {
  one(90);
  pass(61s);
  source.end = 200;
  tracker.update({{"h", "Empty", 0, {}}}, false, source, now, Wall{wall_ms});
  EXPECT_TRUE(one(90).is_stuck);
  tracker.update({{"h", "Empty", 0, {}}}, true, source, now, Wall{wall_ms});
  EXPECT_FALSE(one(90).is_stuck);
}

TEST(CoordinatorFiguresTest, what_is_too_much_is_left_out_in_the_order_of_names_and_counted) {
  CoordinatorFigures figures;
  figures.add({.groups = {{"b", "Empty", 0, std::vector<GroupOffset>(5)}}, .coordinators = 1});
  figures.add({.groups = {{"a", "Empty", 0, std::vector<GroupOffset>(4)}, {"c", "Empty", 0, std::vector<GroupOffset>(3)}},
               .coordinators = 1,
               .offsets_left_out = 2});
  figures.finish(6);
  ASSERT_EQ(figures.groups.size(), 3u);
  EXPECT_EQ(figures.groups[0].offsets.size(), 4u);
  EXPECT_EQ(figures.groups[1].id, "b");
  EXPECT_EQ(figures.groups[1].offsets.size(), 2u);
  EXPECT_EQ(figures.groups[2].offsets.size(), 0u);
  EXPECT_EQ(figures.offsets_left_out, 2 + 3 + 3);
  EXPECT_EQ(figures.coordinators, 2);
}

}  // namespace
}  // namespace millrace::runtime
