// The machines of a simulated cluster and the nodes on them. A node that ends, for whatever reason, is started again
// after a while, as a service manager would.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/broker/local_node.h"
#include "sim/network.h"
#include "sim/run/cluster_plan.h"

namespace millrace::sim {

inline constexpr uint16_t kClientPort = 9092;
inline constexpr uint16_t kControllerPort = 9093;

std::string rack_of(size_t index);

// One node of the cluster as the server composes it.
class ClusterNode final : public Process {
 public:
  // `reason` outlives it: why it gave up last.
  ClusterNode(NodeEnv& env, ClusterPlan const& plan, size_t index, bool is_first_start, std::string& reason);

  void stop(Task done) override;
  broker::LocalNode& node() { return *node_; }
  bool is_serving() const { return node_->phase() == broker::LocalNode::Phase::serving; }
  // Null before it is loaded.
  raft::Machine const* quorum() const {
    return node_->controller() == nullptr ? nullptr : node_->controller()->quorum();
  }
  // What this node has published to itself; null before the first time.
  metadata::Image const* image() const {
    return node_->controller() == nullptr ? nullptr : node_->controller()->publisher().published().get();
  }
  // What this node's partitions have been told, which may be ahead of what all of it has; null before the first time.
  metadata::ImagePtr const& told() const { return told_; }
  // After each of its events.
  void listen();
  std::string describe() const;

 private:
  void give_up(std::string const& reason);

  NodeEnv& env_;
  std::string& reason_;
  metadata::ImagePtr told_;
  bool is_listening_ = false;
  std::unique_ptr<broker::LocalNode> node_;
};

class Cluster {
 public:
  Cluster(World& world, ClusterPlan const& plan);

  size_t size() const { return members_.size(); }
  ClusterPlan const& plan() const { return plan_; }
  Machine& machine(size_t index) { return *members_[index].machine; }
  // Null: it is down, or still being made.
  ClusterNode* node(size_t index);
  bool is_serving(size_t index);

  void start(size_t index);
  void start_all();
  // Its process dies, and the next one begins before anybody misses it.
  void restart_at_once(size_t index);
  // The node dies and finds the disk with its partitions empty when it comes back.
  void wipe(size_t index);
  // Ended nodes stay down until started (and are started again from then on).
  void hold_down(size_t index) { members_[index].is_held_down = true; }
  void set_restart_wait_max(Duration wait) { restart_wait_max_ = wait; }
  // Called when a node has ended, with whether it lost what was not on its disk, or all of it.
  void on_ended(std::function<void(size_t index, bool has_lost)> handler) { on_ended_ = std::move(handler); }
  uint64_t ends() const { return ends_; }

  // Both directions between `index` and every other node.
  void isolate(size_t index);
  void cut(size_t from, size_t to);
  void heal(size_t from, size_t to);
  // Cuts heal, disks are whole and fast, pauses end by themselves. Armed crashes stay with the lives they are armed in.
  void heal_all();
  // When what slow disks had begun is done.
  Duration busy_until();

  // What a voter would remember of elections after a crash; none: nothing yet.
  std::optional<raft::ElectionState> durable_election(size_t index);
  // Whether its disk is that of a node of this cluster, and not an empty one.
  bool has_metadata(size_t index);
  // The end of the records of a partition that a broker would have after a loss of power, whatever else it had.
  Offset durable_end(size_t index, std::string_view topic, int32_t partition);

  // Byte for byte, batch for batch, where two nodes have the same offsets below `end` of the same log: empty, or where
  // they differ. `directory` is a part of the log's path.
  std::string first_difference(std::string_view directory, Offset end);

  std::string describe();

 private:
  struct Member {
    Machine* machine{};
    std::string reason;  // why it gave up last
    bool is_held_down = false;
    bool is_wiped = false;  // once it has ended
    bool is_back_at_once = false;
    uint32_t boots = 0;
  };
  void on_end(size_t index);

  World& world_;
  ClusterPlan const& plan_;
  Random random_;
  std::vector<Member> members_;
  Duration restart_wait_max_ = std::chrono::seconds(2);
  uint64_t ends_ = 0;
  std::function<void(size_t, bool)> on_ended_;
};

}  // namespace millrace::sim
