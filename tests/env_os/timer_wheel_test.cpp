// The timer wheel fires every timer at its tick, none early, none twice, none that was cancelled; and the tick that it
// asks to be woken at is never too late.
#include <gtest/gtest.h>

#include "../../src/env_os/timer_wheel.h"
#include "millrace/base/random.h"

namespace millrace::env_os {
namespace {

TEST(TimerWheel, fires_in_order_and_not_early) {
  TimerWheel wheel;
  std::string story;
  wheel.add(70, [&] { story += "70 "; });
  wheel.add(5, [&] { story += "5 "; });
  wheel.add(70'000, [&] { story += "70000 "; });
  EXPECT_EQ(wheel.next_tick(), 5);
  auto run_to = [&](int64_t tick) {
    while (auto task = wheel.take_due(tick)) std::move(task)();
  };
  run_to(4);
  EXPECT_EQ(story, "");
  run_to(5);
  EXPECT_EQ(story, "5 ");
  run_to(69);
  EXPECT_EQ(story, "5 ");
  run_to(80'000);
  EXPECT_EQ(story, "5 70 70000 ");
  EXPECT_EQ(wheel.next_tick(), std::nullopt);
  wheel.add(3, [&] { story += "late"; });  // already past: at the next tick
  run_to(80'001);
  EXPECT_EQ(story, "5 70 70000 late");
}

TEST(TimerWheel, a_due_timer_may_still_be_cancelled_by_an_earlier_one) {
  TimerWheel wheel;
  bool fired = false;
  env::TimerId second{};
  wheel.add(7, [&] { wheel.cancel(second); });
  second = wheel.add(7, [&] { fired = true; });
  while (auto task = wheel.take_due(10)) std::move(task)();
  EXPECT_FALSE(fired);
  EXPECT_EQ(wheel.size(), 0u);
}

TEST(TimerWheel, agrees_with_a_sorted_list) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    TimerWheel wheel;
    std::multimap<int64_t, int> expected;  // tick -> name
    std::map<int, env::TimerId> ids;
    std::vector<std::pair<int64_t, int>> fired;
    int64_t now = 0;
    int names = 0;
    for (int step = 0; step < 2000; ++step) {
      auto const choice = random.below(10);
      if (choice < 6) {
        auto const spread = int64_t{1} << random.below(30);
        auto const tick = now + 1 + static_cast<int64_t>(random.below(static_cast<uint64_t>(spread)));
        auto const name = names++;
        ids[name] = wheel.add(tick, [&fired, &now, name] { fired.emplace_back(now, name); });
        expected.emplace(tick, name);
      } else if (choice < 8 && !expected.empty()) {
        auto victim = expected.begin();
        std::advance(victim, static_cast<ptrdiff_t>(random.below(expected.size())));
        wheel.cancel(ids[victim->second]);
        expected.erase(victim);
      } else {
        auto const next = wheel.next_tick();
        ASSERT_EQ(next.has_value(), !expected.empty());
        if (!next) continue;
        ASSERT_GT(*next, now);
        ASSERT_LE(*next, expected.begin()->first);
        now = *next + static_cast<int64_t>(random.below(200));
        std::vector<int> due;
        fired.clear();
        while (auto task = wheel.take_due(now)) std::move(task)();
        std::vector<int64_t> ticks;
        std::map<int, int64_t> due_ticks;
        while (!expected.empty() && expected.begin()->first <= now) {
          due_ticks[expected.begin()->second] = expected.begin()->first;
          expected.erase(expected.begin());
        }
        ASSERT_EQ(fired.size(), due_ticks.size());
        for (auto const& [when, name] : fired) {
          ASSERT_TRUE(due_ticks.contains(name));
          ticks.push_back(due_ticks[name]);
        }
        ASSERT_TRUE(std::ranges::is_sorted(ticks));
      }
      ASSERT_EQ(wheel.size(), expected.size());
    }
  }
}

}  // namespace
}  // namespace millrace::env_os
