#include "sim/run/cluster_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::sim {

std::string_view name_of(FaultKind kind) {
  static constexpr std::string_view kNames[kFaultKinds] = {
      "process_crash",  "power_loss",        "crash_at_disk_call",  "orderly_stop",  "isolate",
      "cut_pair",       "cut_one_way",       "deaf_or_mute",        "cut_halves",    "reset",
      "pause",          "clock_jump",        "slow_disk",           "stalled_sync",  "failing_disk",
      "full_disk",      "strike_new_leader", "strike_after_return", "wipe",          "lagging_successor",
      "strike_usurper", "strike_thin_set",   "strike_joining",      "late_segments", "late_fetch",
      "late_cut",       "lose_voter_disk"};
  return kNames[static_cast<size_t>(kind)];
}

bool ClusterPlan::has_brokers() const {
  return std::ranges::any_of(nodes, [](auto const& n) { return n.is_broker; });
}

bool ClusterPlan::may_lose_records() const {
  bool const loses_cache = has(FaultKind::power_loss) || has(FaultKind::failing_disk);
  return (loses_cache && !is_flush) || (has(FaultKind::wipe) && has_own_metadata_disk);
}

size_t ClusterPlan::controller_count() const {
  return static_cast<size_t>(std::count_if(nodes.begin(), nodes.end(), [](auto const& n) { return n.is_controller; }));
}

std::string ClusterPlan::text() const {
  std::string roles, faults;
  for (auto const& node : nodes) roles += node.is_broker ? (node.is_controller ? 'x' : 'b') : 'c';
  for (size_t i = 0; i < kFaultKinds; ++i) {
    if (has_fault[i]) faults += fmt::format("{}{}", faults.empty() ? "" : ",", name_of(static_cast<FaultKind>(i)));
  }
  auto out = fmt::format(
      "nodes={} faults={} fault_interval={}ms election_timeout={}ms fetch_timeout={}ms request_timeout={}ms "
      "quorum_fetch_bytes={} snapshot_piece_bytes={} snapshot_interval_bytes={} admin_writers={}",
      roles, faults, to_ms(fault_interval), to_ms(election_timeout), to_ms(fetch_timeout), to_ms(request_timeout),
      quorum_fetch_bytes_max, snapshot_piece_bytes_max, snapshot_interval_bytes, admin_writers);
  if (!has_brokers()) return out;
  return out + fmt::format(" partitions={} rf={} min_in_sync={} flush={} own_metadata_disk={} segment_bytes={} index_interval={} racks={} session={}ms lag_max={}ms replica_fetch_bytes={} producers={} consumers={} "
                           "committers={} members={} operator={} loose_topic={} cycler={} late_requests={} produce_pause={}ms loyal_askers={}",
                           partitions, replication_factor, min_in_sync, is_flush, has_own_metadata_disk, segment_bytes, index_interval, has_racks, to_ms(broker_session), to_ms(replica_lag_max), replica_fetch_bytes_max, producers,
                           consumers, committers, members, has_operator, has_loose_topic, has_cycler, has_late_requests, to_ms(produce_pause_max), loyal_askers);
}

