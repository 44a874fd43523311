// Runs seeds, each in a child process, so that an assertion of the product is one failed seed and nothing of one run is
// left for the next.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/run/scenario.h"

namespace millrace::sim {

struct SeedOrder {
  std::string scenario;  // empty: all but the last in turn
  std::string mutant;
  size_t node_count = 0;  // of a cluster; 0: drawn
  bool has_trace = false;
  bool runs_twice = false;  // and compares the hashes
};

// What came of a seed.
struct SeedResult {
  uint64_t seed{};
  std::string failure;    // empty: every invariant held
  bool has_died = false;  // the process ended by itself: an assertion, or no end in time
  std::string options;
  std::string hash;
  uint64_t events = 0;
  Counts counts;
  Counts probes;
};

Scenario const* find_scenario(std::string_view name);

class SeedRunner {
 public:
  explicit SeedRunner(unsigned jobs) : jobs_(jobs) {}
  bool has_room() const { return running_.size() < jobs_; }
  bool is_idle() const { return running_.empty(); }
  void start(SeedOrder const& order, uint64_t seed);
  // Waits for the one that ends next; there must be one.
  SeedResult wait();

 private:
  struct Child {
    uint64_t seed{};
    pid_t process{};
    int pipe{};
    std::string text;
  };
  static SeedResult finish(Child const& child);

  unsigned jobs_;
  std::vector<Child> running_;
};

}  // namespace millrace::sim
