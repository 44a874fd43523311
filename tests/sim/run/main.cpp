// mr-sim --seeds A..B [--scenario NAME] [--mutant NAME] [--jobs N] [--nodes N] [--trace] [--twice] [--probes]
//        [--stop-at-failure] [--expect-failure] [--ledger FILE]
// mr-sim --mutants | --known-mutants [--mutant NAME] [--jobs N]
//
// Runs simulated worlds, one a seed, each in a child process, so that an assertion of the product is one failed seed.
// Ends with what was done in all and `N passed, N failed`; a failing seed prints itself, what it was expanded to and the
// first broken invariant. The second form switches rules off and hunts for a seed that notices.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/run/mutants.h"
#include "sim/run/seed_runner.h"

namespace millrace::sim {
namespace {

struct Arguments {
  uint64_t first = 1;
  uint64_t last = 1;
  SeedOrder order;
  bool stops_at_failure = false;
  bool lists_probes = false;
  bool expects_failure = false;  // a mutant must be found
  unsigned jobs = 1;
  std::string ledger;  // the file that gets a line of what was done
  bool hunts_mutants = false;
  bool hunts_known_mutants = false;  // from the seeds that found them before
};

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    std::string const name = argv[i];
    auto const value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    if (name == "--seeds" || name == "--seed") {
      auto const text = value();
      auto const dots = text.find("..");
      out.first = std::strtoull(text.c_str(), nullptr, 10);
      out.last = dots == std::string::npos ? out.first : std::strtoull(text.c_str() + dots + 2, nullptr, 10);
      if (out.last < out.first) return false;
    } else if (name == "--scenario") {
      out.order.scenario = value();
      if (find_scenario(out.order.scenario) == nullptr) return false;
    } else if (name == "--mutant") {
      out.order.mutant = value();
    } else if (name == "--jobs") {
      out.jobs = std::max(1u, static_cast<unsigned>(std::strtoul(value().c_str(), nullptr, 10)));
    } else if (name == "--nodes") {
      out.order.node_count = std::strtoul(value().c_str(), nullptr, 10);
      if (out.order.node_count < 3 || out.order.node_count > 7) return false;
    } else if (name == "--mutants") {
      out.hunts_mutants = true;
    } else if (name == "--known-mutants") {
      out.hunts_mutants = out.hunts_known_mutants = true;
    } else if (name == "--ledger") {
      out.ledger = value();
    } else if (name == "--trace") {
      out.order.has_trace = true;
    } else if (name == "--twice") {
      out.order.runs_twice = true;
    } else if (name == "--probes") {
      out.lists_probes = true;
    } else if (name == "--expect-failure") {
      out.expects_failure = out.stops_at_failure = true;
    } else if (name == "--stop-at-failure") {
      out.stops_at_failure = true;
    } else {
      return false;
    }
  }
  return true;
}

bool write_ledger(Arguments const& arguments, Tally const& tally, std::vector<uint64_t> const& failures) {
  auto scenario = arguments.order.scenario.empty() ? "all but cluster" : arguments.order.scenario;
  if (arguments.order.node_count > 0) scenario += fmt::format(", {} nodes", arguments.order.node_count);
  if (!arguments.order.mutant.empty()) scenario += fmt::format(", without {}", arguments.order.mutant);
  auto const outcome = failures.empty() ? "all passed" : fmt::format("{} failed: {}", failures.size(), fmt::join(failures, ", "));
  auto const seeds = fmt::format("{}..{}", arguments.first, arguments.first + tally.seeds() - 1);
  if (tally.append_to(arguments.ledger, scenario, seeds, outcome)) return true;
  fmt::print(stderr, "{} cannot be written\n", arguments.ledger);
  return false;
}

int run(Arguments const& arguments) {
  auto const begun = std::chrono::steady_clock::now();
  Counts probes;
  Tally tally;
  uint64_t events = 0;
  std::vector<uint64_t> failures;
  SeedRunner runner(arguments.jobs);
  uint64_t next = arguments.first;
  bool is_stopping = false;
  while (true) {
    while (runner.has_room() && next <= arguments.last && !is_stopping) runner.start(arguments.order, next++);
    if (runner.is_idle()) break;
    auto const told = runner.wait();
    tally.add(told.counts, told.failure.empty());
    events += told.events;
    for (auto const& [name, count] : told.probes) probes[name] += count;
    if (told.failure.empty()) {
      if (arguments.first == arguments.last) fmt::print("seed {}: {} trace {}\n", told.seed, told.options, told.hash);
      continue;
    }
    failures.push_back(told.seed);
    is_stopping = arguments.stops_at_failure;
    fmt::print("FAILED seed {}: {}\n  {}\n  again: --seeds {}{}{}{}\n", told.seed, told.options, told.failure, told.seed,
               arguments.order.scenario.empty() ? "" : " --scenario " + arguments.order.scenario,
               arguments.order.node_count == 0 ? "" : fmt::format(" --nodes {}", arguments.order.node_count),
               arguments.order.mutant.empty() ? "" : " --mutant " + arguments.order.mutant);
  }
  auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (arguments.lists_probes) {
    for (auto const& [name, count] : probes) fmt::print("probe {}: {}\n", name, count);
  }
  fmt::print("{} seeds in {:.1f} s ({:.0f} a minute), {} events, {} probes seen{}\n", tally.seeds(), seconds,
             static_cast<double>(tally.seeds()) * 60 / std::max(seconds, 0.001), events, probes.size(),
             failures.empty() ? "" : fmt::format(", first failure at seed {}", failures[0]));
  fmt::print("{}\n{} passed, {} failed\n", tally.text(), tally.passed(), tally.failed());
  if (!arguments.ledger.empty() && !write_ledger(arguments, tally, failures)) return 1;
  return (tally.failed() == 0) == !arguments.expects_failure ? 0 : 1;
}

}  // namespace
}  // namespace millrace::sim

int main(int argc, char** argv) {
  millrace::sim::Arguments arguments;
  if (!millrace::sim::parse(argc, argv, arguments)) {
    fmt::print(stderr,
               "usage: mr-sim --seeds A..B [--scenario NAME] [--mutant NAME] [--jobs N] [--nodes N] [--trace] "
               "[--twice] [--probes] [--stop-at-failure] [--expect-failure] [--ledger FILE]\n"
               "       mr-sim --mutants | --known-mutants [--mutant NAME] [--jobs N]\nscenarios:");
    for (auto const& scenario : millrace::sim::scenarios()) fmt::print(stderr, " {}", scenario.name);
    fmt::print(stderr, "\n");
    return 2;
  }
  if (arguments.hunts_mutants) {
    millrace::sim::MutantHunt const hunt{.only = arguments.order.mutant, .is_again = arguments.hunts_known_mutants, .jobs = arguments.jobs};
    return millrace::sim::hunt_mutants(hunt) == 0 ? 0 : 1;
  }
  return millrace::sim::run(arguments);
}
