// The rules that MR_MUTANT can switch off, each with the scenario that must miss it.
#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::sim {

struct MutantHunt {
  std::string_view only;   // empty: all mutants; else this one
  bool is_again = false;   // from the seed that is known to find it, instead of all seeds from 1 on
  unsigned jobs = 1;
};

// Hunts one mutant after the other and prints a row of a table for each. A mutant is found by a seed that passes with all
// rules on and whose history or states are wrong without this one; that the product ends itself by an assertion is
// noted, and is not enough. Returns how many were not found.
int hunt_mutants(MutantHunt const& hunt);

}  // namespace millrace::sim
