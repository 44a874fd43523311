// Everybody who was in sync loses what was not on its disk: IS-04, IS-10.
#include <algorithm>

#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr size_t kA = kFirstBroker, kB = kFirstBroker + 1, kC = kFirstBroker + 2;
// From the return of the last one that is waited for: it loads its log, registers, catches up with the metadata, is
// unfenced and elected.
constexpr Duration kElectionBound = 20s;

bool has(std::vector<BrokerId> const& list, BrokerId id) { return std::ranges::find(list, id) != list.end(); }

bool is_election(PartitionStep const& step) {
  return step.after->leader != kNoBroker && step.after->leader_epoch != step.before->leader_epoch;
}

// What every replica has left of each partition, by node.
using Left = std::vector<std::vector<DemandRun::OnDisk>>;

Left left_on_disks(DemandRun& run) {
  Left out;
  for (auto const& partition : run.run().partitions) {
    auto& nodes = out.emplace_back(run.cluster().size());
    for (auto const node : {kA, kB, kC}) nodes[node] = run.on_disk(node, partition.number);
  }
  return out;
}

void add_producers(DemandRun& run, Random& random) {
  for (size_t i = 0; i < 3; ++i) {
    DataProducerPlan plan;
    plan.in_flight_max = 1 + random.below(5);
    plan.request_timeout = draw(random, 500ms, 2s);
    plan.broker_timeout_ms = static_cast<int32_t>(500 + random.below(1000));
    run.add_producer(plan);
  }
}

void lose_power(DemandRun& run, std::vector<size_t> const& nodes, bool stay_down) {
  for (auto const node : nodes) run.kill(node, CrashKind::power_loss, stay_down);
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::power_loss)), nodes.size());
  run.run().losses.push_back(run.run().now());
}

bool is_led(DemandRun& run, int32_t number) {
  auto const leader = run.leader(number);
  if (!leader || !run.cluster().is_serving(*leader)) return false;
  auto const driver = run.replica(*leader, number);
  return driver != nullptr && driver->status() == runtime::PartitionStatus::leader &&
         driver->marks().epoch == run.partition(number)->leader_epoch;
}

bool are_all_led(DemandRun& run) {
  return std::ranges::all_of(run.run().partitions, [&](auto const& each) { return is_led(run, each.number); });
}

// Nobody is elected who is not in sync, eligible, or the last one known.
void check_elections(DemandRun& run, Duration since) {
  for (auto const& step : run.steps()) {
    if (step.at < since || !is_election(step)) continue;
    // Two changes at once may have had others in sync in between.
    if (step.after->partition_epoch != step.before->partition_epoch + 1) continue;
    auto const id = step.after->leader;
    if (has(step.before->isr, id) || has(step.before->elr, id) || has(step.before->last_known_elr, id)) continue;
    run.fail(fmt::format("broker {} was elected for partition {}; it was not in sync, eligible, or the last one known",
                         id, step.partition));
  }
}

bool was_last_known(DemandRun& run, int32_t number, Duration since) {
  return std::ranges::any_of(run.steps(), [&](auto const& step) {
    return step.partition == number && step.at >= since && is_election(step) &&
           has(step.before->last_known_elr, step.after->leader) && !has(step.before->isr, step.after->leader) &&
           !has(step.before->elr, step.after->leader);
  });
}

// What the one that leads now had on its disk is there; what was acknowledged is, but for what the last one known had
// lost when it was elected; and that is told.
void check_losses(DemandRun& run, Left const& left, std::vector<size_t> const& leaders,
                  std::vector<size_t> const& in_sync, Duration lost_at) {
  int64_t lost = 0, lost_beside_a_copy = 0;
  for (auto const& read : run.run().history.final_reads) {
    auto const number = run.run().partitions[read.partition].number;
    auto const& nodes = left[read.partition];
    auto const& kept = nodes[leaders[read.partition]];
    if (read.records.size() < kept.records.size()) {
      return run.fail(
          fmt::format("partition {}: node {} had {} records on its disk when it was elected, and {} are left", number,
                      leaders[read.partition] + 1, kept.records.size(), read.records.size()));
    }
    for (size_t i = 0; i < kept.records.size(); ++i) {
      auto const& was = kept.records[i];
      auto const& is = read.records[i];
      if (was.offset == is.offset && was.value == is.value) continue;
      return run.fail(fmt::format("partition {}: what node {} had at offset {} when it was elected is not there",
                                  number, leaders[read.partition] + 1, was.offset));
    }
    int64_t lost_end = kept.end;
    for (auto const& send : run.run().history.sends) {
      if (send.partition != read.partition || send.outcome != checker::Outcome::ok || send.base_offset < 0 ||
          send.end > lost_at.count())
        continue;
      auto const end = send.base_offset + static_cast<int64_t>(send.count);
      if (end <= kept.end) continue;
      lost += static_cast<int64_t>(send.count);
      lost_end = std::max(lost_end, end);
      if (std::ranges::any_of(in_sync, [&](size_t node) { return nodes[node].end >= end; }))
        lost_beside_a_copy += static_cast<int64_t>(send.count);
    }
    if (lost_end > kept.end && !was_last_known(run, number, lost_at)) {
      return run.fail(
          fmt::format("partition {}: acknowledged records from offset {} to {} are gone, and it was not the last one "
                      "known that was elected",
                      number, kept.end, lost_end));
    }
  }
  run.note(fmt::format("lost={} of_which_another_had={}", lost, lost_beside_a_copy));
  run.count("acknowledged records that went with a last known leader", static_cast<uint64_t>(lost));
  auto const& probes = run.world().probes();
  if (lost > 0 && !probes.contains("controller.last_known_leader_elected"))
    run.fail("acknowledged records are gone, and no controller has said that it elected who was known last");
}

