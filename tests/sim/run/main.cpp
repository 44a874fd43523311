// mr-sim --seeds A..B [--scenario NAME] [--mutant NAME] [--jobs N] [--nodes N] [--trace] [--twice] [--probes]
//        [--stop-at-failure] [--expect-failure]
//
// Runs simulated worlds, one a seed, each in a child process, so that an assertion of the product is one failed seed.
// Ends with `N passed, N failed`; a failing seed prints itself, what it was expanded to and the first broken invariant.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "sim/run/scenario.h"

namespace millrace::sim {
namespace {

constexpr unsigned kSecondsPerSeedMax = 120;

struct Arguments {
  uint64_t first = 1;
  uint64_t last = 1;
  std::string scenario;
  std::string mutant;
  bool has_trace = false;
  bool runs_twice = false;   // and compares the hashes
  bool stops_at_failure = false;
  bool lists_probes = false;
  bool expects_failure = false;  // a mutant must be found
  unsigned jobs = 1;
  size_t node_count = 0;  // of a cluster; 0: drawn
};

// What a child tells its parent, line by line.
struct Told {
  std::string failure;
  std::string options;
  std::string hash;
  uint64_t events = 0;
  std::map<std::string, uint64_t> probes;
};

struct Child {
  uint64_t seed{};
  pid_t process{};
  int pipe{};
};

int report_pipe = -1;
std::string current_options;

void write_line(char kind, std::string_view text) {
  std::string line(1, kind);
  for (char c : text) line += c == '\n' ? '\r' : c;
  line += '\n';
  size_t done = 0;
  while (done < line.size()) {
    auto const count = ::write(report_pipe, line.data() + done, line.size() - done);
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

Scenario const* find_scenario(std::string_view name) {
  for (auto const& scenario : scenarios()) {
    if (scenario.name == name) return &scenario;
  }
  return nullptr;
}

void run_child(Arguments const& arguments, uint64_t seed) {
  ::alarm(kSecondsPerSeedMax);
  auto const all = scenarios();
  // The last one runs when it is asked for.
  auto const* scenario = arguments.scenario.empty() ? &all[seed % (all.size() - 1)] : find_scenario(arguments.scenario);
  ScenarioInput input;
  input.seed = seed;
  input.mutant = arguments.mutant;
  input.node_count = arguments.node_count;
  input.trace = arguments.has_trace ? stdout : nullptr;
  auto result = scenario->run(input);
  if (arguments.runs_twice) {
    input.trace = nullptr;
    auto const again = scenario->run(input);
    if (again.hash != result.hash && result.failure.empty()) {
      result.failure = fmt::format("the same seed gave traces {:016x} and {:016x}", result.hash, again.hash);
    }
  }
  write_line('O', result.options);
  write_line('H', fmt::format("{:016x}", result.hash));
  write_line('E', fmt::format("{}", result.events));
  for (auto const& [name, count] : result.probes) write_line('P', fmt::format("{} {}", count, name));
  write_line('F', result.failure);
  std::fflush(stdout);
  ::_exit(0);
}

Child start(Arguments const& arguments, uint64_t seed) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  std::fflush(stderr);
  auto const process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    report_pipe = ends[1];
    run_child(arguments, seed);
  }
  ::close(ends[1]);
  return {seed, process, ends[0]};
}

Told finish(Child const& child) {
  std::string text;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = ::read(child.pipe, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(count));
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.process, &status, 0);
  Told told;
  bool is_complete = false;
  size_t at = 0;
  while (at < text.size()) {
    auto const end = text.find('\n', at);
    auto line = text.substr(at, end - at);
    at = end == std::string::npos ? text.size() : end + 1;
    if (line.empty()) continue;
    auto value = line.substr(1);
    for (auto& c : value) c = c == '\r' ? '\n' : c;
    switch (line[0]) {
      case 'O': told.options = value; break;
      case 'H': told.hash = value; break;
      case 'E': told.events = std::strtoull(value.c_str(), nullptr, 10); break;
      case 'P': told.probes[value.substr(value.find(' ') + 1)] += std::strtoull(value.c_str(), nullptr, 10); break;
      case 'F': told.failure = value, is_complete = true; break;
      default: break;
    }
  }
  if (!is_complete) {
    told.failure = WIFSIGNALED(status) ? fmt::format("the process ended with signal {} ({})", WTERMSIG(status),
                                                     WTERMSIG(status) == SIGALRM ? "no end in time" : "see above")
                                       : fmt::format("the process ended with status {}", WEXITSTATUS(status));
  }
  return told;
}

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
      out.scenario = value();
      if (find_scenario(out.scenario) == nullptr) return false;
    } else if (name == "--mutant") {
      out.mutant = value();
    } else if (name == "--jobs") {
      out.jobs = std::max(1u, static_cast<unsigned>(std::strtoul(value().c_str(), nullptr, 10)));
    } else if (name == "--nodes") {
      out.node_count = std::strtoul(value().c_str(), nullptr, 10);
      if (out.node_count < 3 || out.node_count > 7) return false;
    } else if (name == "--trace") {
      out.has_trace = true;
    } else if (name == "--twice") {
      out.runs_twice = true;
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

int run(Arguments const& arguments) {
  auto const begun = std::chrono::steady_clock::now();
  std::map<std::string, uint64_t> probes;
  uint64_t passed = 0, failed = 0, events = 0, seeds = 0;
  std::optional<uint64_t> first_failure;
  std::vector<Child> running;
  uint64_t next = arguments.first;
  bool is_stopping = false;
  while (!running.empty() || (next <= arguments.last && !is_stopping)) {
    while (running.size() < arguments.jobs && next <= arguments.last && !is_stopping) {
      running.push_back(start(arguments, next++));
    }
    if (running.empty()) break;
    auto const child = running.front();
    running.erase(running.begin());
    auto const told = finish(child);
    ++seeds;
    events += told.events;
    for (auto const& [name, count] : told.probes) probes[name] += count;
    if (told.failure.empty()) {
      ++passed;
      if (arguments.first == arguments.last) fmt::print("seed {}: {} trace {}\n", child.seed, told.options, told.hash);
      continue;
    }
    ++failed;
    if (!first_failure) first_failure = child.seed;
    is_stopping = arguments.stops_at_failure;
    fmt::print("FAILED seed {}: {}\n  {}\n  again: --seeds {}{}{}\n", child.seed, told.options, told.failure, child.seed,
               arguments.scenario.empty() ? "" : " --scenario " + arguments.scenario,
               arguments.mutant.empty() ? "" : " --mutant " + arguments.mutant);
  }
  auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  if (arguments.lists_probes) {
    for (auto const& [name, count] : probes) fmt::print("probe {}: {}\n", name, count);
  }
  fmt::print("{} seeds in {:.1f} s ({:.0f} a minute), {} events, {} probes seen{}\n", seeds, seconds,
             static_cast<double>(seeds) * 60 / std::max(seconds, 0.001), events, probes.size(),
             first_failure ? fmt::format(", first failure at seed {}", *first_failure) : "");
  fmt::print("{} passed, {} failed\n", passed, failed);
  return (failed == 0) == !arguments.expects_failure ? 0 : 1;
}

}  // namespace

void note_options(std::string_view options) {
  if (report_pipe >= 0 && options != current_options) {
    current_options = options;
    write_line('O', options);
  }
}

}  // namespace millrace::sim

int main(int argc, char** argv) {
  millrace::sim::Arguments arguments;
  if (!millrace::sim::parse(argc, argv, arguments)) {
    fmt::print(stderr,
               "usage: mr-sim --seeds A..B [--scenario NAME] [--mutant NAME] [--jobs N] [--nodes N] [--trace] "
               "[--twice] [--probes] [--stop-at-failure] [--expect-failure]\nscenarios:");
    for (auto const& scenario : millrace::sim::scenarios()) fmt::print(stderr, " {}", scenario.name);
    fmt::print(stderr, "\n");
    return 2;
  }
  return millrace::sim::run(arguments);
}