namespace {

// Combined nodes, or controllers beside brokers; three or five voters, and brokers enough for three replicas.
void draw_roles(Random random, size_t node_count, std::vector<NodePlan>& out) {
  if (node_count == 0) node_count = random.chance(0.7) ? 3 : 3 + random.below(5);
  auto const voters = node_count >= 5 && random.chance(0.4) ? size_t{5} : std::min<size_t>(node_count, 3);
  bool const is_separate = node_count >= voters + 3 && random.chance(0.6);
  out.clear();
  for (size_t i = 0; i < node_count; ++i) out.push_back({!is_separate || i >= voters, i < voters});
}

void draw_load(Random random, ClusterPlan& plan) {
  using std::chrono::milliseconds;
  auto const brokers = static_cast<int16_t>(std::ranges::count_if(plan.nodes, [](auto const& n) { return n.is_broker; }));
  plan.partitions = static_cast<int32_t>(4 + random.below(4));
  plan.replication_factor = std::min<int16_t>(3, brokers);
  plan.min_in_sync = std::min<int32_t>(2, brokers);
  plan.is_flush = random.chance(0.4);
  plan.has_own_metadata_disk = random.chance(0.3);
  plan.segment_bytes = random.chance(0.5) ? 1 << 20 : int64_t{1} << (13 + random.below(4));
  plan.index_interval = random.chance(0.5) ? 4096 : static_cast<int64_t>(1 + random.below(500));
  plan.has_racks = random.chance(0.3);
  if (random.chance(0.7)) plan.replica_lag_max = milliseconds(500 + random.below(4000));
  if (random.chance(0.5)) plan.replica_fetch_bytes_max = static_cast<int32_t>(1 + random.below(5000));
  if (random.chance(0.7)) plan.broker_session = milliseconds(1000 + random.below(5000));
  plan.producers = static_cast<uint32_t>(3 + random.below(2));
  plan.consumers = static_cast<uint32_t>(1 + random.below(3));
  plan.committers = static_cast<uint32_t>(random.below(3));
  if (random.chance(0.4)) plan.members = static_cast<uint32_t>(2 + random.below(3));
  plan.has_operator = random.chance(0.4);
  plan.has_loose_topic = random.chance(0.3);
  plan.has_cycler = random.chance(0.3);
  plan.load_span = milliseconds(20'000);
}

}  // namespace

void draw_strikes(Random random, ClusterPlan& plan) {
  for (size_t i = kDrawnFaultKinds; i < kStrikesEnd; ++i) plan.has_fault[i] = random.chance(0.3);
  plan.has_late_requests = random.chance(0.4);
  if (random.chance(0.2)) {
    // Little else: what takes several steps comes to its end.
    std::fill_n(plan.has_fault.begin(), kDrawnFaultKinds, false);
    plan.has_fault[static_cast<size_t>(FaultKind::process_crash)] = true;
    plan.has_fault[static_cast<size_t>(FaultKind::strike_usurper)] = true;
    plan.fault_interval = std::chrono::seconds(4);
  }
  if (plan.has(FaultKind::strike_usurper)) plan.has_operator = true;
  // They hurt most whom they cost records.
  bool const wants_loss = plan.has(FaultKind::strike_thin_set) || plan.has(FaultKind::strike_joining);
  if (plan.has(FaultKind::late_fetch) || (wants_loss && random.chance(0.5))) {
    plan.has_fault[static_cast<size_t>(FaultKind::power_loss)] = true;
    plan.is_flush = false;
  }
}

ClusterPlan draw_quorum_plan(Random random, size_t node_count) {
  using std::chrono::milliseconds;
  ClusterPlan plan;
  if (node_count == 0) node_count = random.chance(0.6) ? 3 : 3 + random.below(5);
  plan.nodes.resize(node_count);
  for (size_t i = 0; i < kDrawnFaultKinds; ++i) plan.has_fault[i] = random.chance(0.35);
  for (auto rare : {FaultKind::failing_disk, FaultKind::full_disk}) {
    plan.has_fault[static_cast<size_t>(rare)] = random.chance(0.12);
  }
  // These may come to nothing.
  auto sure = plan.has_fault;
  for (auto const kind : {FaultKind::strike_new_leader, FaultKind::failing_disk, FaultKind::wipe}) sure[static_cast<size_t>(kind)] = false;
  if (std::ranges::none_of(sure, std::identity())) plan.has_fault[static_cast<size_t>(FaultKind::process_crash)] = true;
  plan.fault_interval = milliseconds(200 + random.below(1500));
  if (random.chance(0.7)) {
    plan.election_timeout = milliseconds(100 + random.below(900));
    plan.fetch_timeout = milliseconds(300 + random.below(1700));
    plan.request_timeout = milliseconds(300 + random.below(1700));
  }
  // Often one batch at a time.
  if (random.chance(0.5)) plan.quorum_fetch_bytes_max = static_cast<int32_t>(1 + random.below(random.chance(0.5) ? 100 : 2000));
  if (random.chance(0.5)) plan.snapshot_interval_bytes = static_cast<int64_t>(300 + random.below(4000));
  if (random.chance(0.5)) plan.snapshot_piece_bytes_max = static_cast<int32_t>(500 + random.below(2000));
  plan.admin_writers = static_cast<uint32_t>(1 + random.below(3));
  return plan;
}

void draw_disk_losses(Random random, ClusterPlan& plan) {
  plan.has_fault[static_cast<size_t>(FaultKind::lose_voter_disk)] = random.chance(0.4);
}

ClusterPlan draw_cluster_plan(Random random, size_t node_count) {
  auto plan = draw_quorum_plan(random.fork("quorum"), 3);
  draw_roles(random.fork("roles"), node_count, plan.nodes);
  draw_load(random.fork("load"), plan);
  draw_strikes(random.fork("strikes"), plan);
  return plan;
}

ClusterPlan draw_late_cut_plan(Random random) {
  ClusterPlan plan;
  // The controllers hear everybody, whoever is cut from whom.
  plan.nodes.assign(3, {.is_broker = false, .is_controller = true});
  plan.nodes.resize(6, {.is_broker = true, .is_controller = false});
  draw_load(random.fork("load"), plan);
  // Who is cut off stays in sync, and leads or may be elected.
  plan.replica_lag_max = std::chrono::seconds(10);
  plan.broker_session = std::chrono::seconds(9);
  plan.replica_fetch_bytes_max = 1 << 20;  // what a follower lacks comes at once
  plan.has_operator = true;
  plan.has_cycler = plan.has_loose_topic = false;
  plan.has_fault[static_cast<size_t>(FaultKind::late_cut)] = true;
  return plan;
}

ClusterPlan draw_paused_leader_plan(Random random) {
  ClusterPlan plan;
  draw_roles(random.fork("roles"), random.chance(0.5) ? 3 : 6, plan.nodes);
  draw_load(random.fork("load"), plan);
  // Leaders change by pauses alone.
  plan.has_operator = plan.has_cycler = plan.has_loose_topic = false;
  plan.is_flush = false;
  plan.replica_lag_max = std::chrono::seconds(30);
  plan.replica_fetch_bytes_max = 1 << 20;
  plan.broker_session = std::chrono::milliseconds(2000 + random.below(4000));
  plan.has_fault[static_cast<size_t>(FaultKind::pause)] = true;
  plan.loyal_askers = 3;
  return plan;
}

}  // namespace millrace::sim
