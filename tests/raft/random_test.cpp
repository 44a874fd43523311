// Quorums of three and five voters and an observer under random schedules: every delay, loss and repetition, disks
// that crash before their last jobs or are lost as a whole, snapshots, resignations, timers that fire at any time.
// Proves the promises of tests/raft/cluster.h in all of them; that a quorum left alone elects a leader, commits and
// brings everybody up to date; and that each broken rule is noticed. MR_SEED=n runs that seed only, MR_SEEDS=n that
// many.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "cluster.h"
#include "millrace/base/random.h"

namespace millrace::raft::test {
namespace {

// Some worlds are mostly calm, so that logs grow; others are not.
struct Mood {
  double loss, crash, timer, append, snapshot, resign;
};
constexpr Mood kMoods[] = {
    {0.05, 0.003, 0.02, 0.3, 0.02, 0.01},
    {0.20, 0.010, 0.05, 0.2, 0.05, 0.02},
    {0.40, 0.030, 0.15, 0.2, 0.05, 0.02},
    {0.02, 0.050, 0.02, 0.4, 0.00, 0.00},
};

bool is_wanted(World const& world, Action const& action, Mood const& mood, Random& random) {
  switch (action.kind) {
    case Action::Kind::disk:
    case Action::Kind::deliver: return true;
    case Action::Kind::deliver_lose_reply: return random.chance(mood.loss / 2);
    case Action::Kind::lose: return random.chance(mood.loss);
    case Action::Kind::crash: return random.chance(mood.crash);
    // A vote is what a lost disk is missed for most.
    case Action::Kind::wipe: return random.chance(world.machine(action.node).election().voted ? 0.8 : 0.02);
    case Action::Kind::append: return random.chance(mood.append);
    case Action::Kind::snapshot: return random.chance(mood.snapshot);
    case Action::Kind::resign: return random.chance(mood.resign);
    case Action::Kind::timer: {
      auto const kind = static_cast<TimerKind>(action.index);
      if (kind == TimerKind::retry || kind == TimerKind::parked_fetch || kind == TimerKind::begin_epoch)
        return random.chance(0.3);
      bool const is_leaderless = world.machine(action.node).leader() == kNoBroker;
      return random.chance(is_leaderless ? 0.3 : mood.timer);
    }
  }
  return false;
}

// Nothing is lost any more and timers fire only when nothing else can happen.
std::string heal(World& world, Random& random) {
  std::vector<Action> actions;
  auto const pick = [&](auto wanted) {
    world.list_actions(actions);
    std::vector<Action> chosen;
    for (auto const& action : actions) {
      if (wanted(action)) chosen.push_back(action);
    }
    if (chosen.empty()) return false;
    world.apply(chosen[random.below(chosen.size())]);
    return true;
  };
  auto const leader = [&]() -> std::optional<size_t> {
    for (size_t n = 0; n < world.node_count(); ++n) {
      auto const& m = world.machine(n);
      if (m.role() != Role::leader) continue;
      bool is_newest = true;
      for (size_t other = 0; other < world.node_count(); ++other)
        is_newest &= world.machine(other).epoch() <= m.epoch();
      if (is_newest) return n;
    }
    return std::nullopt;
  };
  std::optional<Offset> target;
  for (int step = 0; step < 20'000; ++step) {
    if (!world.fault().empty()) return world.fault();
    auto const led_by = leader();
    if (led_by && world.machine(*led_by).has_committed_epoch() && !target) {
      world.apply({Action::Kind::append, *led_by});
      target = world.machine(*led_by).log_end().offset;
    }
    if (led_by && target) {
      bool is_done = true;
      for (size_t n = 0; n < world.node_count(); ++n) is_done &= world.machine(n).high_watermark() >= *target;
      if (is_done) return "";
    }
    if (!led_by) target.reset();
    // Everything else is quicker than an election timeout.
    auto const times_out = [&](Action const& a) {
      return a.kind == Action::Kind::timer && static_cast<TimerKind>(a.index) == TimerKind::election;
    };
    if (!led_by && random.chance(0.01) && pick(times_out)) continue;
    bool const moved =
        pick([](Action const& a) { return a.kind == Action::Kind::disk || a.kind == Action::Kind::deliver; }) &&
        !random.chance(0.02);
    if (moved) continue;
    auto const quick = [](Action const& a) {
      auto const kind = static_cast<TimerKind>(a.index);
      return a.kind == Action::Kind::timer && (kind == TimerKind::retry || kind == TimerKind::begin_epoch ||
                                               kind == TimerKind::early_vote || kind == TimerKind::parked_fetch);
    };
    if (pick(quick)) continue;
    if (!led_by) pick(times_out);
  }
  std::string states;
  for (size_t n = 0; n < world.node_count(); ++n) states += world.machine(n).text() + "\n";
  return "is not well after everything was left alone:\n" + states;
}

struct Seen {
  int64_t steps = 0, committed = 0, leaders = 0, wipes = 0;
};

std::string run(uint64_t seed, Hooks& hooks, bool checks_machines, Seen& seen) {
  Random random(seed);
  WorldOptions options;
  options.voters = random.chance(0.2) ? 5 : 3;
  options.observers = random.chance(0.3) ? 1 : 0;
  options.takes_snapshots = random.chance(0.4);
  options.loses_disks = random.chance(0.4);
  options.hooks = &hooks;
  options.checks_machines = checks_machines;
  auto const& mood = kMoods[random.below(std::size(kMoods))];
  World world(options, seed);
  std::vector<Action> actions;
  auto const steps = random.between(100, 600);
  for (int64_t step = 0; step < steps && world.fault().empty(); ++step) {
    world.list_actions(actions);
    if (actions.empty()) break;
    auto const& action = actions[random.below(actions.size())];
    if (!is_wanted(world, action, mood, random)) continue;
    world.apply(action);
    ++seen.steps;
  }
  if (!world.fault().empty()) return world.fault();
  auto fault = heal(world, random);
  seen.committed += static_cast<int64_t>(world.committed().size());
  seen.leaders += world.leaders();
  seen.wipes += world.wipes();
  return fault;
}

TEST(RaftRandom, KeepsItsPromises) {
  auto const* const one = std::getenv("MR_SEED");
  auto const* const many = std::getenv("MR_SEEDS");
  uint64_t const first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  uint64_t const count = one != nullptr ? 1 : many != nullptr ? std::strtoull(many, nullptr, 10) : 3000;
  Seen seen;
  auto const begin = std::chrono::steady_clock::now();
  for (uint64_t seed = first; seed < first + count; ++seed) {
    auto const fault = run(seed, Hooks::none(), true, seen);
    ASSERT_EQ(fault, "") << "MR_SEED=" << seed;
  }
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} schedules, {} steps, {} leaders, {} records committed, {} disks lost, {} ms\n", count, seen.steps,
             seen.leaders, seen.committed, seen.wipes, ms);
  EXPECT_GT(seen.leaders, static_cast<int64_t>(count));
  EXPECT_GT(seen.committed, static_cast<int64_t>(2 * count));
  EXPECT_GE(seen.wipes, static_cast<int64_t>(count / 20));
}

