// One simulated world: a single queue of events ordered by (virtual time, seeded tie-break, sequence), the machines,
// the network between them and the trace. Everything runs in the caller's thread inside run_*().
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/base/task.h"
#include "millrace/base/time.h"
#include "sim/trace.h"

namespace millrace::sim {

class Machine;
class Network;
class NodeEnv;
class SimReactor;

using EventId = uint64_t;
inline constexpr EventId kNoEvent = 0;
// Who an event belongs to: one life of one machine, or the world itself.
using LifeId = uint32_t;
inline constexpr LifeId kWorldLife = 0;

// Rare paths taken on purpose, chosen per seed: each point is off in some runs and frequent in others.
class Chaos {
 public:
  Chaos(Random random, bool is_on) : random_(random), is_on_(is_on) {}
  bool hit(std::string_view point);

 private:
  struct Point {
    Random random;
    double probability;
  };
  Random random_;
  bool is_on_;
  std::map<std::string, Point, std::less<>> points_;
};

struct WorldOptions {
  uint64_t seed = 1;
  std::string mutant{};   // the rule that is switched off
  bool has_chaos = true;  // MR_CHAOS points may fire
  std::FILE* trace = nullptr;
};

class World {
 public:
  explicit World(WorldOptions options);
  ~World();
  World(World const&) = delete;
  World& operator=(World const&) = delete;

  WorldOptions const& options() const { return options_; }
  Random random(std::string_view purpose) const { return root_.fork(purpose); }
  Trace& trace() { return trace_; }
  Network& network() { return *network_; }
  Chaos& chaos() { return chaos_; }
  // How often each MR_PROBE ran.
  std::map<std::string, uint64_t, std::less<>>& probes() { return probes_; }
  // Called inside the product's code: the handler may only schedule what it does.
  void on_probe(std::function<void(Machine&, std::string_view name)> handler) { on_probe_ = std::move(handler); }
  void tell_probe(Machine& machine, std::string_view name) {
    if (on_probe_) on_probe_(machine, name);
  }

  // A machine lives as long as the world; its disk survives its processes.
  Machine& add_machine(std::string const& name, size_t reactors = 2);
  std::vector<std::unique_ptr<Machine>> const& machines() const { return machines_; }

  Duration now() const { return now_; }
  int64_t wall_ms() const;
  EventId schedule(Duration at, LifeId owner, std::string_view kind, Task task);
  void cancel(EventId id);
  // Runs one event; false when there is none.
  bool step();
  void run_until(Duration until);
  void run_for(Duration span) { run_until(now_ + span); }
  // Runs until `condition` holds (true) or `limit` has passed (false).
  bool run_while_not(std::function<bool()> const& condition, Duration limit);
  uint64_t events_run() const { return events_run_; }
  // Whose event ran last.
  LifeId last_owner() const { return last_owner_; }

  // Destroys every queued event of a life; returns how many there were.
  size_t destroy_events(LifeId owner);
  LifeId next_life() { return next_life_++; }
  // Called by a node that froze: it is taken apart once the running event has returned.
  void bury(NodeEnv& node);

  // Which reactor's task, or which pool's job, is running now.
  struct Current {
    SimReactor* reactor = nullptr;
    bool is_pool_job = false;
    Duration latency{};  // spent by the job's disk calls
  };
  Current& current() { return current_; }

 private:
  struct Event {
    Duration at{};
    uint64_t tie{};
    uint64_t sequence{};
    uint32_t slot{};
    friend bool operator>(Event const& a, Event const& b) {
      return std::tie(a.at, a.tie, a.sequence) > std::tie(b.at, b.tie, b.sequence);
    }
  };
  struct Slot {
    uint32_t generation = 1;
    bool is_used = false;
    LifeId owner{};
    std::string_view kind;
    Task task;
  };
  void finish_burials();
  Task take(uint32_t slot);

  WorldOptions options_;
  Random root_;
  Random ties_;
  Chaos chaos_;
  Trace trace_;
  std::map<std::string, uint64_t, std::less<>> probes_;
  std::function<void(Machine&, std::string_view)> on_probe_;
  Duration now_{};
  uint64_t next_sequence_ = 1;
  uint64_t events_run_ = 0;
  LifeId last_owner_ = kWorldLife;
  LifeId next_life_ = 1;
  std::vector<Event> queue_;  // a heap, the earliest first
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_slots_;
  Current current_;
  std::vector<NodeEnv*> to_bury_;
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Machine>> machines_;
};

}  // namespace millrace::sim