// All are back: who leads, and after more load everything is as it must be.
void recover(DemandRun& run, Left const& left, std::vector<size_t> const& in_sync, Duration lost_at) {
  if (!run.wait_for(
          "every partition is led", [&] { return are_all_led(run); }, kElectionBound))
    return;
  std::vector<size_t> leaders;
  for (auto const& each : run.run().partitions) leaders.push_back(*run.leader(each.number));
  check_elections(run, lost_at);
  run.run().is_loading = true;
  auto const before = run.records_ok();
  if (!run.wait_for(
          "records are acknowledged again", [&] { return run.records_ok() > before + 50; }, DemandRun::kSettleLimit) ||
      !run.finish())
    return;
  check_losses(run, left, leaders, in_sync, lost_at);
}

DemandRun::TopicPlan topic_of_three() { return {{{kA, kB, kC}, {kB, kC, kA}, {kC, kA, kB}}, {}}; }

}  // namespace

ClusterPlan plan_losses(Random random) {
  auto plan = plan_of_brokers(3);
  plan.broker_session = draw(random, 1500ms, 9s);
  plan.segment_bytes = random.chance(0.5) ? 1 << 20 : int64_t{1} << (13 + random.below(4));
  return plan;
}

// ---- IS-04

void demand_power_loss_everywhere(DemandRun& run) {
  auto random = run.random("power loss");
  if (!run.start() || !run.make_topic(topic_of_three())) return;
  add_producers(run, random);
  if (!run.run_for(draw(random, 2s, 8s)) || !run.wait_for(
                                                "all are in sync", [&] { return run.are_all_in_sync(); }, 10s))
    return;
  // In some seeds the controllers lose it, too: they sync before they answer.
  std::vector<size_t> dark{kA, kB, kC};
  if (random.chance(0.5)) dark.insert(dark.end(), {0, 1, 2});
  auto const lost_at = run.now();
  lose_power(run, dark, true);
  run.run().is_loading = false;
  if (!run.run_for(1ms)) return;
  auto const left = left_on_disks(run);
  for (size_t i = dark.size() - 1; i > 0; --i) std::swap(dark[i], dark[random.below(i + 1)]);
  bool const is_slow = random.chance(0.5);
  for (auto const node : dark) {
    if (!run.run_for(draw(random, 0ms, is_slow ? Duration(4s) : Duration(100ms)))) return;
    run.bring_back(node);
  }
  recover(run, left, {kA, kB, kC}, lost_at);
}

// ---- IS-10

void demand_both_in_sync_lose(DemandRun& run) {
  auto random = run.random("lossy crashes");
  if (!run.start() || !run.make_topic(topic_of_three())) return;
  add_producers(run, random);
  if (!run.run_for(draw(random, 1s, 3s))) return;
  std::vector<size_t> brokers{kA, kB, kC};
  std::swap(brokers[2], brokers[random.below(3)]);
  auto const outside = brokers[2];
  run.kill(outside, CrashKind::process, true);
  auto const is_outside = [&] {
    return std::ranges::all_of(run.run().partitions, [&](auto const& each) {
      return !run.is_in_sync(each.number, outside) && run.partition(each.number)->isr.size() == 2 &&
             is_led(run, each.number);
    });
  };
  if (!run.wait_for("two are in sync", is_outside, 30s)) return;
  auto const acknowledged = run.records_ok();
  if (!run.wait_for(
          "two in sync acknowledge", [&] { return run.records_ok() > acknowledged + 50; }, 30s) ||
      !run.run_for(draw(random, 100ms, 2s)))
    return;

  auto const lost_at = run.now();
  lose_power(run, {brokers[0], brokers[1]}, true);
  run.run().is_loading = false;
  if (!run.run_for(1ms)) return;
  auto const left = left_on_disks(run);
  // The one outside comes back first, and waits.
  if (!run.run_for(draw(random, 0ms, 3s))) return;
  run.bring_back(outside);
  auto const is_outsider_led = [&] {
    for (auto const& each : run.run().partitions) {
      if (run.leader(each.number) == outside)
        run.fail(fmt::format("node {}, which was not in sync, leads partition {} while both that were are away",
                             outside + 1, each.number));
    }
  };
  if (!run.run_for(run.plan().broker_session + draw(random, 5s, 20s), is_outsider_led)) return;
  for (auto const& each : run.run().partitions) {
    if (run.leader(each.number))
      return run.fail(
          fmt::format("partition {} is led by node {}, which is down", each.number, *run.leader(each.number) + 1));
  }
  // Then the two, one after the other.
  if (random.chance(0.5)) std::swap(brokers[0], brokers[1]);
  run.bring_back(brokers[0]);
  if (!run.run_for(draw(random, 0ms, 8s), is_outsider_led)) return;
  run.bring_back(brokers[1]);
  recover(run, left, {brokers[0], brokers[1]}, lost_at);
}

}  // namespace millrace::sim
