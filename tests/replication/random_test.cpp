// One partition on three nodes under random schedules: the promises of cluster.h hold in all of them, a cluster that is
// left alone commits what it has and brings everybody in sync, and each broken rule is noticed. MR_SEED=n runs that seed
// only, MR_SEEDS=n that many.
#include <gtest/gtest.h>

#include <cstdlib>

#include "../base/one_mutant.h"
#include "cluster.h"

namespace millrace::replication::test {
namespace {

struct Seen {
  int64_t acked = 0, elections = 0;
};

std::string run(uint64_t seed, Hooks& hooks, Seen& seen) {
  Random random(seed);
  ClusterOptions options;
  options.is_flush = random.chance(0.4);
  options.min_in_sync = random.chance(0.8) ? 2 : 1;
  options.hooks = &hooks;
  Cluster cluster(options, seed);
  auto const steps = random.between(200, 1500);
  for (int64_t step = 0; step < steps && cluster.fault().empty(); ++step) cluster.step(false);
  for (int step = 0; step < 6000 && cluster.fault().empty() && !cluster.is_well(); ++step) cluster.step(true);
  seen.acked += cluster.acked();
  seen.elections += cluster.elections();
  if (!cluster.fault().empty()) return cluster.fault() + "\n" + cluster.text();
  return cluster.is_well() ? "" : "is not well after everything was left alone:\n" + cluster.text();
}

TEST(ReplicationRandom, keeps_its_promises) {
  auto const* const one = std::getenv("MR_SEED");
  auto const* const many = std::getenv("MR_SEEDS");
  uint64_t const first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  uint64_t const count = one != nullptr ? 1 : many != nullptr ? std::strtoull(many, nullptr, 10) : 2000;
  Seen seen;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    auto const fault = run(seed, Hooks::none(), seen);
    ASSERT_EQ(fault, "") << "MR_SEED=" << seed;
  }
  fmt::print("{} schedules, {} elections, {} records acknowledged\n", count, seen.elections, seen.acked);
  if (one != nullptr) return;
  EXPECT_GT(seen.acked, static_cast<int64_t>(5 * count));
  EXPECT_GT(seen.elections, static_cast<int64_t>(3 * count));
}

class Mutants : public testing::TestWithParam<std::string> {};

TEST_P(Mutants, are_noticed) {
  static constexpr uint64_t kSeedsMax = 20'000;
  OneMutant hooks(GetParam());
  Seen seen;
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    auto const fault = run(seed, hooks, seen);
    if (fault.empty()) continue;
    fmt::print("{}: seed {}: {}\n", GetParam(), seed, fault.substr(0, 120));
    return;
  }
  FAIL() << "nobody noticed that a rule was broken: " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Replication, Mutants,
                         testing::Values("truncate_to_mark", "one_step_truncation", "no_epoch_fencing", "mark_counts_anyone",
                                         "mark_is_end", "expand_early", "mark_uses_smaller_set", "no_min_isr_after_append",
                                         "no_broker_epoch_check", "fetch_before_sync", "reply_before_sync",
                                         "truncation_not_fenced", "diverging_fetch_counts"),
                         [](auto const& one) { return one.param; });

}  // namespace
}  // namespace millrace::replication::test
