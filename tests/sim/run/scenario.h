// A scenario: one run of a world made from a seed, with its options, faults and checks.
#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "sim/run/tally.h"

namespace millrace::sim {

struct ScenarioInput {
  uint64_t seed = 1;
  std::string mutant{};
  std::FILE* trace = nullptr;
  size_t node_count = 0;  // of a cluster; 0: drawn from the seed
};

struct ScenarioResult {
  std::string failure;  // empty: every invariant held
  std::string options;  // what the seed was expanded to
  uint64_t hash = 0;
  uint64_t events = 0;
  Counts counts;        // what was done, by name
  Counts probes;
};

struct Scenario {
  std::string_view name;
  ScenarioResult (*run)(ScenarioInput const& input);
};
// The last three run when they are asked for.
std::span<Scenario const> scenarios();
inline constexpr size_t kScenariosAskedFor = 3;

ScenarioResult run_node(ScenarioInput const& input);
ScenarioResult run_storage(ScenarioInput const& input);
ScenarioResult run_follower(ScenarioInput const& input);
ScenarioResult run_crash(ScenarioInput const& input);
ScenarioResult run_group(ScenarioInput const& input);
ScenarioResult run_quorum(ScenarioInput const& input);
ScenarioResult run_cluster(ScenarioInput const& input);
ScenarioResult run_late_cut(ScenarioInput const& input);
ScenarioResult run_paused_leader(ScenarioInput const& input);
ScenarioResult run_demands(ScenarioInput const& input);

// Lets a scenario say what it was doing when an assertion of the product ends the process.
void note_options(std::string_view options);

}  // namespace millrace::sim
