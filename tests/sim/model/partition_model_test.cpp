// Every order of events that one partition of three replicas can see within small bounds, on the controller's decisions
// and the replicas' machines as they are shipped: brokers fenced though they live, started again with and without what
// they had written, told late of what was decided; followers that lag; requests and answers late, repeated and lost;
// min.insync.replicas changed; unclean elections allowed; acknowledgements that wait for the disk. Proves within each
// test's bounds: who may be elected holds what is committed, or the election says that it is unclean (R1, D1); replicas
// agree below their marks (R2, D2); an epoch has one leader (R3); who may have lost records is in no set before it has
// caught up (R4); a leader waits for all whom the controller takes to be in sync or eligible (R5).
//
// Not here: more than two records; what one test's bounds hold together with what another's do (two records and a
// restart of each kind, a lag and a fencing, an unclean election and a restart, ...); more than one late message; a
// broker told of half a decision; deletion of records, reassignment, a change of the controller. The first are for
// tests/replication/random_test.cpp, all of them for the simulator. MR_MODEL="writes=1 fencings=2 ..." explores other
// bounds, MR_MUTANT="name" with that rule switched off. Not noticed in these bounds: no_broker_epoch_check,
// no_epoch_fencing, one_step_truncation, truncation_not_fenced; the random test notices them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <unordered_set>

#include "../../base/one_mutant.h"
#include "partition_world.h"

