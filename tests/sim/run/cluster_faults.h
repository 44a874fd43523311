// Does to a cluster what its plan allows, one thing after the other and often several at once, until it is stopped.
#pragma once
#include <array>
#include <functional>

#include "sim/run/cluster.h"

namespace millrace::sim {

class ClusterFaults {
 public:
  // `leader` tells which node leads the metadata quorum, where faults strike more often than elsewhere;
  // `may_lose_power` whether that node may lose now what is not on its disk, `may_lose_disk` whether all of it. Who is told
  // that it may counts as lost. `may_lose_votes`: whether a voter may forget all that it has.
  ClusterFaults(World& world, Cluster& cluster, std::function<std::optional<size_t>()> leader, std::function<bool(size_t)> may_lose_power,
                std::function<bool(size_t)> may_lose_disk, std::function<bool(size_t)> may_lose_votes);

  void start();
  // `node` has begun to lead the quorum or a partition.
  void on_new_leader(size_t node, bool is_of_quorum);
  // No new ones, and none that was armed strikes any more.
  void stop();
  // One that somebody else has struck.
  void note(FaultKind kind) { ++counts_[static_cast<size_t>(kind)]; }
  uint64_t count() const;
  uint64_t count(FaultKind kind) const { return counts_[static_cast<size_t>(kind)]; }
  std::string text() const;

 private:
  void next();
  void next_lost_disk();
  void strike(FaultKind kind);
  size_t draw_victim();
  // Something sudden: it dies, loses power, is cut off or hangs.
  void strike_node(size_t node);
  void strike_when_back(size_t returning, size_t node, Duration patience);
  void isolate(size_t node);
  // What was done.
  FaultKind lose_power(size_t index);
  Duration draw(Duration low, Duration high) { return Duration(random_.between(low.count(), high.count())); }
  // Not after stop(), which heals everything anyhow.
  void after(Duration wait, Task task);
  void cut_for(std::vector<std::pair<size_t, size_t>> ways);

  World& world_;
  Cluster& cluster_;
  std::function<std::optional<size_t>()> leader_;
  std::function<bool(size_t)> may_lose_power_;
  std::function<bool(size_t)> may_lose_disk_;
  std::function<bool(size_t)> may_lose_votes_;
  Random random_;
  Random disk_losses_;
  bool is_on_ = false;
  std::array<uint64_t, kFaultKinds> counts_{};
};

}  // namespace millrace::sim
