#include "sim/run/cluster_faults.h"

#include <numeric>

namespace millrace::sim {

using namespace std::chrono_literals;

constexpr Duration kReturnPatience = 5s;
constexpr Duration kReturnCheck = 5ms;
constexpr Duration kDiskLossMin = 200ms, kDiskLossMax = 2s;

ClusterFaults::ClusterFaults(World& world, Cluster& cluster, std::function<std::optional<size_t>()> leader, std::function<bool(size_t)> may_lose_power,
                             std::function<bool(size_t)> may_lose_disk, std::function<bool(size_t)> may_lose_votes)
    : world_(world),
      cluster_(cluster),
      leader_(std::move(leader)),
      may_lose_power_(std::move(may_lose_power)),
      may_lose_disk_(std::move(may_lose_disk)),
      may_lose_votes_(std::move(may_lose_votes)),
      random_(world.random("cluster faults")),
      disk_losses_(random_.fork("voter disks")) {}

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
  if (cluster_.plan().has(FaultKind::late_segments)) network.late_segment = 0.0005 * static_cast<double>(1 + random_.fork("late segments").below(10));
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto& disk = cluster_.machine(i).disk();
    disk.set_eviction(random.chance(0.3) ? 0.05 : 0.0);
    if (random.chance(0.2)) disk.speed().sync = 20ms;
  }
  next();
  if (cluster_.plan().has(FaultKind::lose_voter_disk)) next_lost_disk();
}

void ClusterFaults::next_lost_disk() {
  after(Duration(disk_losses_.between(kDiskLossMin.count(), kDiskLossMax.count())), [this] {
    auto const victim = disk_losses_.below(cluster_.size());
    if (may_lose_votes_(victim)) {
      note(FaultKind::lose_voter_disk);
      cluster_.wipe(victim);
    }
    next_lost_disk();
  });
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
    for (size_t i = 0; i < kDrawnFaultKinds; ++i) {
      auto const kind = static_cast<FaultKind>(i);
      // That one comes with the elections.
      if (cluster_.plan().has(kind) && kind != FaultKind::strike_new_leader) kinds.push_back(kind);
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
  auto const victim = draw_victim();
  auto const other = (victim + 1 + random_.below(cluster_.size() - 1)) % cluster_.size();
  auto& machine = cluster_.machine(victim);
  auto& disk = machine.disk();
  bool const may_lose_power = cluster_.plan().has(FaultKind::power_loss);
  std::vector<std::pair<size_t, size_t>> ways;
  // Those count themselves, if they strike.
  if (kind != FaultKind::power_loss && kind != FaultKind::failing_disk && kind != FaultKind::wipe) note(kind);
  switch (kind) {
    case FaultKind::process_crash: return machine.kill(CrashKind::process);
    case FaultKind::power_loss:
      // Sometimes everywhere: one power line feeds the rack.
      if (!random_.chance(0.1)) return note(lose_power(victim));
      for (size_t i = 0; i < cluster_.size(); ++i) note(lose_power(i));
      return;
    case FaultKind::crash_at_disk_call:
      if (cluster_.node(victim) != nullptr) {
        // It strikes later, when it is not known what else has been lost by then.
        auto const how = may_lose_power && (cluster_.plan().is_flush || !cluster_.plan().nodes[victim].is_broker) && random_.chance(0.7) ? CrashKind::power_loss : CrashKind::process;
        machine.node()->crash_at_disk_call(machine.node()->sim_disk().calls() + 1 + static_cast<int64_t>(random_.below(60)), how);
      }
      return;
    case FaultKind::orderly_stop: return machine.stop();
    case FaultKind::isolate: return isolate(victim);
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
      DiskFault fault{.call = calls[random_.below(4)], .skip = static_cast<int>(random_.below(10))};
      // Who is started on a disk that failed does not know what is left of its page cache, and comes back as after a power loss.
      if (!may_lose_power_(victim)) return;
      note(kind);
      return disk.add_fault(fault);
    }
    case FaultKind::strike_new_leader:
    case FaultKind::lagging_successor:
    case FaultKind::strike_usurper:
    case FaultKind::strike_thin_set:
    case FaultKind::strike_joining:
    case FaultKind::late_segments:
    case FaultKind::late_fetch:
    case FaultKind::late_cut:
    case FaultKind::lose_voter_disk: return;
    case FaultKind::strike_after_return:
      machine.kill(CrashKind::process);
      return strike_when_back(victim, other, kReturnPatience);
    case FaultKind::wipe:
      if (!cluster_.plan().has_own_metadata_disk || !cluster_.plan().nodes[victim].is_broker || cluster_.node(victim) == nullptr) return;
      if (!may_lose_disk_(victim)) return;
      note(kind);
      return cluster_.wipe(victim);
    case FaultKind::full_disk:
      disk.set_capacity(disk.used_bytes() + static_cast<int64_t>(random_.below(3000)));
      return after(draw(200ms, 2s), [&disk] { disk.set_capacity(int64_t{1} << 40); });
  }
}

void ClusterFaults::isolate(size_t node) {
  std::vector<std::pair<size_t, size_t>> ways;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    if (i != node) ways.insert(ways.end(), {{i, node}, {node, i}});
  }
  cut_for(std::move(ways));
}

void ClusterFaults::strike_node(size_t node) {
  switch (random_.below(4)) {
    case 0: return isolate(node);
    case 1: return cluster_.machine(node).pause(draw(10ms, 3s));
    case 2:
      if (cluster_.plan().has(FaultKind::power_loss)) {
        lose_power(node);
        return;
      }
      [[fallthrough]];
    default: return cluster_.machine(node).kill(CrashKind::process);
  }
}

void ClusterFaults::strike_when_back(size_t returning, size_t node, Duration patience) {
  after(kReturnCheck, [this, returning, node, patience] {
    if (cluster_.is_serving(returning)) return after(draw(0ms, 200ms), [this, node] { strike_node(node); });
    if (patience > Duration::zero()) strike_when_back(returning, node, patience - kReturnCheck);
  });
}

// When a node dies all its partitions get new leaders at once.
void ClusterFaults::on_new_leader(size_t node, bool is_of_quorum) {
  if (!is_on_ || !cluster_.plan().has(FaultKind::strike_new_leader) || !random_.chance(is_of_quorum ? 0.3 : 0.03)) return;
  note(FaultKind::strike_new_leader);
  // Those who voted for it have heard nothing yet, and would do so again in the same epoch.
  if (is_of_quorum && random_.fork("restart at once").chance(0.4)) return after(Duration::zero(), [this, node] { cluster_.restart_at_once(node); });
  after(random_.chance(0.5) ? Duration::zero() : draw(0ms, 60ms), [this, node] { strike_node(node); });
}

FaultKind ClusterFaults::lose_power(size_t index) {
  bool const may_lose = cluster_.node(index) != nullptr && may_lose_power_(index);
  cluster_.machine(index).kill(may_lose ? CrashKind::power_loss : CrashKind::process);
  return may_lose ? FaultKind::power_loss : FaultKind::process_crash;
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
