// Looks at every replica of the run's topic and knows what no node knows: all of them at once. A record is known by
// its offset and leader epoch.
//
//   R1  whoever begins to lead an epoch holds everything that was ever committed
//   R2  below what is committed all leaders have the same records, and no follower or answer claims more
//   R3  one leader an epoch, who answers for no other: not before it leads, nor once it leads a later one
//   R4  whom the controllers count as in sync or eligible has everything that was ever committed, and the same records
//   R5  there. One that started again is judged once its registration is known: until then nobody can have told
//   R6  nobody is taken into an in-sync set who is fenced or stopping; who is elected though not known to have everything
//       begins alone: nobody else is in sync or eligible
//   D1  what a leader calls committed is held by as many replicas as must be in sync, the same records, and on their disks
//       where every message is flushed. One that lost power counts with what it had for as long as the leader knows no
//       later registration of its broker: nobody can have told it. What was acknowledged by all had been called committed
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/runtime/partition_driver.h"
#include "sim/run/cluster.h"
#include "sim/run/run.h"

namespace millrace::sim {

class DataOracle {
 public:
  using Fail = std::function<void(std::string)>;
  DataOracle(Cluster& cluster, Run& run, Fail fail);

  // After each event of a node.
  void observe(size_t node, ClusterNode& of);
  // A client was told that everything below `end` is committed; by acknowledgement, mark or record.
  void on_claim(size_t partition, Offset end, std::string_view what);
  // `node` answered what was asked of the leader of `epoch` at `start`.
  void on_served(size_t partition, size_t node, LeaderEpoch epoch, checker::Nanos start);
  // Called when a follower that is not in sync has everything that its leader has; once for each partition epoch.
  void on_caught_up(std::function<void(size_t partition, size_t node, size_t leader)> handler) { on_caught_up_ = std::move(handler); }
  // The node has lost what was not on its disk.
  void on_power_loss(size_t node);
  uint64_t leader_changes() const { return leader_changes_; }
  uint64_t unclean_elections() const { return unclean_elections_; }
  Offset committed_end(size_t partition) const { return partitions_[partition].committed_end; }
  bool has_led_since(size_t partition, size_t node, checker::Nanos when) const;  // it is the newest leader
  // The epoch of the leader that was the first to call everything below `end` committed; -1: none did.
  int32_t committed_in(size_t partition, int64_t end) const;
  // Everybody leads or follows, the marks have reached the ends, and the ends are equal.
  bool is_at_rest();
  // By which replicas are behind the newest end of their partition, all together.
  int64_t records_missing();
  std::string describe();

 private:
  using Epochs = std::shared_ptr<storage::LeaderEpochs const>;
  struct Replica {  // on one node
    LifeId life{};
    std::weak_ptr<runtime::PartitionDriver> driver;  // nobody holds what a node that died has left
    LeaderEpoch leads{-1};  // the epoch in which it was seen to lead, in this life; -1: it was seen to follow since
    Offset mark{-1};
    Offset end{0};          // as seen last; what a dead node has is not looked at
    Epochs epochs;          // likewise; null: never seen
    int64_t broker_epoch = -1;       // of this life; -1: not yet registered
    int64_t told_broker_epoch = -1;  // the last one, of any life
    // What it had as the broker that it was registered as last; -1: never.
    Offset known_end{0};
    Epochs known_epochs;
    int64_t known_broker_epoch = -1;
    // What it had when it lost power, by the broker epoch that it had: a leader that is cut off may know an old one.
    std::map<int64_t, Offset> lost_ends;
    int32_t caught_up_in = -1;  // the partition epoch
    // As a leader: the registrations that it knew before its last event. Kept once somebody has lost something.
    std::map<BrokerId, int64_t> registrations;
  };
  struct Commit {
    LeaderEpoch by{-1};
    Offset end{0};
  };
  struct Partition {
    std::vector<Replica> replicas;  // by node
    storage::LeaderEpochs committed;
    Offset committed_end{0};
    std::vector<Commit> commits;  // whoever was ahead of everybody before; ends grow
    std::map<LeaderEpoch, size_t> leaders;
    std::map<LeaderEpoch, checker::Nanos> begun;  // when that was seen
    // As the newest image has them.
    int32_t partition_epoch = -1;
    std::vector<BrokerId> in_sync, eligible;
  };
  struct Broker {  // as the newest image has it
    int64_t epoch = -1;
    bool is_active = false;
  };
  void observe_image(metadata::Image const& image);
  // Of all partitions of all topics.
  void observe_elections(metadata::Image const& image);
  void observe_sets(size_t p, metadata::PartitionImage const& image);
  void check_members(size_t p);
  void observe_partition(size_t p, size_t node, ClusterNode& of);
  void on_follower(size_t p, size_t node, storage::Marks const& marks);
  void on_leads(size_t p, size_t node, runtime::PartitionDriver const& driver, storage::Marks const& marks);
  // As the leader of epoch `led`.
  void on_mark(size_t p, size_t node, ClusterNode const& of, runtime::PartitionDriver const& driver, storage::Marks const& marks,
               LeaderEpoch led);
  // The registration of `node` that the leader knew before its last event, or knows if that was its first.
  static int64_t known_registration(Replica const& leader, ClusterNode const& of, size_t node);
  // Has the replica, whose end is not below `end`, what the leader has there? What nobody has seen of it, it may have.
  bool is_holder(size_t p, size_t node, storage::LeaderEpochs const& leaders, Offset log_start, Offset end);
  // Empty: the replica has what is committed, below `end`.
  static std::string compare(Partition const& partition, runtime::PartitionDriver const& driver, storage::Marks const& marks, Offset end);
  static bool is_known(runtime::PartitionDriver const& driver);

  Cluster& cluster_;
  Run& run_;
  Fail fail_;
  std::vector<Partition> partitions_;
  std::vector<Broker> brokers_;  // by node
  std::map<TopicId, metadata::TopicImagePtr> topics_;  // as the newest image has them
  Offset newest_image_{-1};
  std::function<void(size_t, size_t, size_t)> on_caught_up_;
  uint64_t unclean_elections_ = 0;
  uint64_t leader_changes_ = 0;
};

}  // namespace millrace::sim