class Mutants : public testing::TestWithParam<std::string> {};

TEST_P(Mutants, AreNoticed) {
  static constexpr uint64_t kSeedsMax = 20'000;
  OneMutant hooks(GetParam());
  Seen seen;
  for (uint64_t seed = 1; seed <= kSeedsMax; ++seed) {
    auto const fault = run(seed, hooks, false, seen);
    if (fault.empty()) continue;
    fmt::print("{}: seed {}: {}\n", GetParam(), seed, fault.substr(0, 120));
    return;
  }
  FAIL() << "nobody noticed that a rule was broken: " << GetParam();
}

// Rules whose breach shows in the world; those of time and of lying peers are in the stories.
INSTANTIATE_TEST_SUITE_P(Raft, Mutants,
                         testing::Values("raft.commit_at_append", "raft.vote_twice", "raft.vote_before_durable",
                                         "raft.commit_old_epoch", "raft.vote_ignores_log", "raft.no_divergence_check",
                                         "raft.mark_by_max", "raft.leadership_not_durable", "raft.fetch_before_durable",
                                         "raft.append_without_leadership", "raft.blank_votes"),
                         [](auto const& one) {
                           auto name = one.param.substr(one.param.find('.') + 1);
                           return name;
                         });

}  // namespace
}  // namespace millrace::raft::test
