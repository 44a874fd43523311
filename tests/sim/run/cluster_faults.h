// Does to a cluster what its plan allows, one thing after the other and often several at once, until it is stopped.
#pragma once
#include <array>
#include <functional>

#include "sim/run/cluster.h"

namespace millrace::sim {

class ClusterFaults {
 public:
  // `leader` tells which node leads the metadata quorum, where faults strike more often than elsewhere;
  // `may_lose_power` whether that node may lose now what is not on its disk.
  ClusterFaults(World& world, Cluster& cluster, std::function<std::optional<size_t>()> leader, std::function<bool(size_t)> may_lose_power);

  void start();
  // No new ones, and none that was armed strikes any more.
  void stop();
  uint64_t count() const;
  std::string text() const;

 private:
  void next();
  void strike(FaultKind kind);
  size_t draw_victim();
  void lose_power(size_t index);
  Duration draw(Duration low, Duration high) { return Duration(random_.between(low.count(), high.count())); }
  // Not after stop(), which heals everything anyhow.
  void after(Duration wait, Task task);
  void cut_for(std::vector<std::pair<size_t, size_t>> ways);

  World& world_;
  Cluster& cluster_;
  std::function<std::optional<size_t>()> leader_;
  std::function<bool(size_t)> may_lose_power_;
  Random random_;
  bool is_on_ = false;
  std::array<uint64_t, kFaultKinds> counts_{};
};

}  // namespace millrace::sim
