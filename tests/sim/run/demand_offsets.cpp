// GC-11: a group has committed an offset that the log does not reach any more, or reaches with other records.
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/find_coordinator.h"
#include "millrace/protocol/api/offset_commit.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "millrace/protocol/api/offset_for_leader_epoch.h"
#include "sim/run/demand.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr size_t kA = kFirstBroker, kB = kFirstBroker + 1;
constexpr std::string_view kGroup = "readers";
constexpr int kTriesMax = 200;
constexpr Duration kTryEvery = 200ms;

struct Committed {
  int64_t offset = -1;
  int32_t epoch = -1;
};

// Until `attempt` says that it is done.
bool try_often(DemandRun& run, std::string_view what, std::function<bool()> const& attempt) {
  for (int i = 0; i < kTriesMax && !run.has_failed(); ++i) {
    if (attempt()) return !run.has_failed();
    if (!run.run_for(kTryEvery)) return false;
  }
  run.fail(fmt::format("not possible: {}", what));
  return false;
}

std::optional<size_t> find_coordinator(DemandRun& run) {
  for (size_t node = kFirstBroker; node < run.cluster().size(); ++node) {
    if (!run.cluster().is_serving(node)) continue;
    protocol::FindCoordinatorRequest request;
    Str key(kGroup);
    request.coordinator_keys = {&key, 1};
    auto const reply = run.ask<protocol::FindCoordinatorResponse>(node, request, 4);
    if (reply == nullptr || reply->message.coordinators.size() != 1 ||
        reply->message.coordinators[0].error_code != ErrorCode::none)
      continue;
    return static_cast<size_t>(reply->message.coordinators[0].node_id - 1);
  }
  return std::nullopt;
}

bool commit(DemandRun& run, Committed const& committed) {
  return try_often(run, "to commit", [&] {
    auto const coordinator = find_coordinator(run);
    if (!coordinator) return false;
    protocol::OffsetCommitRequest::OffsetCommitRequestPartition partition;
    partition.committed_offset = committed.offset;
    partition.committed_leader_epoch = committed.epoch;
    protocol::OffsetCommitRequest::OffsetCommitRequestTopic topic;
    topic.name = DemandRun::kTopic;
    topic.partitions = {&partition, 1};
    protocol::OffsetCommitRequest request;
    request.group_id = kGroup;
    request.topics = {&topic, 1};
    auto const reply = run.ask<protocol::OffsetCommitResponse>(*coordinator, request, 8);
    return reply != nullptr && reply->message.topics.size() == 1 && reply->message.topics[0].partitions.size() == 1 &&
           reply->message.topics[0].partitions[0].error_code == ErrorCode::none;
  });
}

bool fetch_committed(DemandRun& run, Committed& out) {
  return try_often(run, "to ask for the committed offset", [&] {
    auto const coordinator = find_coordinator(run);
    if (!coordinator) return false;
    int32_t number = 0;
    protocol::OffsetFetchRequest::OffsetFetchRequestTopics topic;
    topic.name = DemandRun::kTopic;
    topic.partition_indexes = {&number, 1};
    protocol::OffsetFetchRequest::OffsetFetchRequestGroup group;
    group.group_id = kGroup;
    group.topics = {&topic, 1};
    protocol::OffsetFetchRequest request;
    request.groups = {&group, 1};
    auto const reply = run.ask<protocol::OffsetFetchResponse>(*coordinator, request, 8);
    if (reply == nullptr || reply->message.groups.size() != 1 || reply->message.groups[0].error_code != ErrorCode::none)
      return false;
    auto const& topics = reply->message.groups[0].topics;
    if (topics.size() != 1 || topics[0].partitions.size() != 1 || topics[0].partitions[0].error_code != ErrorCode::none)
      return false;
    out = {topics[0].partitions[0].committed_offset, topics[0].partitions[0].committed_leader_epoch};
    return true;
  });
}

// As a consumer asks before it begins at an offset with an epoch.
bool ask_epoch_end(DemandRun& run, int32_t epoch, protocol::OffsetForLeaderEpochResponse::EpochEndOffset& out) {
  return try_often(run, "to ask where an epoch ends", [&] {
    auto const leader = run.leader(0);
    if (!leader) return false;
    protocol::OffsetForLeaderEpochRequest::OffsetForLeaderPartition partition{0, run.partition(0)->leader_epoch.value,
                                                                              epoch};
    protocol::OffsetForLeaderEpochRequest::OffsetForLeaderTopic topic;
    topic.topic = DemandRun::kTopic;
    topic.partitions = {&partition, 1};
    protocol::OffsetForLeaderEpochRequest request;
    request.replica_id = -1;
    request.topics = {&topic, 1};
    auto const reply = run.ask<protocol::OffsetForLeaderEpochResponse>(*leader, request, 4);
    if (reply == nullptr || reply->message.topics.size() != 1 || reply->message.topics[0].partitions.size() != 1)
      return false;
    out = reply->message.topics[0].partitions[0];
    return out.error_code == ErrorCode::none;
  });
}

