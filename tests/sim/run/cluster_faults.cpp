#include "sim/run/cluster_faults.h"

#include <numeric>

namespace millrace::sim {

using namespace std::chrono_literals;

ClusterFaults::ClusterFaults(World& world, Cluster& cluster, std::function<std::optional<size_t>()> leader, std::function<bool(size_t)> may_lose_power)
    : world_(world), cluster_(cluster), leader_(std::move(leader)), may_lose_power_(std::move(may_lose_power)), random_(world.random("cluster faults")) {}

void ClusterFaults::after(Duration wait, Task task) {
  world_.schedule(world_.now() + wait, kWorldLife, "fault", [this, task = std::move(task)]() mutable {
    if (is_on_) std::move(task)();
  });
}

void ClusterFaults::start() {
  is_on_ = true;
  auto& network = world_.network().faults();
  auto random = random_.fork("network");
  auto const some = [&](double p, double value) { return random.chance(p) ? value : 0.0; };
  network.slow_link = some(0.3, 0.3);
  network.small_window = some(0.2, 0.2);
  network.byte_reads = some(0.1, 0.1);
  network.split_reads = random.chance(0.5) ? 0.3 : 0.0;
  network.reset = some(0.3, 0.2);
  network.refuse = some(0.2, 0.1);
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto& disk = cluster_.machine(i).disk();
    disk.set_eviction(random.chance(0.3) ? 0.05 : 0.0);
    if (random.chance(0.2)) disk.speed().sync = 20ms;
  }
  next();
}

void ClusterFaults::stop() {
  is_on_ = false;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto* env = cluster_.machine(i).node();
    if (env != nullptr && !env->is_dead()) env->crash_at_disk_call(0, CrashKind::process);
  }
  cluster_.heal_all();
}

void ClusterFaults::next() {
  after(draw(10ms, cluster_.plan().fault_interval), [this] {
    std::vector<FaultKind> kinds;
    for (size_t i = 0; i < kFaultKinds; ++i) {
      if (cluster_.plan().has_fault[i]) kinds.push_back(static_cast<FaultKind>(i));
    }
    if (!kinds.empty()) strike(kinds[random_.below(kinds.size())]);
    next();
  });
}

size_t ClusterFaults::draw_victim() {
  auto const leader = leader_();
  return leader && random_.chance(0.4) ? *leader : random_.below(cluster_.size());
}

void ClusterFaults::cut_for(std::vector<std::pair<size_t, size_t>> ways) {
  for (auto const& [from, to] : ways) cluster_.cut(from, to);
  after(draw(50ms, 5s), [this, ways = std::move(ways)] {
    for (auto const& [from, to] : ways) cluster_.heal(from, to);
  });
}

void ClusterFaults::strike(FaultKind kind) {
  ++counts_[static_cast<size_t>(kind)];
  auto const victim = draw_victim();
  auto const other = (victim + 1 + random_.below(cluster_.size() - 1)) % cluster_.size();
  auto& machine = cluster_.machine(victim);
  auto& disk = machine.disk();
  bool const may_lose_power = cluster_.plan().has(FaultKind::power_loss);
  std::vector<std::pair<size_t, size_t>> ways;
  switch (kind) {
    case FaultKind::process_crash: return machine.kill(CrashKind::process);
    case FaultKind::power_loss:
      // Sometimes everywhere: one power line feeds the rack.
      if (!random_.chance(0.1)) return lose_power(victim);
      for (size_t i = 0; i < cluster_.size(); ++i) lose_power(i);
      return;
    case FaultKind::crash_at_disk_call:
      if (cluster_.node(victim) != nullptr) {
        // It strikes later, when it is not known what else has been lost by then.
        auto const how = may_lose_power && (cluster_.plan().is_flush || !cluster_.plan().nodes[victim].is_broker) && random_.chance(0.7) ? CrashKind::power_loss : CrashKind::process;
        machine.node()->crash_at_disk_call(machine.node()->sim_disk().calls() + 1 + static_cast<int64_t>(random_.below(60)), how);
      }
      return;
    case FaultKind::orderly_stop: return machine.stop();
    case FaultKind::isolate:
      for (size_t i = 0; i < cluster_.size(); ++i) {
        if (i != victim) ways.insert(ways.end(), {{i, victim}, {victim, i}});
      }
      return cut_for(std::move(ways));
    case FaultKind::cut_pair: return cut_for({{victim, other}, {other, victim}});
    case FaultKind::cut_one_way: return cut_for({{victim, other}});
    case FaultKind::deaf_or_mute: {
      bool const is_deaf = random_.chance(0.5);
      for (size_t i = 0; i < cluster_.size(); ++i) {
        if (i != victim) ways.push_back(is_deaf ? std::pair(i, victim) : std::pair(victim, i));
      }
      return cut_for(std::move(ways));
    }
    case FaultKind::cut_halves: {
      std::vector<bool> is_here(cluster_.size());
      for (size_t i = 0; i < is_here.size(); ++i) is_here[i] = random_.chance(0.5);
      for (size_t i = 0; i < is_here.size(); ++i) {
        for (size_t k = 0; k < is_here.size(); ++k) {
          if (is_here[i] != is_here[k]) ways.emplace_back(i, k);
        }
      }
      return cut_for(std::move(ways));
    }
    case FaultKind::reset: return world_.network().reset_connections(machine);
    case FaultKind::pause: return machine.pause(draw(10ms, 3s));
    case FaultKind::clock_jump: return machine.jump_wall(random_.between(-600'000, 600'000));
    case FaultKind::slow_disk:
      disk.speed().call = draw(1ms, 50ms);
      return after(draw(100ms, 2s), [&disk] { disk.speed().call = DiskSpeed().call; });
    case FaultKind::stalled_sync:
      disk.speed().sync = draw(200ms, 2s);
      return after(draw(100ms, 3s), [&disk] { disk.speed().sync = DiskSpeed().sync; });
    case FaultKind::failing_disk: {
      DiskCall const calls[] = {DiskCall::sync, DiskCall::write, DiskCall::rename, DiskCall::sync_directory};
      return disk.add_fault({.call = calls[random_.below(4)], .skip = static_cast<int>(random_.below(10))});
    }
    case FaultKind::full_disk:
      disk.set_capacity(disk.used_bytes() + static_cast<int64_t>(random_.below(3000)));
      return after(draw(200ms, 2s), [&disk] { disk.set_capacity(int64_t{1} << 40); });
  }
}

void ClusterFaults::lose_power(size_t index) {
  cluster_.machine(index).kill(may_lose_power_(index) ? CrashKind::power_loss : CrashKind::process);
}

uint64_t ClusterFaults::count() const { return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}); }

std::string ClusterFaults::text() const {
  std::string out;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (counts_[i] > 0) out += fmt::format("{}{}*{}", out.empty() ? "" : ",", name_of(static_cast<FaultKind>(i)), counts_[i]);
  }
  return out;
}

}  // namespace millrace::sim
