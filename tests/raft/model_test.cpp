// Every order of events that a quorum of three voters can see within small bounds, on the machine as it is shipped.
// Proves there: one leader an epoch, one vote a voter and epoch, leaders have what is committed, logs that agree on an
// epoch agree before it, what is committed is on a majority of the disks and never another.
//
// A test's bounds say how many election timeouts fire, records are appended, crashes happen (each forgets the writes
// that are not done, and of a half-done one the rest), answers are lost after the request was heard, messages are lost,
// and how many requests of earlier roles are under way, to be heard late. Messages come in any order. Nodes are taken
// to be alike, so that the one or two that crash stand for any; only they have slow disks, until the last crash. Where
// there are no pre-votes every timeout begins an epoch. In all of these: of timers only election timeouts fire;
// followers look for another leader only when theirs does not answer; BeginQuorumEpoch is confirmed at once.
//
// Only in tests/raft/random_test.cpp: three nodes that crash, more than two elections, crashes together with losses or
// late messages, two elections together with a crash, all the timers, snapshots, resignations, five voters, observers.
// MR_MODEL="timeouts=2 appends=1 ..." asks for other bounds.
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

struct KeyHash {
  size_t operator()(Hash128 const& key) const { return key.low; }
};

Hash128 key_of(World const& world) { return siphash128(as_bytes(world.digest()), {}); }

Outcome explore(WorldOptions options, size_t states_max) {
  Outcome outcome;
  std::unordered_set<Hash128, KeyHash> seen;
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

struct Bounds {
  int timeouts = 0, appends = 0, crashes = 0, crashing = 1, lost_replies = 0, lost_messages = 0, stale = 0,
      pre_votes = 1;
};

WorldOptions options_of(Bounds const& bounds) {
  WorldOptions options;
  options.timeout_max = bounds.timeouts;
  options.append_max = bounds.appends;
  options.crash_max = bounds.crashes;
  options.crashing = bounds.crashing;
  options.lost_reply_max = bounds.lost_replies;
  options.lost_message_max = bounds.lost_messages;
  options.stale_messages_max = bounds.stale;
  options.has_pre_votes = bounds.pre_votes != 0;
  options.parks_fetches = true;
  options.has_everything = false;
  return options;
}

void expect_clean(Bounds const& bounds, size_t states_min, size_t elections_min) {
  auto const outcome = explore(options_of(bounds), 2'000'000);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_GE(outcome.states, states_min);  // the bounds have not become meaningless
  EXPECT_GE(outcome.elections, elections_min);
  fmt::print("{} states, {} steps\n", outcome.states, outcome.steps);
}

TEST(RaftModel, TwoContests) { expect_clean({.timeouts = 2}, 8'000, 2); }
TEST(RaftModel, ALeaderCrashesAfterAnAppend) { expect_clean({.timeouts = 1, .appends = 1, .crashes = 1}, 50'000, 1); }
TEST(RaftModel, ANodeCrashesTwice) { expect_clean({.timeouts = 1, .crashes = 2}, 20'000, 1); }
TEST(RaftModel, TwoNodesCrash) {
  expect_clean({.timeouts = 1, .crashes = 2, .crashing = 2, .pre_votes = 0}, 50'000, 1);
}
TEST(RaftModel, TwoElectionsAndLateMessages) { expect_clean({.timeouts = 2, .stale = 1, .pre_votes = 0}, 10'000, 2); }
TEST(RaftModel, TwoElectionsAndAnAppend) { expect_clean({.timeouts = 2, .appends = 1, .pre_votes = 0}, 30'000, 2); }
TEST(RaftModel, MessagesAreLostAndRepeated) {
  expect_clean({.timeouts = 1, .appends = 1, .lost_replies = 1, .lost_messages = 1, .stale = 1, .pre_votes = 0}, 50'000,
               1);
}

TEST(RaftModel, NoticesBrokenRules) {
  struct {
    char const* mutant;
    Bounds bounds;
  } const all[] = {{"raft.vote_twice", {.timeouts = 2}},
                   {"raft.vote_twice", {.timeouts = 2, .stale = 1, .pre_votes = 0}},
                   {"raft.vote_before_durable", {.timeouts = 1, .crashes = 2, .crashing = 2, .pre_votes = 0}},
                   {"raft.vote_ignores_log", {.timeouts = 2, .appends = 1, .pre_votes = 0}},
                   {"raft.mark_by_max", {.timeouts = 1}},
                   {"raft.commit_at_append", {.timeouts = 1, .appends = 1, .crashes = 1}},
                   {"raft.vote_before_durable", {.timeouts = 1, .crashes = 1}},
                   {"raft.fetch_before_durable", {.timeouts = 1, .crashes = 1}}};
  for (auto const& one : all) {
    OneMutant hooks(one.mutant);
    auto options = options_of(one.bounds);
    options.hooks = &hooks;
    options.checks_machines = false;
    auto const outcome = explore(options, 1'000'000);
    EXPECT_NE(outcome.fault, "") << one.mutant;
    EXPECT_NE(outcome.fault, "too many states") << one.mutant;
    fmt::print("{}: {} ({} states)\n", one.mutant, outcome.fault, outcome.states);
  }
}

TEST(RaftModel, Explore) {
  auto const* const wanted = std::getenv("MR_MODEL");
  if (wanted == nullptr) GTEST_SKIP();
  Bounds bounds;
  int states = 1'000'000;
  std::pair<std::string, int*> const names[] = {
      {"timeouts", &bounds.timeouts}, {"appends", &bounds.appends}, {"crashes", &bounds.crashes},
      {"crashing", &bounds.crashing}, {"lost_replies", &bounds.lost_replies}, {"lost_messages", &bounds.lost_messages},
      {"stale", &bounds.stale}, {"pre_votes", &bounds.pre_votes}, {"states", &states}};
  auto const text = fmt::format(" {}", wanted);
  for (auto const& [name, number] : names) {
    auto const at = text.find(fmt::format(" {}=", name));
    if (at != std::string::npos) *number = std::atoi(text.c_str() + at + name.size() + 2);
  }
  auto const begin = std::chrono::steady_clock::now();
  auto const outcome = explore(options_of(bounds), static_cast<size_t>(states));
  auto const ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("{} states {} steps {} leaders {} ms {}\n", outcome.states, outcome.steps, outcome.elections, ms,
             outcome.fault);
}

}  // namespace
}  // namespace millrace::raft::test
