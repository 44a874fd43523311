// RP-05: leaders come and go and nobody writes, so that their epochs have no record.
#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr size_t kA = kFirstBroker, kB = kFirstBroker + 1, kC = kFirstBroker + 2;
constexpr int64_t kRoundTripsMax = 3;
constexpr Duration kFetchWait = 500ms;  // replica.fetch.wait.max.ms: a Fetch that finds nothing waits for so long
// It is requests that are counted, not time: a connect that nobody answered ends with replica.socket.timeout.ms.
constexpr Duration kProgressBound = 35s;

// What followers ask: of the one partition, for there is no other.
int64_t questions_to(DemandRun& run, size_t node) {
  int64_t out = 0;
  for (auto const& api : run.cluster().node(node)->node().request_figures().apis) {
    if (api.name == "Fetch" || api.name == "OffsetForLeaderEpoch") out += api.came;
  }
  return out;
}

bool has_progressed(runtime::PartitionDriver const& leader, size_t follower) {
  auto const end = leader.marks().end.offset;
  for (auto const& each : leader.followers()) {
    if (each.id == BrokerId(static_cast<int32_t>(follower + 1))) return each.end_offset == end;
  }
  return false;
}

// From now on until each of `followers` has told the leader that it has everything. Others poll meanwhile.
bool count_questions(DemandRun& run, std::string_view after_what, std::vector<size_t> const& followers,
                     int64_t pollers) {
  auto const leader = *run.leader(0);
  auto const epoch = run.partition(0)->leader_epoch;
  // Null unless it leads that epoch, and knows it.
  auto const led = [&]() -> std::shared_ptr<runtime::PartitionDriver> {
    auto driver = run.leader(0) == leader ? run.replica(leader, 0) : nullptr;
    bool const does =
        driver != nullptr && driver->status() == runtime::PartitionStatus::leader && driver->marks().epoch == epoch;
    return does ? driver : nullptr;
  };
  if (!run.wait_for(
          "who was elected leads", [&] { return led() != nullptr; }, 5s))
    return false;
  auto const before = questions_to(run, leader);
  auto const begun = run.now();
  auto const are_there = [&] {
    auto const driver = led();
    return driver != nullptr &&
           std::ranges::all_of(followers, [&](size_t each) { return has_progressed(*driver, each); });
  };
  if (!run.wait_for(fmt::format("after {} the followers have what their leader has", after_what), are_there,
                    kProgressBound))
    return false;
  auto const asked = questions_to(run, leader) - before;
  auto const polls = pollers * ((run.now() - begun) / kFetchWait + 2);
  auto const allowed = kRoundTripsMax * static_cast<int64_t>(followers.size()) + polls;
  if (asked > allowed)
    run.fail(fmt::format("after {} the followers needed {} requests; {} would do", after_what, asked, allowed));
  // Then they wait at their leader, and do not ask in circles.
  auto const settled = questions_to(run, leader);
  constexpr Duration kQuiet = 3s;
  if (!run.run_for(kQuiet)) return false;
  auto const quiet = questions_to(run, leader) - settled;
  auto const polls_max = (static_cast<int64_t>(followers.size()) + pollers) * (kQuiet / kFetchWait + 2);
  if (quiet > polls_max)
    run.fail(fmt::format("after {} the followers asked {} times in {} ms in which nothing happened", after_what, quiet,
                         to_ms(kQuiet)));
  return !run.has_failed();
}

}  // namespace

ClusterPlan plan_empty_epochs(Random random) {
  auto plan = plan_of_brokers(3);
  plan.broker_session = draw(random, 1s, 3s);
  plan.replica_lag_max = 60s;
  return plan;
}

void demand_empty_epochs(DemandRun& run) {
  auto random = run.random("empty epochs");
  if (!run.start() || !run.make_topic({{{kA, kB, kC}}, {}})) return;
  run.judge_replicas();
  run.add_producer({.pause_max = 40ms});
  if (!run.run_for(draw(random, 500ms, 2s)) || !run.stop_load() || !run.run_for(2s)) return;
  auto const rounds = 3 + random.below(4);
  for (uint64_t i = 0; i < rounds; ++i) {
    if (!run.wait_for(
            "all are in sync", [&] { return run.are_all_in_sync(); }, 30s))
      return;
    auto const old_leader = *run.leader(0);
    bool const is_orderly = random.chance(0.4);
    run.count(
        fmt::format("{}{}", kFaultPrefix, name_of(is_orderly ? FaultKind::orderly_stop : FaultKind::process_crash)));
    run.cluster().hold_down(old_leader);
    if (is_orderly)
      run.cluster().machine(old_leader).stop();
    else
      run.cluster().machine(old_leader).kill(CrashKind::process);
    auto const is_replaced = [&] { return run.leader(0) && run.leader(0) != old_leader; };
    if (!run.wait_for("another replica leads", is_replaced, 20s)) return;
    std::vector<size_t> others;
    for (auto const node : {kA, kB, kC}) {
      if (node != old_leader && node != *run.leader(0)) others.push_back(node);
    }
    if (!count_questions(run, "an election", others, 0)) return;
    if (!run.wait_for(
            "who led is down", [&] { return !run.cluster().machine(old_leader).is_running(); }, 20s))
      return;
    // Another empty epoch in some rounds, which who was away has not heard of.
    run.bring_back(old_leader);
    if (!run.wait_for(
            "who led before serves",
            [&] { return run.replica(old_leader, 0) != nullptr && run.cluster().is_serving(old_leader); }, 20s))
      return;
    if (!count_questions(run, "the return of who led before", {old_leader}, 1)) return;
  }
  // And once more with a tail that nobody else has: what follows cuts it, over the empty epochs.
  if (!run.wait_for(
          "all are in sync", [&] { return run.are_all_in_sync(); }, 30s))
    return;
  auto const lonely = *run.leader(0);
  run.cluster().isolate(lonely);
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::isolate)));
  run.add_producer({.is_idempotent = false, .acks = 1, .pause_max = 40ms, .request_timeout = 500ms});
  auto const end = run.replica(lonely, 0)->marks().end.offset;
  run.run().is_loading = true;
  if (!run.wait_for(
          "the leader that is alone has a tail", [&] { return run.replica(lonely, 0)->marks().end.offset > end + 5; },
          5s))
    return;
  run.run().is_loading = false;
  auto const is_replaced = [&] { return run.leader(0) && run.leader(0) != lonely; };
  if (!run.wait_for("another replica leads", is_replaced, 20s) || !run.stop_load()) return;
  for (uint64_t i = random.below(3); i > 0; --i) {
    auto const leader = *run.leader(0);
    auto const epoch = run.partition(0)->leader_epoch;
    run.cluster().restart_at_once(leader);
    if (!run.wait_for(
            "the next epoch has begun", [&] { return run.leader(0) && run.partition(0)->leader_epoch > epoch; }, 20s) ||
        !run.wait_for(
            "two are in sync", [&] { return run.partition(0)->isr.size() == 2 && run.leader(0); }, 20s)) {
      return;
    }
  }
  if (!run.run_for(1s)) return;
  run.cluster().heal_all();
  if (!count_questions(run, "the return of a leader with a tail", {lonely}, 1)) return;
  run.note(fmt::format("rounds={}", rounds));
  run.finish();
}

}  // namespace millrace::sim
