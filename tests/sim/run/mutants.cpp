#include "sim/run/mutants.h"

#include <fmt/core.h>

#include <optional>

#include "sim/run/seed_runner.h"

namespace millrace::sim {
namespace {

constexpr uint64_t kSeedsMax = 500;
constexpr uint64_t kSeedsAgainMax = 200;  // a change of the product moves what a seed does

struct Mutant {
  std::string_view name;
  std::string_view scenario;
  uint64_t found_by;  // where to look first; 0: not found yet
};

constexpr Mutant kMutants[] = {
    {"reply_before_sync", "crash", 5},
    {"acks_one_before_sync", "crash", 246},
    {"disk_failure_not_noted", "storage", 5},
    {"clean_mark_before_sync", "storage", 21},
    {"commit_before_mark", "group", 770},
    {"generation_not_checked", "group", 125},
    {"expired_in_join", "group", 3},
    {"raft.vote_before_durable", "quorum", 5},
    {"raft.vote_twice", "quorum", 1},
    {"raft.vote_ignores_log", "quorum", 3},
    {"raft.leadership_not_durable", "quorum", 7},
    {"raft.pre_vote_raises_epoch", "quorum", 4},
    {"raft.no_check_quorum", "quorum", 6},
    {"raft.fetch_before_durable", "quorum", 1},
    {"raft.commit_at_append", "quorum", 1},
    {"raft.mark_by_max", "quorum", 1},
    {"raft.commit_old_epoch", "quorum", 4},
    {"raft.no_divergence_check", "quorum", 1},
    {"raft.append_without_leadership", "quorum", 1},
    {"truncate_to_mark", "cluster", 1},
    {"one_step_truncation", "cluster", 23},
    {"truncation_not_fenced", "late_cut", 1},
    {"serves_when_doubtful", "paused_leader", 2},
    {"no_epoch_fencing", "cluster", 1},
    {"diverging_fetch_counts", "cluster", 27},
    {"fetch_before_sync", "cluster", 2},
    {"mark_is_end", "cluster", 1},
    {"mark_counts_anyone", "cluster", 1},
    {"mark_uses_smaller_set", "cluster", 15},
    {"expand_early", "cluster", 1},
    {"no_broker_epoch_check", "cluster", 114},
    {"reply_at_append", "cluster", 1},
    {"no_min_isr_after_append", "cluster", 1},
    {"duplicate_answered_before_mark", "cluster", 1},
    {"consumer_reads_to_end", "cluster", 1},
    {"metadata.stale_broker_epoch", "cluster", 11},
    {"metadata.unclean_start_stays_eligible", "cluster", 1},
    {"metadata.unclean_keeps_elr", "cluster", 2},
    {"metadata.elr_not_cleared", "cluster", 7},
    {"metadata.leader_without_epoch", "cluster", 1},
    {"metadata.stale_partition_epoch", "cluster", 9},
    {"metadata.ineligible_in_isr", "cluster", 18},
};

struct Hunt {
  std::optional<SeedResult> found;
  uint64_t seeds = 0;
  uint64_t died = 0;  // seeds whose process ended by an assertion
};

bool passes_with_all_rules(SeedOrder order, uint64_t seed) {
  order.mutant.clear();
  SeedRunner runner(1);
  runner.start(order, seed);
  return runner.wait().failure.empty();
}

Hunt hunt(Mutant const& mutant, uint64_t first, uint64_t last, unsigned jobs) {
  SeedOrder const order{.scenario = std::string(mutant.scenario), .mutant = std::string(mutant.name)};
  Hunt out;
  SeedRunner runner(jobs);
  auto next = first;
  while (true) {
    while (runner.has_room() && next <= last && !out.found) runner.start(order, next++);
    if (runner.is_idle()) return out;
    auto told = runner.wait();
    ++out.seeds;
    if (told.has_died) ++out.died;
    bool const is_wrong = !told.failure.empty() && !told.has_died && !out.found;
    if (is_wrong && passes_with_all_rules(order, told.seed)) out.found = std::move(told);
  }
}

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

}  // namespace

int hunt_mutants(MutantHunt const& wanted) {
  int missed = 0;
  for (auto const& mutant : kMutants) {
    if (!wanted.only.empty() ? mutant.name != wanted.only : wanted.is_again && mutant.found_by == 0) continue;
    auto const first = wanted.is_again && mutant.found_by > 0 ? mutant.found_by : 1;
    auto const result = hunt(mutant, first, first + (wanted.is_again ? kSeedsAgainMax : kSeedsMax) - 1, wanted.jobs);
    auto const died = result.died == 0 ? "" : fmt::format(", {} ended by an assertion", result.died);
    if (!result.found) ++missed;
    if (result.found) fmt::print("| `{}` | {} | {} | {}{} |\n", mutant.name, mutant.scenario, result.found->seed, first_line(result.found->failure), died);
    else fmt::print("| `{}` | {} | not found | {} seeds from {} on{} |\n", mutant.name, mutant.scenario, result.seeds, first, died);
    std::fflush(stdout);
  }
  fmt::print("{} mutants not found\n", missed);
  return missed;
}

}  // namespace millrace::sim
