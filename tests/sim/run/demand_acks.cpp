// RP-12: what was not acknowledged by all may go with its leader, if no other had it; nothing else, and nothing twice.
#include <algorithm>
#include <map>

#include "sim/run/careless_producer.h"
#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr size_t kA = kFirstBroker, kB = kFirstBroker + 1, kC = kFirstBroker + 2;
constexpr int kLosses = 3;

// By partition, what the leader and all others that were in sync had when the leader was lost.
using Replicated = std::vector<std::map<int64_t, checker::Value>>;

void note_replicated(DemandRun& run, size_t leader, Replicated& out) {
  for (size_t p = 0; p < out.size(); ++p) {
    auto const number = run.run().partitions[p].number;
    if (run.leader(number) != leader) continue;
    auto const log = run.on_disk(leader, number);
    auto end = log.end;
    for (auto const id : run.partition(number)->isr) {
      auto const driver = run.replica(static_cast<size_t>(id.value - 1), number);
      end = std::min(end, driver == nullptr ? 0 : driver->marks().end.offset.value);
    }
    for (auto const& record : log.records) {
      if (record.offset < end) out[p].insert_or_assign(record.offset, record.value);
    }
  }
}

// Dead, or alone with those clients that believe in it.
void lose_leader(DemandRun& run, Random& random, size_t leader) {
  auto const how = random.below(3);
  auto const kind = how == 0 ? FaultKind::process_crash : how == 1 ? FaultKind::power_loss : FaultKind::isolate;
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(kind)));
  if (kind == FaultKind::isolate)
    run.cluster().isolate(leader);
  else
    run.kill(leader, kind == FaultKind::power_loss ? CrashKind::power_loss : CrashKind::process, true);
}

void check_reads(DemandRun& run, Replicated const& replicated) {
  uint64_t kept = 0;
  for (auto const& read : run.run().history.final_reads) {
    std::map<int64_t, checker::Value> found;
    std::map<checker::ClientId, uint64_t> last;
    for (auto const& record : read.records) {
      found.emplace(record.offset, record.value);
      auto const [at, is_first] = last.try_emplace(record.value.client, record.value.sequence);
      if (!is_first && record.value.sequence <= at->second) {
        return run.fail(fmt::format("partition {}: record {} of client {} stands at offset {}, behind its record {}",
                                    read.partition, record.value.sequence, record.value.client, record.offset,
                                    at->second));
      }
      at->second = record.value.sequence;
    }
    for (auto const& [offset, value] : replicated[read.partition]) {
      auto const is = found.find(offset);
      if (is == found.end() || is->second != value) {
        return run.fail(
            fmt::format("partition {}: record {} of client {}, which every replica in sync had at offset {} when its "
                        "leader was lost, is gone",
                        read.partition, value.sequence, value.client, offset));
      }
      ++kept;
    }
  }
  run.note(fmt::format("replicated={}", kept));
}

}  // namespace

ClusterPlan plan_leader_losses(Random random) {
  auto plan = plan_of_brokers(3);
  plan.broker_session = draw(random, 1s, 4s);
  if (random.chance(0.5)) plan.replica_lag_max = draw(random, 1s, 4s);
  return plan;
}

void demand_leader_losses(DemandRun& run) {
  auto random = run.random("leader losses");
  if (!run.start() || !run.make_topic({{{kA, kB, kC}, {kB, kC, kA}, {kC, kA, kB}}, {}})) return;
  run.judge_replicas();
  for (size_t i = 0; i < 3; ++i) {
    DataProducerPlan plan;
    plan.is_idempotent = i == 0;
    plan.acks = i == 0 ? int16_t{-1} : int16_t{1};
    plan.pause_max = 40ms;
    plan.request_timeout = draw(random, 500ms, 2s);
    plan.broker_timeout_ms = static_cast<int32_t>(500 + random.below(1000));
    run.add_producer(plan);
  }
  std::vector<CarelessProducer const*> careless;
  for (size_t i = 0; i < 2; ++i) careless.push_back(&run.add_actor<CarelessProducer>());
  Replicated replicated(run.run().partitions.size());
  for (int i = 0; i < kLosses; ++i) {
    auto const all_lead = [&] { return run.are_all_in_sync(); };
    if (!run.wait_for("all are in sync", all_lead, DemandRun::kSettleLimit) || !run.run_for(draw(random, 1s, 3s)) ||
        !run.wait_for("all are in sync", all_lead, DemandRun::kSettleLimit)) {
      return;
    }
    auto const number = static_cast<int32_t>(random.below(3));
    auto const leader = *run.leader(number);
    note_replicated(run, leader, replicated);
    lose_leader(run, random, leader);
    auto const is_replaced = [&] { return run.leader(number) && run.leader(number) != leader; };
    if (!run.wait_for("another replica leads", is_replaced, run.plan().broker_session * 2 + 5s) ||
        !run.run_for(draw(random, 0ms, 2s)))
      return;
    run.cluster().heal_all();
    run.bring_back(leader);
  }
  if (!run.finish()) return;
  check_reads(run, replicated);
  uint64_t sent = 0;
  for (auto const* each : careless) sent += each->records_sent();
  run.note(fmt::format("unanswered={}", sent));
}

}  // namespace millrace::sim
