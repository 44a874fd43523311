// One replica, or one controller, that is slow: IS-08, DF-04, RQ-13.
#include <algorithm>

#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

// Nothing is sent twice: how long an answer takes is how long the send has waited.
DataProducerPlan patient_producer() {
  DataProducerPlan plan;
  plan.in_flight_max = 100;  // no send waits for another one in the client
  plan.request_timeout = 120s;
  plan.broker_timeout_ms = 120'000;
  plan.pause_max = 60ms;
  return plan;
}

// A partition's leader looks for who lags every half of the lag time.
Duration in_sync_bound(ClusterPlan const& plan) { return plan.replica_lag_max * 3 / 2 + DemandRun::kSlack; }

Duration waited(checker::Send const& send) { return Duration(send.end - send.start); }

bool has_shrunk(PartitionStep const& step) { return step.after->isr.size() < step.before->isr.size(); }

constexpr Duration kFlappingSpan = 60s;

// Once: silent for about the lag time, and then there for a moment.
enum class Flapping { cut, pause, slow_disk };

bool flap(DemandRun& run, Random& random, Flapping how, size_t slow, std::vector<size_t> const& leaders) {
  auto const lag = run.plan().replica_lag_max;
  auto const silence = draw(random, lag * 6 / 10, lag * 18 / 10);
  auto& machine = run.cluster().machine(slow);
  switch (how) {
    case Flapping::cut:
      for (auto const leader : leaders) run.cut_both_ways(slow, leader);
      if (!run.run_for(silence)) return false;
      for (auto const leader : leaders) run.heal_both_ways(slow, leader);
      return run.run_for(draw(random, 50ms, lag / 2));
    case Flapping::pause: machine.pause(silence); return run.run_for(silence + draw(random, 50ms, lag / 2));
    case Flapping::slow_disk:
      machine.disk().speed().call = draw(random, lag * 2 / 10, lag * 8 / 10);
      return run.run_for(silence);
  }
  return false;
}

void check_changes(DemandRun& run, Duration span) {
  auto const lag = run.plan().replica_lag_max;
  auto const allowed = 2 * static_cast<size_t>(span / lag) + 2;
  for (auto const& partition : run.run().partitions) {
    size_t changes = 0, shrinks = 0;
    for (auto const& step : run.steps()) {
      if (step.partition != partition.number || step.after->isr == step.before->isr) continue;
      ++changes;
      if (has_shrunk(step)) ++shrinks;
    }
    run.note(fmt::format("changes={}/{}", changes, allowed));
    if (changes > allowed) {
      run.fail(fmt::format("the in-sync set of partition {} changed {} times in {} ms, with a lag time of {} ms",
                           partition.number, changes, to_ms(span), to_ms(lag)));
    }
    if (shrinks == 0)
      run.fail(fmt::format("the slow replica never left the in-sync set of partition {}: nothing was tried",
                           partition.number));
  }
}

}  // namespace

// ---- IS-08

ClusterPlan plan_flapping_replica(Random random) {
  auto plan = plan_of_brokers(3);
  plan.replica_lag_max = draw(random, 500ms, 3s);
  plan.broker_session = 18s;  // it is the lag that is judged, not its heartbeats
  return plan;
}

void demand_flapping_replica(DemandRun& run) {
  auto random = run.random("flapping");
  auto const a = kFirstBroker, b = kFirstBroker + 1, slow = kFirstBroker + 2;
  if (!run.start() || !run.make_topic({{{a, b, slow}, {b, a, slow}}, {}})) return;
  run.judge_replicas();
  for (size_t i = 0; i < 2; ++i) run.add_producer(patient_producer());
  run.add_consumer();
  if (!run.run_for(2s)) return;
  auto const how = static_cast<Flapping>(random.below(3));
  auto const begun = run.now();
  while (run.now() < begun + kFlappingSpan) {
    run.count(fmt::format("{}{}", kFaultPrefix,
                          name_of(how == Flapping::cut     ? FaultKind::cut_pair
                                  : how == Flapping::pause ? FaultKind::pause
                                                           : FaultKind::slow_disk)));
    if (!flap(run, random, how, slow, {a, b})) return;
  }
  auto const span = run.now() - begun;
  if (!run.finish()) return;
  check_changes(run, span);
  Duration longest{};
  for (auto const& send : run.run().history.sends) longest = std::max(longest, waited(send));
  run.note(fmt::format("how={} longest={}ms", static_cast<int>(how), to_ms(longest)));
  auto const bound = in_sync_bound(run.plan());
  if (longest > bound)
    run.fail(fmt::format("a send waited for {} ms; by the lag rule it may {} ms", to_ms(longest), to_ms(bound)));
}

// ---- DF-04

ClusterPlan plan_slow_syncs(Random random) {
  auto plan = plan_of_brokers(4);
  plan.is_flush = true;
  plan.replica_lag_max = draw(random, 1s, 4s);
  plan.broker_session = 18s;
  return plan;
}

