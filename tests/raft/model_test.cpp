// Every order of events that a small quorum can see, on the machine as it is shipped: three voters, few epochs, few
// records, few crashes; messages late, repeated, lost and out of order; disks whose last jobs a crash forgets. Proves
// within these bounds: one leader an epoch, one vote a voter and epoch, leaders have what is committed, logs that
// agree on an epoch agree before it, what is committed is on a majority of the disks and never another.
// MR_MODEL="timeouts appends crashes lost-replies stale-messages" asks for other bounds.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <unordered_set>

#include "cluster.h"
#include "millrace/bytes/hash.h"

namespace millrace::raft::test {
namespace {

struct Outcome {
  size_t states = 0;
  size_t steps = 0;
  size_t elections = 0;
  std::string fault;
};

struct Key {
  uint64_t a, b;
  friend bool operator==(Key const&, Key const&) = default;
};
struct KeyHash {
  size_t operator()(Key const& k) const { return k.a; }
};

Key key_of(World const& world) {
  auto const text = world.digest();
  auto const hash = std::hash<std::string>{};
  return {hash(text), hash(text + "'")};
}

Outcome explore(WorldOptions options, size_t states_max) {
  Outcome outcome;
  std::unordered_set<Key, KeyHash> seen;
  std::deque<World> queue;
  queue.emplace_back(options, 1);
  seen.insert(key_of(queue.back()));
  std::vector<Action> actions;
  while (!queue.empty()) {
    auto const world = std::move(queue.front());
    queue.pop_front();
    world.list_actions(actions);
    for (auto const& action : actions) {
      World next = world;
      next.apply(action);
      ++outcome.steps;
      if (!next.fault().empty()) {
        outcome.fault = next.fault();
        outcome.states = seen.size();
        return outcome;
      }
      outcome.elections = std::max(outcome.elections, static_cast<size_t>(next.leaders()));
      if (!seen.insert(key_of(next)).second) continue;
      if (seen.size() >= states_max) {
        outcome.fault = "too many states";
        outcome.states = seen.size();
        return outcome;
      }
      queue.push_back(std::move(next));
    }
  }
  outcome.states = seen.size();
  return outcome;
}

WorldOptions bounds(int timeouts, int appends, int crashes, int lost_replies, int stale) {
  WorldOptions options;
  options.timeout_max = timeouts;
  options.append_max = appends;
  options.crash_max = crashes;
  options.lost_reply_max = lost_replies;
  options.stale_messages_max = stale;
  options.parks_fetches = true;
  options.has_everything = false;
  return options;
}

void expect_clean(WorldOptions options, size_t states_min, size_t elections_min) {
  auto const outcome = explore(options, 2'000'000);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_GE(outcome.states, states_min);  // the bounds have not become meaningless
  EXPECT_GE(outcome.elections, elections_min);
  fmt::print("{} states, {} steps\n", outcome.states, outcome.steps);
}

TEST(RaftModel, TwoContests) { expect_clean(bounds(2, 0, 0, 0, 0), 50'000, 2); }
TEST(RaftModel, ALeaderCrashesAfterAnAppend) { expect_clean(bounds(1, 1, 1, 0, 0), 100'000, 1); }
TEST(RaftModel, ANodeCrashesTwice) { expect_clean(bounds(1, 0, 2, 0, 0), 50'000, 1); }

TEST(RaftModel, NoticesBrokenRules) {
  struct {
    char const* mutant;
    WorldOptions options;
  } all[] = {{"raft.vote_twice", bounds(2, 0, 0, 0, 0)},
             {"raft.mark_by_max", bounds(1, 0, 0, 0, 0)},
             {"raft.commit_at_append", bounds(1, 1, 1, 0, 0)},
             {"raft.vote_before_durable", bounds(1, 0, 1, 0, 0)},
             {"raft.fetch_before_durable", bounds(1, 0, 1, 0, 0)}};
  for (auto& one : all) {
    OneMutant hooks(one.mutant);
    one.options.hooks = &hooks;
    one.options.checks_machines = false;
    auto const outcome = explore(one.options, 1'000'000);
    EXPECT_NE(outcome.fault, "") << one.mutant;
    EXPECT_NE(outcome.fault, "too many states") << one.mutant;
    fmt::print("{}: {} ({} states)\n", one.mutant, outcome.fault, outcome.states);
  }
}

TEST(RaftModel, Explore) {
  auto const* const wanted = std::getenv("MR_MODEL");
  if (wanted == nullptr) GTEST_SKIP();
  int timeouts = 1, appends = 0, crashes = 0, lost = 0, stale = 0;
  size_t states = 1'000'000;
  std::sscanf(wanted, "%d %d %d %d %d %zu", &timeouts, &appends, &crashes, &lost, &stale, &states);
  auto const begin = std::chrono::steady_clock::now();
  auto const outcome = explore(bounds(timeouts, appends, crashes, lost, stale), states);
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} states {} steps {} leaders {} ms {}\n", outcome.states, outcome.steps, outcome.elections, ms,
             outcome.fault);
}

}  // namespace
}  // namespace millrace::raft::test
