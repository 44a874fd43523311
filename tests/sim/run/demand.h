// The demands of `--scenario demands`: a seed runs one of them, by its number modulo theirs, with times drawn from the
// seed.
#pragma once
#include <span>
#include <string_view>

#include "sim/run/demand_run.h"

namespace millrace::sim {

struct Demand {
  std::string_view id;        // of what can happen
  std::string_view expected;  // then
  ClusterPlan (*plan)(Random random);
  void (*run)(DemandRun& run);
};
std::span<Demand const> demands();

// Three controllers, which are nodes 0 to 2 and of which nothing is wanted, and brokers behind them. Messages stay in
// the page cache; two of three must be in sync.
inline constexpr size_t kFirstBroker = 3;
ClusterPlan plan_of_brokers(size_t brokers);

// demand_isolation.cpp
ClusterPlan plan_isolated_leaders(Random random);
void demand_isolated_leaders(DemandRun& run);
// demand_slow.cpp
ClusterPlan plan_flapping_replica(Random random);
void demand_flapping_replica(DemandRun& run);
ClusterPlan plan_slow_syncs(Random random);
void demand_slow_syncs(DemandRun& run);
ClusterPlan plan_stalled_controller(Random random);
void demand_stalled_controller(DemandRun& run);
// demand_losses.cpp
ClusterPlan plan_losses(Random random);
void demand_power_loss_everywhere(DemandRun& run);
void demand_both_in_sync_lose(DemandRun& run);
// demand_acks.cpp
ClusterPlan plan_leader_losses(Random random);
void demand_leader_losses(DemandRun& run);
// demand_log_start.cpp
ClusterPlan plan_deleted_prefix(Random random);
void demand_deleted_prefix(DemandRun& run);
// demand_offsets.cpp
ClusterPlan plan_committed_epoch(Random random);
void demand_committed_epoch(DemandRun& run);
// demand_epochs.cpp
ClusterPlan plan_empty_epochs(Random random);
void demand_empty_epochs(DemandRun& run);

}  // namespace millrace::sim
