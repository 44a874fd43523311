// NW-09: who leads is cut off again and again, and the cluster does not spend its time on elections.
#include <algorithm>

#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSpan = 10min;
constexpr Duration kEvery = 5s;
constexpr uint64_t kPercentMin = 20;
constexpr int32_t kPartitions = 4;

struct Victims {
  bool has_partition_leader, has_controller, loses_clients;
};

void isolate(DemandRun& run, Random& random, Victims const& victims) {
  std::vector<size_t> nodes;
  if (victims.has_controller && run.controller()) nodes.push_back(*run.controller());
  auto const leader = run.leader(static_cast<int32_t>(random.below(kPartitions)));
  if (victims.has_partition_leader && leader) nodes.push_back(*leader);
  for (auto const node : nodes) {
    run.cluster().isolate(node);
    if (victims.loses_clients) run.cut_from_clients(node);
  }
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::isolate)), nodes.size());
}

// What was acknowledged in the ten minutes.
uint64_t run_load(DemandRun& run, bool has_faults) {
  auto random = run.random("isolations");
  Victims victims{random.chance(0.7), random.chance(0.5), random.chance(0.5)};
  if (!victims.has_controller) victims.has_partition_leader = true;
  std::vector<size_t> brokers;
  for (size_t i = 0; i < run.cluster().size(); ++i) {
    if (run.plan().nodes[i].is_broker) brokers.push_back(i);
  }
  DemandRun::TopicPlan topic;
  for (size_t p = 0; p < kPartitions; ++p) {
    topic.replicas.push_back({brokers[p % 3], brokers[(p + 1) % 3], brokers[(p + 2) % 3]});
  }
  if (!run.start() || !run.make_topic(topic)) return 0;
  run.judge_replicas();
  for (size_t i = 0; i < 3; ++i) {
    DataProducerPlan plan;
    plan.is_idempotent = i != 2;
    plan.pause_max = 200ms;
    plan.request_timeout = draw(random, 500ms, 2s);
    plan.broker_timeout_ms = static_cast<int32_t>(500 + random.below(1000));
    run.add_producer(plan);
  }
  run.add_consumer();
  auto const ends = run.now() + kSpan;
  while (run.now() < ends) {
    auto const span = draw(random, 500ms, 2500ms);
    if (has_faults) isolate(run, random, victims);
    if (!run.run_for(span)) return 0;
    if (has_faults) run.cluster().heal_all();
    if (!run.run_for(kEvery - span)) return 0;
  }
  auto const acknowledged = run.records_ok();
  return run.finish() ? acknowledged : 0;
}

}  // namespace

ClusterPlan plan_isolated_leaders(Random random) {
  ClusterPlan plan;
  if (random.chance(0.5))
    plan = plan_of_brokers(3);
  else
    plan.nodes.assign(3, {.is_broker = true, .is_controller = true});
  plan.is_flush = random.chance(0.3);
  if (random.chance(0.5)) plan.broker_session = draw(random, 1s, 4s);
  if (random.chance(0.5)) plan.replica_lag_max = draw(random, 1s, 4s);
  if (random.chance(0.5)) {
    plan.election_timeout = draw(random, 300ms, 1s);
    plan.fetch_timeout = draw(random, 500ms, 2s);
    plan.request_timeout = draw(random, 500ms, 2s);
  }
  return plan;
}

void demand_isolated_leaders(DemandRun& run) {
  uint64_t baseline = 0;
  {
    ScenarioInput quiet = run.input();
    quiet.trace = nullptr;
    DemandRun other(quiet, run.plan());
    baseline = run_load(other, false);
    if (other.has_failed()) return run.fail("without a fault: " + *other.run().failure);
  }
  auto const acknowledged = run_load(run, true);
  if (run.has_failed()) return;
  run.note(fmt::format("acknowledged {} of {}", acknowledged, baseline));
  if (acknowledged * 100 < baseline * kPercentMin)
    run.fail(fmt::format("{} records were acknowledged, and {} without a fault", acknowledged, baseline));
}

}  // namespace millrace::sim
