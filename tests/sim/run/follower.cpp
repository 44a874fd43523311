#include "sim/run/follower.h"

#include "sim/run/offset_question.h"

namespace millrace::sim {
namespace {

using protocol::FetchRequest;
using protocol::FetchResponse;

constexpr int16_t kFetchLowest = 12;  // with the last fetched epoch
constexpr int16_t kFetchHighest = 17;
constexpr int16_t kFetchTopicIds = 13;
constexpr int16_t kReplicaState = 15;

}  // namespace

Follower::Follower(NodeEnv& env, size_t reactor, Run& run)
    : Actor(env, reactor, run, "follower"), logs_(run.partitions.size()) {}

void Follower::pause(Duration span) { paused_until_ = std::max(paused_until_, world().now() + span); }

void Follower::cut(Log& log, int64_t offset) {
  while (!log.batches.empty() && log.batches.back().last >= offset) {
    log.end = log.batches.back().base;
    log.batches.pop_back();
  }
  log.end = std::min(log.end, std::max(offset, log.start));
}

void Follower::lose_tail(checker::PartitionIndex partition, int64_t offset) {
  cut(logs_[partition], offset);
  logs_[partition].promised = logs_[partition].end;
  // What is being fetched now would leave a hole behind it.
  is_stale_ = true;
  reactor().post([this] { drop_connection(); });
}

void Follower::on_connected() {
  is_stale_ = false;
  ++loop_;
  fetch();
}

void Follower::fetch_after(Duration wait) {
  // A loop that was interrupted must not go on beside the one that took its place.
  after(wait, [this, loop = loop_] {
    if (loop == loop_ && is_connected()) fetch();
  });
}

void Follower::fetch() {
  if (!is_connected()) return;
  for (size_t p = 0; p < logs_.size(); ++p) {
    if (logs_[p].must_start_again) return start_again(p);
  }
  if (world().now() < paused_until_) {
    return fetch_after(paused_until_ - world().now());
  }
  auto const version = draw_version(ApiKey::fetch, kFetchLowest, kFetchHighest);
  FetchRequest request;
  if (version >= kReplicaState) {
    request.replica_state.replica_id = kFollowerId;
    request.replica_state.replica_epoch = -1;
  } else {
    request.replica_id = kFollowerId;
  }
  request.max_wait_ms = static_cast<int32_t>(random_.below(300));
  request.min_bytes = 1;
  request.max_bytes = 1 << 20;
  std::vector<std::vector<FetchRequest::FetchPartition>> partitions;
  std::vector<FetchRequest::FetchTopic> topics;
  for (size_t p = 0; p < logs_.size(); ++p) {
    auto const& info = run_.partitions[p];
    if (topics.empty() || topics.back().topic != info.topic) {
      FetchRequest::FetchTopic topic;
      topic.topic = info.topic;
      topic.topic_id = info.topic_id;
      topics.push_back(topic);
      partitions.emplace_back();
    }
    FetchRequest::FetchPartition each;
    each.partition = info.number;
    each.current_leader_epoch = info.leader_epoch;
    each.fetch_offset = logs_[p].end;
    each.last_fetched_epoch = logs_[p].last_epoch();
    each.log_start_offset = logs_[p].start;
    each.partition_max_bytes = static_cast<int32_t>(1 + random_.below(100'000));
    partitions.back().push_back(each);
    logs_[p].promised = std::max(logs_[p].promised, logs_[p].end);
  }
  for (size_t t = 0; t < topics.size(); ++t) topics[t].partitions = partitions[t];
  request.topics = topics;
  call<FetchResponse>(request, version,
                      [this, version, loop = loop_](client::Reply<FetchResponse>* reply) {
                        if (loop == loop_) on_fetched(reply, version);
                      });
}

void Follower::on_fetched(client::Reply<FetchResponse>* reply, int16_t version) {
  if (reply == nullptr || is_stale_) return;
  bool has_error = reply->message.error_code != ErrorCode::none;
  for (auto const& topic : reply->message.responses) {
    for (auto const& answer : topic.partitions) {
      size_t p = 0;
      while (p < logs_.size() && !(run_.partitions[p].number == answer.partition_index &&
                                   (version >= kFetchTopicIds ? run_.partitions[p].topic_id == topic.topic_id
                                                              : run_.partitions[p].topic == topic.topic))) {
        ++p;
      }
      if (p == logs_.size()) return run_.fail("a replica Fetch answer names a partition that was not asked for");
      auto& log = logs_[p];
      if (answer.error_code == ErrorCode::offset_out_of_range) {
        log.must_start_again = true;
        continue;
      }
      if (answer.error_code != ErrorCode::none) {
        has_error = true;
        continue;
      }
      if (answer.diverging_epoch.epoch >= 0) {
        cut(log, answer.diverging_epoch.end_offset);
        log.promised = std::min(log.promised, log.end);
        continue;
      }
      if (!take(static_cast<checker::PartitionIndex>(p), answer.records.view())) return;
      run_.claim(static_cast<checker::PartitionIndex>(p), answer.high_watermark, "the high watermark of a replica fetch");
    }
  }
  if (has_error) {
    return fetch_after(std::chrono::milliseconds(10 + random_.below(40)));
  }
  fetch();
}

// Behind the leader's log start: what is here is dropped, and it goes on from there.
void Follower::start_again(size_t partition) {
  OffsetQuestion const question(run_.partitions[partition], kEarliest, checker::Isolation::read_uncommitted);
  call<protocol::ListOffsetsResponse>(
      question.request, draw_version(ApiKey::list_offsets, kListOffsetsLowest, 11),
      [this, partition](client::Reply<protocol::ListOffsetsResponse>* reply) {
        auto const* answer = only_answer(reply);
        if (reply == nullptr || is_stale_) return;
        if (answer != nullptr && answer->error_code == ErrorCode::none) {
          auto& log = logs_[partition];
          log.must_start_again = false;
          if (answer->offset > log.end) {
            log.batches.clear();
            log.start = log.end = answer->offset;
          }
        }
        fetch_after(std::chrono::milliseconds(1 + random_.below(20)));
      });
}

bool Follower::take(checker::PartitionIndex partition, ByteView bytes) {
  auto& log = logs_[partition];
  record::BatchReader batches(bytes);
  record::BatchView batch;
  while (batches.next(batch)) {
    if (auto bad = record::check(batch)) {
      run_.fail(fmt::format("replica fetch: batch at offset {}: {}", batch.base_offset(), bad.message));
      return false;
    }
    // A log that begins in the middle of the leader's oldest batch takes that batch whole.
    if (log.batches.empty() && batch.base_offset().value < log.end && batch.last_offset().value >= log.end) {
      log.start = log.end = batch.base_offset().value;
    }
    if (batch.base_offset().value != log.end) {
      run_.fail(fmt::format("replica fetch: partition {}: batch at offset {} where {} was asked for", partition,
                            batch.base_offset(), log.end));
      return false;
    }
    if (batch.leader_epoch().value < log.last_epoch()) {
      run_.fail(fmt::format("replica fetch: partition {}: epoch falls to {} at offset {}", partition,
                            batch.leader_epoch().value, log.end));
      return false;
    }
    auto const view = batch.bytes();
    log.batches.push_back({batch.base_offset().value, batch.last_offset().value, batch.leader_epoch().value,
                           std::vector<std::byte>(view.begin(), view.end())});
    log.end = batch.last_offset().value + 1;
  }
  return true;
}

std::vector<checker::Observed> Follower::records(checker::PartitionIndex partition) const {
  std::vector<checker::Observed> out;
  for (auto const& batch : logs_[partition].batches) {
    std::string fault;
    int64_t next = 0;
    if (!read_batches(batch.bytes, batch.base, out, next, fault)) run_.fail(fmt::format("the follower's log: {}", fault));
  }
  return out;
}

}  // namespace millrace::sim
