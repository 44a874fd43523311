// Looks at every node's quorum machine and image after each event and knows what no node knows: all of them at once.
//
//   M1  one leader an epoch, and everybody who names a leader names that one; who has spoken as leader of an epoch and ended
//       does not lead that epoch again
//   M2  what was once committed stays: same epochs at the same offsets, on every leader and wherever it is committed;
//       nothing is called committed that is not on the disks of a majority; nobody could be elected who lacks it;
//       nobody has a record of an epoch that its leader had not
//   M3  the same offset gives the same image, on every node and after every restart
//   M4  one vote a voter and epoch, once it is durable; who leads has the votes of a majority on their disks
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sim/run/cluster.h"
#include "sim/run/image_prints.h"

namespace millrace::sim {

class QuorumOracle {
 public:
  using Fail = std::function<void(std::string)>;
  QuorumOracle(Cluster& cluster, Fail fail);

  // After each event of a node.
  void observe(size_t index, ClusterNode& node);
  // That node is down, and its disk has been replaced by an empty one.
  void on_lost_disk(size_t index);
  // Whether the quorum keeps its promises if that voter forgets everything now, provided that it knows that it has: a
  // majority of the others has all that is committed and all that it has, in a memory of its epoch or a later one;
  // somebody leads; nobody leads an earlier epoch than it knows; and no other voter has yet to catch up after such a loss.
  bool can_do_without(size_t index);
  // The end of what any node ever called committed.
  Offset committed_end() const { return committed_end_; }
  // Who leads the newest epoch that has a living leader.
  std::optional<size_t> leader() const;
  LeaderEpoch newest_epoch() const { return leaders_.empty() ? LeaderEpoch{0} : leaders_.rbegin()->first; }
  uint64_t elections() const { return leaders_.size(); }
  uint64_t images_compared() const { return images_compared_; }

 private:
  struct Seen {  // of one node, the last time
    LifeId life{};
    raft::Role role{};
    LeaderEpoch epoch{-1};
    BrokerId leader = kNoBroker;
    std::optional<raft::ReplicaKey> voted;
    Offset high_watermark{-1}, durable_end{-1};
    raft::LogEnd log_end;
    raft::LogEnd durable;   // as a voter would have it after a crash
    bool lacks_committed = false;
    bool is_blank = false;  // it gives its vote to nobody who has records
    metadata::Image const* image = nullptr;
    Offset image_offset{-1};
    ImagePrints prints;
  };
  void on_leader_named(size_t index, LeaderEpoch epoch, BrokerId leader);
  void on_new_leader(size_t index, raft::Machine const& machine);
  // Voters whose disks do not rule out that they voted for it.
  size_t votes_on_disk(size_t index, LeaderEpoch epoch);
  void on_committed(size_t index, raft::Machine const& machine);
  void on_log(size_t index, raft::Machine const& machine);
  // Whether whoever lacks something committed could win the votes of a majority, as the logs are now.
  void check_candidates();
  void on_image(size_t index, metadata::Image const& image);
  // Of what was committed before `epoch`.
  Offset committed_end_before(LeaderEpoch epoch) const;
  // Empty: the machine's log agrees with what is committed, below `end`.
  std::string compare(raft::Machine const& machine, Offset end) const;

  Cluster& cluster_;
  Fail fail_;
  std::vector<Seen> seen_;
  std::map<LeaderEpoch, BrokerId> leaders_;
  std::map<LeaderEpoch, LifeId> speakers_;  // whose leadership was durable
  std::map<LeaderEpoch, Offset> leader_ends_;
  std::map<std::pair<size_t, LeaderEpoch>, raft::ReplicaKey> votes_;
  std::vector<raft::EpochStart> committed_;  // where each epoch's committed records begin
  Offset committed_end_{0};
  std::map<LeaderEpoch, Offset> committed_in_;  // the end of what was called so in each epoch
  std::map<Offset, uint64_t> fingerprints_;
  uint64_t images_compared_ = 0;
};

}  // namespace millrace::sim