namespace millrace::model {
namespace {

struct KeyHash {
  size_t operator()(Hash128 const& key) const { return key.low; }
};

struct Explored {
  size_t states = 0, steps = 0, acknowledged = 0;
  std::string fault, way;
};

Explored explore(Bounds const& bounds, size_t states_max, Hooks& hooks = Hooks::none()) {
  metadata::ControllerConfig config;
  config.node_id = BrokerId{9};
  config.cluster_id = "c";
  config.hooks = &hooks;
  metadata::Controller controller(config, [] { return Uuid{{7}}; });
  Explored out;
  std::unordered_set<Hash128, KeyHash> seen;
  std::deque<World> queue;
  queue.emplace_back(controller, bounds, hooks);
  seen.insert(queue.back().digest());
  std::vector<Step> steps;
  while (!queue.empty()) {
    auto const world = std::move(queue.front());
    queue.pop_front();
    world.list_steps(steps);
    for (auto const& step : steps) {
      World next = world;
      next.apply(step);
      ++out.steps;
      out.states = seen.size();
      out.acknowledged = std::max(out.acknowledged, next.acknowledged());
      if (!next.fault().empty()) {
        out.fault = next.fault();
        World again(controller, bounds, hooks);
        for (auto const& one : next.way()) {
          out.way += again.text_of(one) + "\n";
          again.apply(one);
          out.way += again.text() + "\n";
        }
        return out;
      }
      if (!seen.insert(next.digest()).second) continue;
      if (seen.size() >= states_max) {
        out.fault = "too many states";
        return out;
      }
      queue.push_back(std::move(next));
    }
  }
  out.states = seen.size();
  return out;
}

void expect_clean(Bounds const& bounds, size_t states_min) {
  auto const explored = explore(bounds, 3'000'000);
  EXPECT_EQ(explored.fault, "") << explored.way;
  EXPECT_GE(explored.states, states_min);  // the bounds have not become meaningless
  EXPECT_EQ(explored.acknowledged, static_cast<size_t>(bounds.writes));
  fmt::print("{} states, {} steps\n", explored.states, explored.steps);
}

TEST(PartitionModel, FencedThoughTheyLive) { expect_clean({.writes = 2, .fencings = 1, .losses = 1}, 20'000); }
TEST(PartitionModel, FencedAndLedAgain) { expect_clean({.writes = 2, .fencings = 1, .moves = 1}, 20'000); }
TEST(PartitionModel, FollowersLag) { expect_clean({.writes = 2, .lags = 1}, 20'000); }
TEST(PartitionModel, CleanRestart) { expect_clean({.writes = 2, .clean_restarts = 1}, 10'000); }
TEST(PartitionModel, UncleanRestart) { expect_clean({.writes = 2, .unclean_restarts = 1}, 3'000); }
TEST(PartitionModel, CleanAndUncleanRestart) {
  expect_clean({.writes = 1, .clean_restarts = 1, .unclean_restarts = 1}, 100'000);
}
TEST(PartitionModel, OtherMinInSync) { expect_clean({.writes = 1, .fencings = 1, .min_isr_changes = 1}, 5'000); }
TEST(PartitionModel, OtherMinInSyncAndFollowersLag) {
  expect_clean({.writes = 1, .lags = 1, .min_isr_changes = 1}, 10'000);
}
TEST(PartitionModel, UncleanElections) { expect_clean({.writes = 1, .fencings = 2, .allows_unclean = true}, 100'000); }
TEST(PartitionModel, AcknowledgedOnceSynced) {
  expect_clean({.writes = 1, .clean_restarts = 1, .unclean_restarts = 1, .is_flush = true}, 100'000);
}

TEST(PartitionModel, NoticesBrokenRules) {
  struct {
    char const* mutant;
    Bounds bounds;
    std::string_view rule;
  } const all[] = {
      {"metadata.ineligible_in_isr", {.unclean_restarts = 1, .lags = 1}, "R4"},
      {"metadata.stale_partition_epoch", {.fencings = 1, .lags = 1, .keeps_void = true}, "R5"},
      {"metadata.unclean_start_stays_eligible", {.fencings = 1, .unclean_restarts = 1}, "R4"},
      {"metadata.elr_not_cleared", {.fencings = 2}, "R5"},
      {"metadata.leader_without_epoch", {.fencings = 1}, "two leaders"},
      {"metadata.stale_broker_epoch", {.writes = 1, .clean_restarts = 1, .unclean_restarts = 1}, "R4"},
      {"mark_is_end", {.writes = 1}, "R1"},
      {"mark_uses_smaller_set", {.writes = 1, .lags = 1}, "R1"},
      {"mark_counts_anyone", {.writes = 1, .lags = 1}, "R1"},
      {"expand_early", {.writes = 1, .fencings = 1}, "R1"},
      {"truncate_to_mark", {.writes = 1, .fencings = 1}, "R1"},
      {"diverging_fetch_counts", {.writes = 2, .fencings = 1}, "R1"},
      {"fetch_before_sync", {.writes = 1, .clean_restarts = 1, .unclean_restarts = 1, .is_flush = true}, "R1"},
      {"reply_before_sync", {.writes = 1, .clean_restarts = 1, .unclean_restarts = 1, .is_flush = true}, "R1"},
      {"no_min_isr_after_append", {.writes = 1, .lags = 1}, "1 acknowledges"},
  };
  for (auto const& one : all) {
    OneMutant hooks(one.mutant);
    auto const explored = explore(one.bounds, 1'000'000, hooks);
    EXPECT_TRUE(explored.fault.starts_with(one.rule)) << one.mutant << ": " << explored.fault;
    fmt::print("{}: {} ({} states)\n", one.mutant, explored.fault, explored.states);
  }
}

TEST(PartitionModel, Explore) {
  auto const* const wanted = std::getenv("MR_MODEL");
  if (wanted == nullptr) GTEST_SKIP();
  Bounds bounds;
  int late = 1, unclean = 0, flush = 0, keep = 0;
  size_t states = 3'000'000;
  std::pair<char const*, int*> const names[] = {{"writes", &bounds.writes},
                                                {"fencings", &bounds.fencings},
                                                {"cleans", &bounds.clean_restarts},
                                                {"uncleans", &bounds.unclean_restarts},
                                                {"lags", &bounds.lags},
                                                {"moves", &bounds.moves},
                                                {"mins", &bounds.min_isr_changes},
                                                {"repeats", &bounds.repeats},
                                                {"losses", &bounds.losses},
                                                {"late", &late},
                                                {"election", &unclean},
                                                {"flush", &flush},
                                                {"void", &keep}};
  auto const text = fmt::format(" {}", wanted);
  for (auto const& [name, number] : names) {
    auto const at = text.find(fmt::format(" {}=", name));
    if (at != std::string::npos) *number = std::atoi(text.c_str() + at + std::strlen(name) + 2);
  }
  bounds.late_max = static_cast<size_t>(late);
  bounds.allows_unclean = unclean != 0;
  bounds.is_flush = flush != 0;
  bounds.keeps_void = keep != 0;
  auto const* const mutant = std::getenv("MR_MUTANT");
  OneMutant hooks(mutant == nullptr ? "" : mutant);
  auto const begin = std::chrono::steady_clock::now();
  auto const explored = explore(bounds, states, hooks);
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} states, {} steps, {} acknowledged, {} ms {}\n{}", explored.states, explored.steps,
             explored.acknowledged, ms, explored.fault, explored.way);
}

}  // namespace
}  // namespace millrace::model
