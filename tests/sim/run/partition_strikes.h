// Faults that come at the moments at which a partition is most easily hurt: when one replica has less than another and
// the leader goes, when a leader was deposed alive, when no more are in sync than must be, when somebody is about to
// join.
#pragma once
#include <functional>
#include <optional>

#include "millrace/metadata/image.h"
#include "sim/run/cluster.h"

namespace millrace::sim {

class PartitionStrikes {
 public:
  struct Means {
    std::function<bool(size_t)> may_lose_power;          // that node, now, what is not on its disk: then it does
    std::function<std::optional<size_t>()> controller;   // who leads the quorum
    std::function<void()> elect_preferred;               // leaders of partitions
    std::function<void(FaultKind)> count;
  };
  PartitionStrikes(World& world, Cluster& cluster, Means means);

  void start();
  void stop() { is_on_ = false; }
  // The newest image that any node has; one after the other, also while nothing is struck.
  void on_image(metadata::ImagePtr const& image);
  // A replica that is not in sync has everything that its leader has.
  void on_caught_up(size_t node, size_t leader);

 private:
  using Partition = metadata::PartitionImage;
  static size_t node_of(BrokerId broker) { return static_cast<size_t>(broker.value - 1); }
  bool has(FaultKind kind) const { return cluster_.plan().has(kind); }
  Duration draw(Duration low, Duration high) { return Duration(random_.between(low.count(), high.count())); }
  void after(Duration wait, Task task);
  void note(FaultKind kind, size_t node);
  void cut_for(size_t from, size_t to, Duration span);  // one way
  void part_for(size_t a, size_t b, Duration span);     // both
  void isolate_for(size_t node, Duration span);
  void strike_suddenly(size_t node);
  // It ends and is back at once.
  void power_cycle(size_t node, CrashKind how);
  struct Found {
    TopicIdPartition id;
    metadata::PartitionImagePtr partition;
  };
  std::vector<Found> find(std::function<bool(Partition const&)> const& condition) const;

  void next_lagging();
  void strike_lagging(Partition const& partition);
  void next_usurper();
  void on_deposed_alive(Partition const& partition, size_t old_leader);
  void on_diverging_fetch(size_t leader);
  void on_usurper_gone();
  void on_thin_set(Partition const& partition);
  void next_late_fetch();
  void strike_late_fetch(Partition const& partition);
  void next_late_cut();
  void strike_late_cut(Found const& found);
  void elect_usurper();
  void stop_usurper();
  void watch_late_cut();
  bool has_next_leader_counted(TopicIdPartition id, LeaderEpoch after, size_t leader, size_t follower);
  void on_partition(Partition const& before, Partition const& now);

  World& world_;
  Cluster& cluster_;
  Means means_;
  Random random_;
  metadata::ImagePtr image_;
  bool is_on_ = false;
  struct Usurped {
    size_t usurper{};                // leads since a moment ago
    size_t bystander{};              // follows it, beside the leader before
    std::optional<size_t> stalled;   // one of its reactors
  };
  std::optional<Usurped> usurped_;
  struct LateCut {
    TopicIdPartition id;
    size_t holder{};                // led before, and leads again
    size_t usurper{};               // leads in between, with less
    size_t bystander{};             // follows both, and is to cut what the usurper has not
    std::optional<size_t> stalled;  // the bystander's reactor that is to hear it
    LeaderEpoch told_in{-1};        // the usurper's
  };
  std::optional<LateCut> late_cut_;
  Duration no_thin_before_{}, no_joining_before_{};
};

}  // namespace millrace::sim