// As one that does not ask, but says in its Fetch what it has read last.
void check_fetch(DemandRun& run, Committed const& at, int64_t true_end) {
  try_often(run, "to fetch", [&] {
    auto const leader = run.leader(0);
    if (!leader) return false;
    protocol::FetchRequest::FetchPartition partition;
    partition.current_leader_epoch = run.partition(0)->leader_epoch.value;
    partition.fetch_offset = at.offset;
    partition.last_fetched_epoch = at.epoch;
    partition.partition_max_bytes = 1 << 20;
    protocol::FetchRequest::FetchTopic topic;
    topic.topic = DemandRun::kTopic;
    topic.partitions = {&partition, 1};
    protocol::FetchRequest request;
    request.max_wait_ms = 100;
    request.session_epoch = -1;
    request.topics = {&topic, 1};
    auto const reply = run.ask<protocol::FetchResponse>(*leader, request, 12);
    if (reply == nullptr || reply->message.responses.size() != 1 || reply->message.responses[0].partitions.size() != 1)
      return false;
    auto const& answer = reply->message.responses[0].partitions[0];
    if (answer.error_code == ErrorCode::not_leader_or_follower || answer.error_code == ErrorCode::fenced_leader_epoch)
      return false;
    bool const is_told = answer.diverging_epoch.epoch >= 0 && answer.diverging_epoch.end_offset == true_end;
    if (!is_told) {
      run.fail(
          fmt::format("a Fetch at {} after epoch {} is answered error {}, diverging at {}, {} bytes; the log of that "
                      "epoch ends at {}",
                      at.offset, at.epoch, static_cast<int16_t>(answer.error_code), answer.diverging_epoch.end_offset,
                      answer.records.view().size(), true_end));
    }
    return true;
  });
}

bool is_led_by(DemandRun& run, size_t node, LeaderEpoch after) {
  auto const driver = run.leader(0) == node ? run.replica(node, 0) : nullptr;
  return driver != nullptr && driver->status() == runtime::PartitionStatus::leader && driver->marks().epoch > after;
}

// Everything is read and acknowledged by its leader alone: that is what is committed.
bool commit_end(DemandRun& run, Committed& out) {
  if (!run.stop_load() || !run.leader(0)) return false;
  auto const marks = run.replica(*run.leader(0), 0)->marks();
  auto const last_epoch = run.replica(*run.leader(0), 0)->epochs()->epoch_of(marks.end.offset - 1);
  out = {marks.end.offset.value, last_epoch.value_or(marks.epoch).value};
  return commit(run, out);
}

}  // namespace

ClusterPlan plan_committed_epoch(Random random) {
  auto plan = plan_of_brokers(3);
  plan.broker_session = draw(random, 1s, 4s);
  return plan;
}

void demand_committed_epoch(DemandRun& run) {
  auto random = run.random("committed epoch");
  bool const is_unclean = random.chance(0.6);
  DemandRun::TopicPlan topic{{is_unclean ? std::vector{kA, kB} : std::vector{kA}}, {{"min.insync.replicas", "1"}}};
  if (is_unclean) topic.configs.push_back({"unclean.leader.election.enable", "true"});
  if (!run.start() || !run.make_topic(topic)) return;
  run.add_producer({.is_idempotent = false, .acks = 1, .pause_max = 40ms});
  if (!run.run_for(draw(random, 500ms, 2s))) return;
  Committed committed;
  auto const successor = is_unclean ? kB : kA;
  int64_t true_end = 0;
  if (is_unclean) {
    // The one that is away leads when the other has gone.
    run.kill(kB, CrashKind::process, true);
    if (!run.wait_for(
            "one is in sync", [&] { return !run.is_in_sync(0, kB); }, 20s) ||
        !run.run_for(draw(random, 500ms, 2s)) || !commit_end(run, committed))
      return;
    true_end = run.on_disk(kB, 0).end;
    run.kill(kA, CrashKind::process, true);
    if (!run.wait_for(
            "nobody leads", [&] { return !run.leader(0); }, 20s))
      return;
    run.bring_back(kB);
  } else {
    if (!commit_end(run, committed)) return;
    run.kill(kA, CrashKind::power_loss, true);
    if (!run.run_for(1ms)) return;
    true_end = run.on_disk(kA, 0).end;
    if (!run.wait_for(
            "nobody leads", [&] { return !run.leader(0); }, 20s))
      return;
    run.bring_back(kA);
  }
  run.count(fmt::format("{}{}", kFaultPrefix, name_of(is_unclean ? FaultKind::process_crash : FaultKind::power_loss)));
  auto const begins = [&] { return is_led_by(run, successor, LeaderEpoch(committed.epoch)); };
  if (!run.wait_for("who has lost records leads", begins, 30s)) return;
  // The dangerous case: it has other records up to there and beyond.
  bool const has_more = random.chance(0.6);
  if (has_more) {
    run.run().is_loading = true;
    auto const is_longer = [&] {
      return run.replica(successor, 0)->marks().high_watermark.offset.value > committed.offset + 10;
    };
    if (!run.wait_for("the log has grown beyond what was committed", is_longer, 60s) || !run.stop_load()) return;
  }
  Committed found;
  if (!fetch_committed(run, found)) return;
  if (found.offset != committed.offset || found.epoch != committed.epoch) {
    return run.fail(fmt::format("committed was offset {} of epoch {}, and OffsetFetch says {} of epoch {}",
                                committed.offset, committed.epoch, found.offset, found.epoch));
  }
  protocol::OffsetForLeaderEpochResponse::EpochEndOffset end;
  if (!ask_epoch_end(run, found.epoch, end)) return;
  run.note(
      fmt::format("committed={} true_end={} unclean={} has_more={}", committed.offset, true_end, is_unclean, has_more));
  if (end.end_offset != true_end || end.leader_epoch > found.epoch) {
    return run.fail(fmt::format("OffsetForLeaderEpoch says that epoch {} ends at {} of epoch {}; it ends at {}",
                                found.epoch, end.end_offset, end.leader_epoch, true_end));
  }
  if (true_end < committed.offset) check_fetch(run, found, true_end);
}

}  // namespace millrace::sim
