// RP-08: what a follower would fetch next was deleted while it was away.
#include "millrace/protocol/api/delete_records.h"
#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr size_t kA = kFirstBroker, kB = kFirstBroker + 1, kAway = kFirstBroker + 2;
constexpr int16_t kDeleteRecordsVersion = 2;
constexpr Duration kReturnBound = 20s;  // it starts, is unfenced, empties its log and fetches a few megabytes at most

int64_t start_of(DemandRun& run, size_t node) {
  auto const driver = run.replica(node, 0);
  return driver == nullptr ? -1 : driver->marks().log_start.value;
}

bool delete_records(DemandRun& run, Random& random, int64_t away_end) {
  for (int tries = 0; tries < 20 && !run.has_failed(); ++tries) {
    auto const leader = run.leader(0);
    if (!leader) return run.run_for(100ms);
    auto const mark = run.replica(*leader, 0)->marks().high_watermark.offset.value;
    protocol::DeleteRecordsRequest::DeleteRecordsPartition partition{
        0, random.between(std::min(away_end + 1, mark), mark)};
    protocol::DeleteRecordsRequest::DeleteRecordsTopic topic;
    topic.name = DemandRun::kTopic;
    topic.partitions = {&partition, 1};
    protocol::DeleteRecordsRequest request;
    request.topics = {&topic, 1};
    request.timeout_ms = 2000;
    checker::Deletion deletion{0, run.run().now(), 0, checker::Outcome::unknown, partition.offset};
    auto const reply = run.ask<protocol::DeleteRecordsResponse>(*leader, request, kDeleteRecordsVersion);
    bool const is_done = reply != nullptr && reply->message.topics.size() == 1 &&
                         reply->message.topics[0].partitions.size() == 1 &&
                         reply->message.topics[0].partitions[0].error_code == ErrorCode::none;
    deletion.end = run.run().now();
    if (is_done) deletion.outcome = checker::Outcome::ok;
    run.run().history.deletions.push_back(deletion);
    if (is_done) return true;
    if (!run.run_for(100ms)) return false;
  }
  run.fail("records cannot be deleted");
  return false;
}

}  // namespace

ClusterPlan plan_deleted_prefix(Random random) {
  auto plan = plan_of_brokers(3);
  plan.broker_session = draw(random, 1s, 3s);
  plan.segment_bytes = int64_t{1} << (13 + random.below(3));
  plan.is_flush = random.chance(0.3);
  if (random.chance(0.5)) plan.replica_fetch_bytes_max = static_cast<int32_t>(1000 + random.below(20'000));
  return plan;
}

// The oracle of replicas knows no deletions: files, final reads and the checker tell.
void demand_deleted_prefix(DemandRun& run) {
  auto random = run.random("deleted prefix");
  bool const is_retention = random.chance(0.4);
  DemandRun::TopicPlan topic{{{kA, kB, kAway}}, {}};
  if (is_retention) topic.configs.push_back({"retention.bytes", "20000"});
  if (!run.start() || !run.make_topic(topic)) return;
  for (size_t i = 0; i < 2; ++i) run.add_producer({.pause_max = 40ms});
  if (!run.run_for(draw(random, 1s, 4s)) || !run.wait_for(
                                                "all are in sync", [&] { return run.are_all_in_sync(); }, 20s))
    return;
  run.kill(kAway, random.chance(0.5) ? CrashKind::power_loss : CrashKind::process, true);
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(FaultKind::process_crash)));
  if (!run.run_for(1ms)) return;
  auto const away_end = run.on_disk(kAway, 0).end;
  auto const has_grown = [&] {
    auto const leader = run.leader(0);
    return leader && !run.is_in_sync(0, kAway) &&
           run.replica(*leader, 0)->marks().high_watermark.offset.value > away_end + 20;
  };
  if (!run.wait_for("the others go on", has_grown, 30s) || !run.run_for(draw(random, 0ms, 3s))) return;
  if (!is_retention && !delete_records(run, random, away_end)) return;
  auto const is_past = [&] { return run.leader(0) && start_of(run, *run.leader(0)) > away_end; };
  if (!run.wait_for("the log starts beyond the end of who is away", is_past, 60s)) return;
  // In some seeds it comes back when nothing more is written.
  if (random.chance(0.4) && !run.stop_load()) return;
  auto const leader = *run.leader(0);
  run.bring_back(kAway);
  if (!run.wait_for(
          "who was away is in sync", [&] { return run.is_in_sync(0, kAway); }, kReturnBound))
    return;
  if (start_of(run, kAway) <= away_end) {
    return run.fail(fmt::format(
        "who was away, with a log that ended at {}, is in sync with one that starts at {}; its leader's starts at {}",
        away_end, start_of(run, kAway), start_of(run, leader)));
  }
  if (!run.finish()) return;
  auto const log = run.on_disk(kAway, 0);
  auto const end = run.replica(kAway, 0)->marks().end.offset.value;
  run.note(fmt::format("away_end={} start={} end={} retention={}", away_end, log.start, end, is_retention));
  // Whole batches, one after the other, from the first: a batch in which the log starts may begin below.
  if (log.start < away_end)
    run.fail(fmt::format("who was away has kept what its leader has deleted: its files begin at {}", log.start));
  if (log.end != end)
    run.fail(fmt::format("who was away has a log that ends at {}, and its files have a gap at {}", end, log.end));
  if (start_of(run, kAway) != start_of(run, leader)) {
    run.fail(fmt::format("the log of who was away starts at {}, its leader's at {}", start_of(run, kAway),
                         start_of(run, leader)));
  }
}

}  // namespace millrace::sim
