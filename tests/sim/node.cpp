#include "sim/node.h"

#include "sim/network.h"

namespace millrace::sim {
namespace {

constexpr size_t kPoolThreads = 2;
constexpr size_t kTurnTasksMax = 16;

// Marks whose code is running, for the checks of "own thread only".
class RunningAs {
 public:
  RunningAs(World& world, SimReactor* reactor, bool is_pool_job) : world_(world), before_(world.current()) {
    world.current() = {reactor, is_pool_job, Duration::zero()};
  }
  ~RunningAs() { world_.current() = before_; }

 private:
  World& world_;
  World::Current before_;
};

}  // namespace

// --- reactor -----------------------------------------------------------------------------------------------------

SimReactor::SimReactor(NodeEnv& node, std::string name)
    : node_(node), name_(std::move(name)), random_(node.random("reactor/" + name_)) {}

Mono SimReactor::now() const { return node_.mono_now(); }

bool SimReactor::is_current() const { return node_.world().current().reactor == this; }

void SimReactor::post(Task task) {
  ready_.push_back({env::kNoTimer, std::move(task)});
  wake();
}

void SimReactor::at_turn_end(Task task) {
  MR_ASSERT(is_current());
  turn_end_.push_back(std::move(task));
}

env::TimerId SimReactor::call_at(Mono when, Task task) {
  MR_ASSERT(is_current());
  auto const id = next_timer_++;
  auto& timer = timers_[id];
  timer.task = std::move(task);
  if (node_.is_dead()) return id;  // never fires; destroyed with the rest
  // Never early; late by up to a millisecond, as the timer wheel is. A year stands for never.
  auto const wait = when >= Mono::never() - 24h * 365 ? Duration(24h * 365) : std::max(when - now(), Duration::zero());
  auto& world = node_.world();
  auto const late = std::chrono::microseconds(1 + random_.below(1000));
  timer.event = world.schedule(world.now() + wait + late, node_.life(), "timer", [this, id] {
    auto const found = timers_.find(id);
    MR_ASSERT(found != timers_.end());
    ready_.push_back({id, std::move(found->second.task)});
    timers_.erase(found);
    wake();
  });
  return id;
}

void SimReactor::cancel(env::TimerId timer) {
  MR_ASSERT(is_current() || node_.is_dead());
  if (timer == env::kNoTimer) return;
  if (auto const found = timers_.find(timer); found != timers_.end()) {
    node_.world().cancel(found->second.event);
    auto const dropped = std::move(found->second.task);
    timers_.erase(found);
    return;
  }
  for (auto& ready : ready_) {
    if (ready.timer != timer) continue;
    auto const dropped = std::move(ready.task);
    ready.timer = env::kNoTimer;
    return;
  }
}

void SimReactor::wake() {
  if (is_woken_ || node_.is_dead()) return;
  is_woken_ = true;
  auto& world = node_.world();
  // A thread that sleeps takes its time to wake up; now and then the kernel runs another one first.
  auto delay = std::chrono::microseconds(random_.below(20));
  if (random_.chance(0.001)) delay += std::chrono::microseconds(random_.below(20'000));
  auto const at = std::max({Duration(world.now() + delay), node_.machine().paused_until(), stalled_until_});
  world.schedule(at, node_.life(), "turn", [this] { turn(); });
}

void SimReactor::stall(Duration span) { stalled_until_ = std::max(stalled_until_, node_.world().now() + span); }

void SimReactor::resume() {
  if (stalled_until_ <= node_.world().now()) return;
  stalled_until_ = {};
  is_woken_ = false;
  wake();
}

void SimReactor::turn() {
  is_woken_ = false;
  auto& world = node_.world();
  if (world.now() < std::max(node_.machine().paused_until(), stalled_until_)) return wake();
  RunningAs const running(world, this, false);
  world.trace().note(world.now(), "turn", name_, node_.life(), ready_.size());
  auto count = std::min(ready_.size(), static_cast<size_t>(1 + random_.below(kTurnTasksMax)));
  while (count-- > 0 && !ready_.empty()) {
    auto task = std::move(ready_.front().task);
    ready_.pop_front();
    if (task) std::move(task)();
    if (node_.is_dead()) return;
  }
  while (!turn_end_.empty()) {
    auto tasks = std::exchange(turn_end_, {});
    for (auto& task : tasks) {
      std::move(task)();
      if (node_.is_dead()) return;
    }
  }
  if (!ready_.empty()) wake();
}

size_t SimReactor::destroy_queued() {
  size_t count = 0;
  while (!ready_.empty()) {
    auto const dropped = std::move(ready_.front());
    ready_.pop_front();
    ++count;
  }
  while (!turn_end_.empty()) {
    auto const dropped = std::move(turn_end_.back());
    turn_end_.pop_back();
    ++count;
  }
  while (!timers_.empty()) {
    auto const dropped = std::move(timers_.begin()->second.task);
    timers_.erase(timers_.begin());
    ++count;
  }
  return count;
}

// --- pool --------------------------------------------------------------------------------------------------------

SimPool::SimPool(NodeEnv& node, std::string name, size_t threads)
    : node_(node), name_(std::move(name)), random_(node.random("pool/" + name_)), idle_(threads) {}

void SimPool::run(env::Reactor& back, Task job, Task done) {
  waiting_.push_back({static_cast<SimReactor*>(&back), std::move(job), std::move(done)});
  if (node_.is_dead() || idle_ == 0) return;
  --idle_;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  start(std::move(next), true);
}

void SimPool::run_short(env::Reactor& back, Task job, Task done) {
  auto* reactor = static_cast<SimReactor*>(&back);
  MR_ASSERT(reactor->is_current() || node_.is_dead());
  if (node_.is_dead()) {
    waiting_.push_back({reactor, std::move(job), std::move(done)});
    return;
  }
  start({reactor, std::move(job), std::move(done)}, false);
}

void SimPool::start(Job job, bool takes_thread) {
  auto& world = node_.world();
  auto delay = std::chrono::microseconds(1 + random_.below(takes_thread ? 100 : 10));
  if (random_.chance(0.01)) delay += std::chrono::microseconds(random_.below(5'000));
  auto const at = std::max(world.now() + delay, node_.machine().paused_until());
  auto run = [this, takes_thread, work = std::move(job)]() mutable {
    auto& the_world = node_.world();
    Duration latency{};
    {
      RunningAs const running(the_world, nullptr, true);
      std::move(work.job)();
      latency = the_world.current().latency;
    }
    if (node_.is_dead()) return;
    the_world.trace().note(the_world.now(), "job", name_, node_.life(), latency.count());
    node_.machine().note_job_end(the_world.now() + latency);
    auto finish = [this, takes_thread, back = work.back, done = std::move(work.done)]() mutable {
      back->post(std::move(done));
      if (!takes_thread) return;
      if (waiting_.empty()) {
        ++idle_;
      } else {
        auto next = std::move(waiting_.front());
        waiting_.pop_front();
        start(std::move(next), true);
      }
    };
    the_world.schedule(the_world.now() + latency, node_.life(), "job done", std::move(finish));
  };
  world.schedule(at, node_.life(), "job", std::move(run));
}

size_t SimPool::destroy_queued() {
  size_t count = 0;
  while (!waiting_.empty()) {
    auto const dropped = std::move(waiting_.front());
    waiting_.pop_front();
    ++count;
  }
  return count;
}

// --- environment of one process ----------------------------------------------------------------------------------

NodeEnv::NodeEnv(Machine& machine, size_t reactors)
    : machine_(machine),
      life_(machine.world().next_life()),
      random_(machine.world().random(fmt::format("{}/life {}", machine.name(), machine.lives()))),
      uuids_(random_.fork("uuid")),
      born_(machine.world().now()),
      disk_(machine.disk().attach(*this)),
      network_(std::make_unique<NodeNetwork>(*this)) {
  mono_offset_ = std::chrono::milliseconds(random_.fork("mono").below(1'000'000'000));
  control_ = std::make_unique<SimReactor>(*this, fmt::format("{}.control", machine.name()));
  for (size_t i = 0; i < reactors; ++i) {
    reactors_.push_back(std::make_unique<SimReactor>(*this, fmt::format("{}.{}", machine.name(), i)));
  }
}

NodeEnv::~NodeEnv() = default;

World& NodeEnv::world() { return machine_.world(); }
env::Reactor& NodeEnv::reactor(size_t index) { return *reactors_.at(index); }
env::Reactor& NodeEnv::control_reactor() { return *control_; }
env::Disk& NodeEnv::disk() { return *disk_; }
env::Network& NodeEnv::network() { return *network_; }

env::Pool& NodeEnv::pool(std::string_view directory) {
  auto& pool = pools_[std::string(directory)];
  if (!pool) pool = std::make_unique<SimPool>(*this, fmt::format("{}:{}", machine_.name(), directory), kPoolThreads);
  return *pool;
}

Mono NodeEnv::mono_now() const { return {machine_.world().now() - born_ + mono_offset_}; }

Wall NodeEnv::wall_now() const { return {machine_.world().wall_ms() + machine_.wall_offset_ms()}; }

Random NodeEnv::random(std::string_view purpose) { return random_.fork(purpose); }

Uuid NodeEnv::random_uuid() {
  Uuid id;
  for (auto& byte : id.bytes) byte = static_cast<uint8_t>(uuids_.next());
  // Kafka's ids never begin with '-', which command lines take for an option, and are random version 4 UUIDs.
  id.bytes[0] &= 0x7f;
  id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
  id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

std::string NodeEnv::boot_id() { return fmt::format("{}-boot-{}", machine_.name(), machine_.boots()); }

env::Limits NodeEnv::limits() const { return {.descriptors_max = 1024}; }

void NodeEnv::freeze(CrashKind kind) {
  if (is_dead_) return;
  is_dead_ = true;
  was_crash_ = true;
  crash_kind_ = kind;
  disk_->freeze();
  network_->freeze(kind);
  world().trace().note(world().now(), "crash", machine_.name(), life_, static_cast<int>(kind));
  world().bury(*this);
}

void NodeEnv::crash_at_disk_call(int64_t number, CrashKind kind) {
  crash_kind_ = kind;
  disk_->crash_at_call(number);
}

void NodeEnv::end_orderly() {
  if (is_dead_) return;
  is_dead_ = true;
  was_crash_ = false;
  disk_->freeze();
  network_->freeze(CrashKind::process);
  world().trace().note(world().now(), "stopped", machine_.name(), life_);
  world().bury(*this);
}

size_t NodeEnv::destroy_queued() {
  size_t count = world().destroy_events(life_) + network_->destroy_queued();
  for (auto& reactor : reactors_) count += reactor->destroy_queued();
  count += control_->destroy_queued();
  for (auto& [name, pool] : pools_) count += pool->destroy_queued();
  return count;
}

int64_t NodeEnv::live_objects() const { return disk_->open_count() + network_->live_objects(); }

void NodeEnv::on_disk_call(DiskCall call, std::string_view path, int64_t detail, ByteView bytes) {
  world().trace().note(world().now(), name_of(call), path, life_, detail, bytes.size(), Trace::hash_of(bytes));
}
void NodeEnv::add_latency(Duration latency) { world().current().latency += latency; }
void NodeEnv::on_crash_point() { freeze(crash_kind_); }

void NodeEnv::probe(std::string_view name) {
  auto& probes = world().probes();
  auto const found = probes.find(name);
  if (found == probes.end()) probes.emplace(std::string(name), 1);
  else ++found->second;
  if (world().trace().is_printing()) world().trace().say(world().now(), "probe", fmt::format("{} {}", machine_.name(), name));
  world().tell_probe(machine_, name);
}
bool NodeEnv::chaos(std::string_view point) { return world().chaos().hit(point); }
bool NodeEnv::mutant(std::string_view name) { return name == world().options().mutant; }

bool NodeEnv::is_enabled(LogLevel level) const {
  return machine_.world().trace().is_printing() && level >= LogLevel::debug;
}
void NodeEnv::write(LogLevel, std::string_view area, std::string_view message) {
  world().trace().say(world().now(), "log", fmt::format("{} {}: {}", machine_.name(), area, message));
}

// --- machine -----------------------------------------------------------------------------------------------------

Machine::Machine(World& world, uint32_t number, std::string name, size_t reactors)
    : world_(world), number_(number), name_(std::move(name)), reactors_(reactors), disk_(world.random("disk of " + name_)) {
  MR_ASSERT(reactors_ > 0);
}
Machine::~Machine() { MR_ASSERT(node_ == nullptr); }

void Machine::start(ProcessFactory factory) {
  MR_ASSERT(node_ == nullptr);
  ++lives_;
  node_ = std::make_unique<NodeEnv>(*this, reactors_);
  auto* node = node_.get();
  node->sim_control().post([node, make = std::move(factory)] {
    auto process = make(*node);
    // A crash during construction leaves a whole object that is taken apart like any other.
    node->process_ = std::move(process);
  });
}

void Machine::kill(CrashKind kind) {
  if (node_) node_->freeze(kind);
}

void Machine::lose_power() {
  MR_ASSERT(node_ == nullptr);
  disk_.power_loss();
  ++boots_;
}

void Machine::stop() {
  if (!node_ || node_->is_dead()) return;
  auto* node = node_.get();
  node->sim_control().post([node] {
    if (node->process_) node->process_->stop([node] { node->end_orderly(); });
    else node->end_orderly();
  });
}

void Machine::pause(Duration span) { paused_until_ = std::max(paused_until_, world_.now() + span); }

void Machine::take_apart(NodeEnv& node) {
  MR_ASSERT(node_.get() == &node && node.is_dead());
  while (node.destroy_queued() > 0) {
  }
  node.process_.reset();
  while (node.destroy_queued() > 0) {
  }
  MR_ASSERT_VALUES(node.live_objects() == 0,
                   "{}: after destruction {} connections and listeners are left, {} files and locks:{}", name_,
                   node.node_network().live_objects(), node.sim_disk().open_count(), node.sim_disk().open_paths());
  bool const was_crash = node.was_crash();
  bool const is_power_loss = was_crash && node.crash_kind() == CrashKind::power_loss;
  node_.reset();
  if (is_power_loss) lose_power();
  if (on_end_) on_end_(was_crash);
}

}  // namespace millrace::sim
