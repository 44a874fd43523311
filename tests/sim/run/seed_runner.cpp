#include "sim/run/seed_runner.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace millrace::sim {
namespace {

constexpr unsigned kCpuSecondsPerSeedMax = 120;
constexpr unsigned kSecondsPerSeedMax = 20 * kCpuSecondsPerSeedMax;  // for one that waits for ever; others may use the machine

// A child tells its parent line by line; the first letter says what.
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

[[noreturn]] void run_child(SeedOrder const& order, uint64_t seed) {
  ::itimerval const cpu_limit{.it_interval = {}, .it_value = {kCpuSecondsPerSeedMax, 0}};
  ::setitimer(ITIMER_PROF, &cpu_limit, nullptr);
  ::alarm(kSecondsPerSeedMax);
  auto const all = scenarios();
  auto const* scenario =
      order.scenario.empty() ? &all[seed % (all.size() - kScenariosAskedFor)] : find_scenario(order.scenario);
  ScenarioInput input;
  input.seed = seed;
  input.mutant = order.mutant;
  input.node_count = order.node_count;
  input.trace = order.has_trace ? stdout : nullptr;
  auto result = scenario->run(input);
  if (order.runs_twice) {
    input.trace = nullptr;
    auto const again = scenario->run(input);
    if (again.hash != result.hash && result.failure.empty()) {
      result.failure = fmt::format("the same seed gave traces {:016x} and {:016x}", result.hash, again.hash);
    }
  }
  write_line('O', result.options);
  write_line('H', fmt::format("{:016x}", result.hash));
  write_line('E', fmt::format("{}", result.events));
  for (auto const& [name, count] : result.counts) write_line('C', fmt::format("{} {}", count, name));
  for (auto const& [name, count] : result.probes) write_line('P', fmt::format("{} {}", count, name));
  write_line('F', result.failure);
  std::fflush(stdout);
  ::_exit(0);
}

void add_count(Counts& counts, std::string const& line) {
  counts[line.substr(line.find(' ') + 1)] += std::strtoull(line.c_str(), nullptr, 10);
}

}  // namespace

Scenario const* find_scenario(std::string_view name) {
  for (auto const& scenario : scenarios()) {
    if (scenario.name == name) return &scenario;
  }
  return nullptr;
}

void note_options(std::string_view options) {
  if (report_pipe >= 0 && options != current_options) {
    current_options = options;
    write_line('O', options);
  }
}

void SeedRunner::start(SeedOrder const& order, uint64_t seed) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(stdout);
  std::fflush(stderr);
  auto const process = ::fork();
  if (process < 0) std::abort();
  if (process == 0) {
    ::close(ends[0]);
    report_pipe = ends[1];
    run_child(order, seed);
  }
  ::close(ends[1]);
  running_.push_back({seed, process, ends[0], {}});
}

SeedResult SeedRunner::wait() {
  while (true) {
    std::vector<pollfd> pipes;
    for (auto const& child : running_) pipes.push_back({child.pipe, POLLIN, 0});
    ::poll(pipes.data(), pipes.size(), -1);
    for (size_t i = 0; i < pipes.size(); ++i) {
      if (pipes[i].revents == 0) continue;
      char buffer[4096];
      auto const count = ::read(running_[i].pipe, buffer, sizeof buffer);
      if (count > 0) {
        running_[i].text.append(buffer, static_cast<size_t>(count));
        continue;
      }
      auto const child = std::move(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      return finish(child);
    }
  }
}

SeedResult SeedRunner::finish(Child const& child) {
  ::close(child.pipe);
  int status = 0;
  ::waitpid(child.process, &status, 0);
  SeedResult out;
  out.seed = child.seed;
  out.has_died = true;
  auto const& text = child.text;
  size_t at = 0;
  while (at < text.size()) {
    auto const end = text.find('\n', at);
    auto line = text.substr(at, end - at);
    at = end == std::string::npos ? text.size() : end + 1;
    if (line.empty()) continue;
    auto value = line.substr(1);
    for (auto& c : value) c = c == '\r' ? '\n' : c;
    switch (line[0]) {
      case 'O': out.options = value; break;
      case 'H': out.hash = value; break;
      case 'E': out.events = std::strtoull(value.c_str(), nullptr, 10); break;
      case 'C': add_count(out.counts, value); break;
      case 'P': add_count(out.probes, value); break;
      case 'F': out.failure = value, out.has_died = false; break;
      default: break;
    }
  }
  if (out.has_died) {
    bool const is_late = WIFSIGNALED(status) && (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM);
    out.failure = WIFSIGNALED(status) ? fmt::format("the process ended with signal {} ({})", WTERMSIG(status),
                                                    is_late ? "no end in time" : "see above")
                                      : fmt::format("the process ended with status {}", WEXITSTATUS(status));
  }
  return out;
}

}  // namespace millrace::sim
