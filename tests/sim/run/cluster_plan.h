// What a seed of the cluster scenario was expanded to: who runs, how everything is configured, which faults come.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "millrace/base/random.h"
#include "millrace/base/time.h"

namespace millrace::sim {

struct NodePlan {
  bool is_broker = false;
  bool is_controller = true;
};

// What can happen to a cluster under load. Each is on in some seeds and off in others.
enum class FaultKind : uint8_t {
  process_crash,
  power_loss,
  crash_at_disk_call,
  orderly_stop,
  isolate,       // one node from all others, both ways
  cut_pair,      // two nodes that both see the rest
  cut_one_way,   // of a pair
  deaf_or_mute,  // one node hears nobody, or nobody hears it
  cut_halves,
  reset,
  pause,
  clock_jump,
  slow_disk,     // every call takes long for a while
  stalled_sync,  // syncs take seconds
  failing_disk,
  full_disk,
  strike_new_leader,    // of the quorum or of a partition, at once or a moment after its election
  strike_after_return,  // a node is started again, and the moment it serves another one is struck
  wipe,                 // the disk with the partitions is replaced by an empty one
  // These come at their moment (partition_strikes.h).
  lagging_successor,  // who leads a partition next is cut from its leader, which is then struck
  strike_usurper,     // who was made leader while the one before lives is cut off
  strike_thin_set,    // of those in sync one loses power when there are no more than must be
  strike_joining,     // who has caught up is struck before it is in sync
  late_segments,      // now and then a connection is held up for long, and others go on
  late_fetch,         // a follower's last Fetch is heard when it has come back without what it told
  late_cut,           // who is told to cut its log hears it when it follows the next leader, who has what was to be cut
  // Of controllers alone.
  lose_voter_disk,  // everything that a voter has is gone, its votes as well, and the others can do without it
};
inline constexpr size_t kFaultKinds = 27;
// Drawn one after the other; the rest comes by itself.
inline constexpr size_t kDrawnFaultKinds = 19;
// What comes at its moment in any cluster with brokers; what follows has a scenario of its own.
inline constexpr size_t kStrikesEnd = 25;
std::string_view name_of(FaultKind kind);

struct ClusterPlan {
  std::vector<NodePlan> nodes;
  std::array<bool, kFaultKinds> has_fault{};
  Duration fault_interval = std::chrono::milliseconds(500);  // at most, between two faults
  Duration load_span = std::chrono::seconds(10);

  // controller.quorum.*
  Duration election_timeout = std::chrono::seconds(1);
  Duration fetch_timeout = std::chrono::seconds(2);
  Duration request_timeout = std::chrono::seconds(2);
  int32_t quorum_fetch_bytes_max = 1 << 20;
  int32_t snapshot_piece_bytes_max = 1 << 20;
  int64_t snapshot_interval_bytes = 20 << 20;
  uint32_t admin_writers = 2;

  // Brokers and their load; none: controllers alone.
  int32_t partitions = 4;
  int16_t replication_factor = 3;
  int32_t min_in_sync = 2;
  bool is_flush = false;  // flush.messages=1
  bool has_own_metadata_disk = false;
  int64_t segment_bytes = 1 << 20;
  int64_t index_interval = 4096;
  bool has_racks = false;
  Duration broker_session = std::chrono::seconds(9);
  Duration replica_lag_max = std::chrono::seconds(30);
  int32_t replica_fetch_bytes_max = 1 << 20;
  uint32_t producers = 3;
  uint32_t consumers = 2;
  uint32_t committers = 1;
  uint32_t members = 0;  // of one group
  bool has_operator = false;     // who elects preferred leaders and, where nothing is lost, changes min.insync.replicas
  bool has_loose_topic = false;  // with unclean leader election
  bool has_cycler = false;       // of a topic that is deleted and made again
  bool has_late_requests = false;  // of brokers to the controller
  uint32_t loyal_askers = 0;       // of leaders that are paused; then there is no other trouble
  Duration produce_pause_max = std::chrono::milliseconds(150);

  bool has(FaultKind kind) const { return has_fault[static_cast<size_t>(kind)]; }
  // Whether the faults under load may have a broker come back without records that it had acknowledged.
  bool may_lose_records() const;
  // Not where records may be lost: as in Kafka the change empties the eligible ones, and a partition whose only member in
  // sync then loses its disk has that one, its last leader, elected again with what is left. That takes a single loss, so
  // where this is true trials cost nobody records either.
  bool changes_min_in_sync() const { return has_operator && !may_lose_records(); }
  bool has_brokers() const;
  size_t controller_count() const;
  std::string text() const;
};

// What comes at its moment, beside the faults that are drawn.
void draw_strikes(Random random, ClusterPlan& plan);
// `node_count` 0: drawn.
ClusterPlan draw_quorum_plan(Random random, size_t node_count);   // controllers alone
void draw_disk_losses(Random random, ClusterPlan& plan);          // of controllers alone
ClusterPlan draw_cluster_plan(Random random, size_t node_count);  // with brokers
ClusterPlan draw_late_cut_plan(Random random);  // brokers apart from the controllers, and nothing but late cuts
ClusterPlan draw_paused_leader_plan(Random random);

}  // namespace millrace::sim
