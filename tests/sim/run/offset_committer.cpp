#include "millrace/protocol/api/find_coordinator.h"
#include "millrace/protocol/api/offset_commit.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "sim/run/data_actor.h"

namespace millrace::sim {

using namespace std::chrono_literals;
using protocol::FindCoordinatorResponse;
using protocol::OffsetCommitResponse;
using protocol::OffsetFetchResponse;

OffsetCommitter::OffsetCommitter(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers)
    : DataActor(env, reactor, run, fmt::format("committer-{}", run.history.client_count), std::move(brokers), 2s), group_(name()), id_(run.add_client()) {}

std::string OffsetCommitter::describe() const {
  return fmt::format("{}: acknowledged {}, committing {}, coordinator {}, last error {}", group_, acknowledged_offset_, committing_.value_or(-1),
                     static_cast<int64_t>(coordinator_) + 1, static_cast<int16_t>(last_error_));
}

void OffsetCommitter::on_metadata() {
  if (!std::exchange(is_started_, true)) next();
}

void OffsetCommitter::next() {
  after(5ms + draw_wait(300ms), [this] {
    if (!committing_ && !is_finishing_ && random_.chance(0.7)) committing_ = next_offset_++;
    step();
  });
}

void OffsetCommitter::again() {
  coordinator_ = kNobody;
  after(20ms + draw_wait(100ms), [this] { step(); });
}

void OffsetCommitter::step() {
  if (coordinator_ == kNobody) return find_coordinator();
  client_.connect(coordinator_, [this](bool is_open) {
    if (!is_open) return again();
    if (committing_) commit();
    else fetch();
  });
}

void OffsetCommitter::find_coordinator() {
  auto const broker = static_cast<size_t>(random_.below(client_.size()));
  client_.connect(broker, [this, broker](bool is_open) {
    if (!is_open) return again();
    protocol::FindCoordinatorRequest request;
    Str key(group_);
    request.coordinator_keys = {&key, 1};
    client_.call<FindCoordinatorResponse>(broker, request, 4, 6, [this](client::Reply<FindCoordinatorResponse>* reply) {
      if (reply == nullptr || reply->message.coordinators.size() != 1) return again();
      auto const& found = reply->message.coordinators[0];
      last_error_ = found.error_code;
      if (found.error_code != ErrorCode::none || found.node_id < 1 || static_cast<size_t>(found.node_id) > client_.size()) return again();
      coordinator_ = static_cast<size_t>(found.node_id - 1);
      step();
    });
  });
}

void OffsetCommitter::commit() {
  auto const& partition = run_.partitions[0];
  protocol::OffsetCommitRequest::OffsetCommitRequestPartition each;
  each.partition_index = partition.number;
  each.committed_offset = *committing_;
  protocol::OffsetCommitRequest::OffsetCommitRequestTopic topic;
  topic.name = partition.topic;
  topic.topic_id = partition.topic_id;
  topic.partitions = {&each, 1};
  protocol::OffsetCommitRequest request;
  request.group_id = group_;
  request.topics = {&topic, 1};
  checker::Commit sent{id_, id_, 0, run_.now(), 0, checker::Outcome::unknown, *committing_};
  client_.call<OffsetCommitResponse>(coordinator_, request, 2, 10, [this, sent](client::Reply<OffsetCommitResponse>* reply) mutable {
    bool const has_answer = reply != nullptr && reply->message.topics.size() == 1 && reply->message.topics[0].partitions.size() == 1;
    if (has_answer) last_error_ = reply->message.topics[0].partitions[0].error_code;
    bool const is_done = has_answer && last_error_ == ErrorCode::none;
    sent.end = run_.now();
    if (is_done) sent.outcome = checker::Outcome::ok;
    run_.history.commits.push_back(sent);
    if (!is_done) return again();
    acknowledged_offset_ = *std::exchange(committing_, std::nullopt);
    ++acknowledged_count_;
    next();
  });
}

void OffsetCommitter::fetch() {
  auto const& partition = run_.partitions[0];
  protocol::OffsetFetchRequest::OffsetFetchRequestTopics topic;
  topic.name = partition.topic;
  topic.topic_id = partition.topic_id;
  auto number = partition.number;
  topic.partition_indexes = {&number, 1};
  protocol::OffsetFetchRequest::OffsetFetchRequestGroup group;
  group.group_id = group_;
  group.topics = {&topic, 1};
  protocol::OffsetFetchRequest request;
  request.groups = {&group, 1};
  checker::CommitRead asked{id_, id_, 0, run_.now(), 0};
  client_.call<OffsetFetchResponse>(coordinator_, request, 8, 10, [this, asked](client::Reply<OffsetFetchResponse>* reply) mutable {
    if (reply == nullptr || reply->message.groups.size() != 1) return again();
    auto const& answer = reply->message.groups[0];
    last_error_ = answer.error_code;
    if (last_error_ != ErrorCode::none || answer.topics.size() != 1 || answer.topics[0].partitions.size() != 1) return again();
    auto const& found = answer.topics[0].partitions[0];
    last_error_ = found.error_code;
    if (last_error_ != ErrorCode::none) return again();
    asked.end = run_.now();
    asked.offset = found.committed_offset;
    run_.history.commit_reads.push_back(asked);
    if (is_finishing_) is_finished_ = true;
    else next();
  });
}

}  // namespace millrace::sim