void demand_slow_syncs(DemandRun& run) {
  constexpr Duration kQuickly = 500ms;
  constexpr Duration kSyncs = 5s;
  constexpr int32_t kWithSlow = 2;  // the first partitions
  auto random = run.random("slow syncs");
  // What does without the slow one is led by `c`: on one connection, answers wait for those before them.
  auto const a = kFirstBroker, b = kFirstBroker + 1, c = kFirstBroker + 2, slow = kFirstBroker + 3;
  if (!run.start() || !run.make_topic({{{a, b, slow}, {b, slow, c}, {c, a, b}, {c, b, a}}, {}})) return;
  run.judge_replicas();
  for (size_t i = 0; i < 3; ++i) run.add_producer(patient_producer());
  if (!run.run_for(draw(random, 1s, 3s))) return;
  auto const begun = run.now();
  run.cluster().machine(slow).disk().speed().sync = kSyncs;
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::stalled_sync)));
  auto const bound = in_sync_bound(run.plan());
  if (!run.run_for(bound)) return;
  // And it stays away: what it has is five seconds old.
  auto const is_away = [&] {
    for (int32_t p = 0; p < kWithSlow; ++p) {
      if (run.is_in_sync(p, slow))
        run.fail(fmt::format("{} ms after its syncs became slow, node {} is in sync in partition {}",
                             to_ms(run.now() - begun), slow + 1, p));
    }
  };
  if (!run.run_for(draw(random, 15s, 30s), is_away)) return;
  auto const ended = run.now();
  if (!run.finish()) return;
  Duration longest_before{}, longest_after{}, longest_elsewhere{};
  for (auto const& send : run.run().history.sends) {
    bool const is_elsewhere = send.partition >= static_cast<uint32_t>(kWithSlow);
    if (send.start > ended.count()) continue;
    auto& longest = is_elsewhere                           ? longest_elsewhere
                    : send.start < (begun + bound).count() ? longest_before
                                                           : longest_after;
    longest = std::max(longest, waited(send));
  }
  run.note(fmt::format("longest: before={}ms after={}ms elsewhere={}ms", to_ms(longest_before), to_ms(longest_after),
                       to_ms(longest_elsewhere)));
  if (longest_before > bound)
    run.fail(fmt::format("a send waited for {} ms; by the lag rule it may {} ms", to_ms(longest_before), to_ms(bound)));
  if (longest_after > kQuickly)
    run.fail(fmt::format("a send of after the in-sync set had shrunk waited for {} ms", to_ms(longest_after)));
  if (longest_elsewhere > kQuickly)
    run.fail(fmt::format("a send to a partition without the slow replica waited for {} ms", to_ms(longest_elsewhere)));
}

// ---- RQ-13

ClusterPlan plan_stalled_controller(Random random) {
  ClusterPlan plan;
  plan.nodes.assign(random.chance(0.7) ? 3 : 5, {.is_broker = false, .is_controller = true});
  if (random.chance(0.5)) {
    plan.election_timeout = draw(random, 300ms, 1s);
    plan.fetch_timeout = draw(random, 500ms, 2s);
    plan.request_timeout = draw(random, 500ms, 2s);
  }
  return plan;
}

// The others commit what the leader sends while its own disk stalls: nobody waits for an election.
void demand_stalled_controller(DemandRun& run) {
  constexpr Duration kStall = 10s;
  constexpr Duration kGapMax = 1s;  // changes come five times a second and more
  auto random = run.random("stall");
  if (!run.start()) return;
  std::vector<AdminWriter*> writers;
  for (size_t i = 0; i < 2; ++i) writers.push_back(&run.add_writer());
  auto const acknowledged = [&] {
    size_t out = 0;
    for (auto const* each : writers) out += each->acknowledged();
    return out;
  };
  if (!run.wait_for(
          "metadata can be changed", [&] { return acknowledged() > 0; }, DemandRun::kSettleLimit) ||
      !run.run_for(draw(random, 1s, 3s)))
    return;
  auto const leader = *run.controller();
  run.cluster().machine(leader).disk().speed().sync = kStall;
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::stalled_sync)));
  auto last = run.now();
  auto seen = acknowledged();
  Duration longest{};
  auto const watch = [&] {
    longest = std::max(longest, run.now() - last);
    if (acknowledged() == seen) return;
    seen = acknowledged();
    last = run.now();
  };
  if (!run.run_for(kStall, watch)) return;
  run.cluster().heal_all();
  if (!run.run_for(kStall + 1s, watch)) return;
  run.note(fmt::format("longest={}ms leader={}", to_ms(longest), run.controller() == leader ? "stays" : "another"));
  if (longest > kGapMax) run.fail(fmt::format("no change of metadata was committed for {} ms", to_ms(longest)));
}

}  // namespace millrace::sim
