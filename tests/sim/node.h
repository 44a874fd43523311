// A machine (disk, clocks, address: they outlive a crash) and the environment of one process that runs on it. A crash
// freezes disk, network and timers from the call it happens in; the process's objects are destroyed afterwards, by
// the world, never inside a call of the process.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/env/env.h"
#include "sim/disk.h"
#include "sim/world.h"

namespace millrace::sim {

class NodeEnv;
class NodeNetwork;

enum class CrashKind {
  process,     // the page cache and the kernel live on
  power_loss,  // un-synced writes may be lost, peers hear nothing
};

// Whatever runs on a machine. Made and started on the machine's control reactor; destroyed by the world.
class Process {
 public:
  virtual ~Process() = default;
  // An orderly end: calls `done` once everything is stopped. Then the object is destroyed.
  virtual void stop(Task done) { std::move(done)(); }
};
using ProcessFactory = std::function<std::unique_ptr<Process>(NodeEnv&)>;

class SimReactor final : public env::Reactor {
 public:
  SimReactor(NodeEnv& node, std::string name);

  Mono now() const override;
  void post(Task task) override;
  void at_turn_end(Task task) override;
  env::TimerId call_at(Mono when, Task task) override;
  void cancel(env::TimerId timer) override;
  bool is_current() const override;

  NodeEnv& node() const { return node_; }
  std::string const& name() const { return name_; }
  // The thread is put aside for a while, and the others of its process run.
  void stall(Duration span);
  void resume();
  // Destroys what is queued; returns how much there was.
  size_t destroy_queued();

 private:
  struct Ready {
    env::TimerId timer{};
    Task task;
  };
  void wake();
  void turn();

  NodeEnv& node_;
  std::string name_;
  Random random_;
  std::deque<Ready> ready_;
  std::vector<Task> turn_end_;
  struct Timer {
    EventId event{};
    Task task;
  };
  std::map<env::TimerId, Timer> timers_;
  env::TimerId next_timer_ = 1;
  bool is_woken_ = false;
  Duration stalled_until_{};
};

class SimPool final : public env::Pool {
 public:
  SimPool(NodeEnv& node, std::string name, size_t threads);
  void run(env::Reactor& back, Task job, Task done) override;
  void run_short(env::Reactor& back, Task job, Task done) override;
  size_t destroy_queued();

 private:
  struct Job {
    SimReactor* back{};
    Task job;
    Task done;
  };
  void start(Job job, bool takes_thread);

  NodeEnv& node_;
  std::string name_;
  Random random_;
  size_t idle_;
  std::deque<Job> waiting_;
};

class NodeEnv final : public env::Env, private DiskHost, private Hooks, private Logger {
 public:
  NodeEnv(Machine& machine, size_t reactors);
  ~NodeEnv() override;

  size_t reactor_count() const override { return reactors_.size(); }
  env::Reactor& reactor(size_t index) override;
  env::Reactor& control_reactor() override;
  env::Pool& pool(std::string_view directory) override;
  env::Disk& disk() override;
  env::Network& network() override;
  Wall wall_now() const override;
  Random random(std::string_view purpose) override;
  Uuid random_uuid() override;
  std::string boot_id() override;
  env::Limits limits() const override;
  Logger& log() override { return *this; }
  Hooks& hooks() override { return *this; }

  Machine& machine() { return machine_; }
  World& world();
  LifeId life() const { return life_; }
  SimDisk& sim_disk() { return *disk_; }
  NodeNetwork& node_network() { return *network_; }
  SimReactor& sim_reactor(size_t index) { return *reactors_[index]; }
  SimReactor& sim_control() { return *control_; }

  // Frozen: nothing that this life does has an effect any more.
  bool is_dead() const { return is_dead_; }
  void freeze(CrashKind kind);
  // The crash comes inside the disk call with this number, counted from the process's start; 0: there is none any more.
  void crash_at_disk_call(int64_t number, CrashKind kind);
  CrashKind crash_kind() const { return crash_kind_; }
  bool was_crash() const { return was_crash_; }
  void end_orderly();  // freeze for a process that has stopped by itself
  size_t destroy_queued();
  // Connections, listeners, files and locks that the process has not closed.
  int64_t live_objects() const;
  Mono mono_now() const;

 private:
  friend class Machine;
  // DiskHost
  void on_disk_call(DiskCall call, std::string_view path, int64_t detail, ByteView bytes) override;
  void add_latency(Duration latency) override;
  Wall disk_time() override { return wall_now(); }
  void on_crash_point() override;
  // Hooks
  void probe(std::string_view name) override;
  bool chaos(std::string_view point) override;
  bool mutant(std::string_view name) override;
  // Logger
  bool is_enabled(LogLevel level) const override;
  void write(LogLevel level, std::string_view area, std::string_view message) override;

  Machine& machine_;
  LifeId life_;
  Random random_;
  Random uuids_;
  Duration born_;
  Duration mono_offset_;
  bool is_dead_ = false;
  bool was_crash_ = true;
  CrashKind crash_kind_ = CrashKind::process;
  std::unique_ptr<SimDisk> disk_;
  std::unique_ptr<NodeNetwork> network_;
  std::unique_ptr<SimReactor> control_;
  std::vector<std::unique_ptr<SimReactor>> reactors_;
  std::map<std::string, std::unique_ptr<SimPool>, std::less<>> pools_;
  std::unique_ptr<Process> process_;
};

class Machine {
 public:
  Machine(World& world, uint32_t number, std::string name, size_t reactors);
  ~Machine();

  World& world() { return world_; }
  uint32_t number() const { return number_; }
  std::string const& name() const { return name_; }
  std::string ip() const { return fmt::format("10.0.0.{}", number_); }
  DiskImage& disk() { return disk_; }

  // Starts a process on this machine's disk: the factory runs as the first task of the control reactor.
  void start(ProcessFactory factory);
  bool is_running() const { return node_ != nullptr; }
  NodeEnv* node() { return node_.get(); }
  Process* process() { return node_ ? node_->process_.get() : nullptr; }
  // Freezes the process at once. It is taken apart by the world, now or after the running event. No-op when down.
  void kill(CrashKind kind);
  // The machine, on which no process runs, loses power.
  void lose_power();
  // Asks the process to stop; it is destroyed when it says so.
  void stop();
  // Called by the world.
  void take_apart(NodeEnv& node);

  // The wall clock jumps; the monotonic one does not.
  void jump_wall(int64_t ms) { wall_offset_ms_ += ms; }
  int64_t wall_offset_ms() const { return wall_offset_ms_; }
  // No event of this machine runs for `span` (SIGSTOP, a long scheduling delay).
  void pause(Duration span);
  Duration paused_until() const { return paused_until_; }
  // When the last job ends that the pools have begun so far.
  Duration busy_until() const { return busy_until_; }
  void note_job_end(Duration at) { busy_until_ = std::max(busy_until_, at); }
  // Called in the world's loop after a process has ended, for whatever reason.
  void on_end(std::function<void(bool was_crash)> handler) { on_end_ = std::move(handler); }
  uint32_t boots() const { return boots_; }
  uint32_t lives() const { return lives_; }

 private:
  friend class NodeEnv;
  World& world_;
  uint32_t number_;
  std::string name_;
  size_t reactors_;
  DiskImage disk_;
  uint32_t boots_ = 1;
  uint32_t lives_ = 0;
  int64_t wall_offset_ms_ = 0;
  Duration paused_until_{};
  Duration busy_until_{};
  std::unique_ptr<NodeEnv> node_;
  std::function<void(bool)> on_end_;
};

}  // namespace millrace::sim
