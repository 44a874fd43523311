#include "sim/run/demand.h"

namespace millrace::sim {

std::span<Demand const> demands() {
  static constexpr Demand kAll[] = {
      {"NW-09",
       "with a leader isolated every five seconds, a fifth of what is acknowledged without that; D1 and D2 hold",
       plan_isolated_leaders, demand_isolated_leaders},
      {"IS-08",
       "no more than two changes of an in-sync set in replica.lag.time.max.ms, and no send waits longer than its "
       "in-sync check needs",
       plan_flapping_replica, demand_flapping_replica},
      {"DF-04",
       "whose syncs take five seconds leaves the in-sync sets by the lag rule, nobody waits from then on, and nobody "
       "elsewhere at all",
       plan_slow_syncs, demand_slow_syncs},
      {"RQ-13", "while the disk of the quorum's leader stalls for ten seconds, commits go on", plan_stalled_controller,
       demand_stalled_controller},
      {"IS-04",
       "after a loss of power everywhere a member of the last in-sync set leads, with all that it has on its disk; "
       "what is lost is told",
       plan_losses, demand_power_loss_everywhere},
      {"IS-10",
       "when both in sync have lost power the partition waits for them, and for nobody else; what is lost is told",
       plan_losses, demand_both_in_sync_lose},
      {"RP-12", "with acks of 0 and 1 only what was not replicated goes with its leader, in order and once",
       plan_leader_losses, demand_leader_losses},
      {"RP-08", "a follower behind its leader's log start begins anew there: no gap, nothing of before",
       plan_deleted_prefix, demand_deleted_prefix},
      {"GC-11", "a consumer with a committed offset and epoch is told where the log was cut", plan_committed_epoch,
       demand_committed_epoch},
      {"RP-05", "followers of epochs without a record progress within three round trips, and do not ask in circles",
       plan_empty_epochs, demand_empty_epochs},
  };
  return kAll;
}

ClusterPlan plan_of_brokers(size_t brokers) {
  ClusterPlan plan;
  plan.nodes.assign(kFirstBroker, {.is_broker = false, .is_controller = true});
  plan.nodes.resize(kFirstBroker + brokers, {.is_broker = true, .is_controller = false});
  return plan;
}

ScenarioResult run_demands(ScenarioInput const& input) {
  auto const& demand = demands()[input.seed % demands().size()];
  DemandRun run(input, demand.plan(Random(input.seed).fork("demand plan")));
  ScenarioResult result;
  result.options = fmt::format("scenario=demands demand={} {}", demand.id, run.plan().text());
  note_options(result.options);
  demand.run(run);
  if (run.has_failed())
    result.failure = fmt::format("{} expects: {}\n  {}", demand.id, demand.expected, *run.run().failure);
  if (run.has_failed() && input.trace != nullptr) fmt::print(input.trace, "{}", run.run().history.text());
  result.hash = run.world().trace().hash();
  result.events = run.world().events_run();
  result.probes = run.world().probes();
  result.counts = run.counts();
  result.options += fmt::format(" | virtual_s={} records_ok={} steps={}{}", run.now() / std::chrono::seconds(1),
                                run.records_ok(), run.steps().size(), run.notes());
  return result;
}

}  // namespace millrace::sim
