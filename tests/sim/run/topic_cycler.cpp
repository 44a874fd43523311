#include "sim/run/topic_cycler.h"

#include <algorithm>

#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/delete_topics.h"
#include "millrace/protocol/api/metadata.h"
#include "millrace/protocol/api/produce.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;
using protocol::CreateTopicsResponse;
using protocol::DeleteTopicsResponse;
using protocol::FetchResponse;
using protocol::MetadataResponse;
using protocol::ProduceResponse;

constexpr int16_t kWithTopicIds = 13;  // of Produce and Fetch; a name could mean the topic before
constexpr uint64_t kRecordsPerTopic = 1'000'000;
constexpr uint64_t kRecordsWanted = 20;
constexpr uint32_t kReadsMax = 20;

}  // namespace

TopicCycler::TopicCycler(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, int16_t replication_factor)
    : run_(run),
      random_(env.random("topic cycler")),
      client_(env, reactor, "cycler", std::move(brokers), 2s),
      id_(run.add_client()),
      replication_factor_(replication_factor) {}

void TopicCycler::start() {
  client_.reactor().post([this] { step(); });
}

std::string TopicCycler::describe() const {
  return fmt::format("cycler: topic {}, step {}, {} records sent, read to {}", made_, static_cast<int>(doing_), sent_, read_offset_);
}

void TopicCycler::next(Doing doing, Duration wait_max) {
  doing_ = doing;
  client_.after(Duration(random_.between(1'000'000, wait_max.count())), [this] { step(); });
}

void TopicCycler::step() {
  if (run_.failure || is_idle_) return;
  bool const is_of_leader = doing_ == Doing::producing || doing_ == Doing::reading;
  auto const broker = is_of_leader ? leader_ : static_cast<size_t>(random_.below(client_.size()));
  client_.connect(broker, [this, broker](bool is_open) {
    if (!is_open) return next(topic_id_.is_zero() ? doing_ : doing_ == Doing::deleting ? Doing::deleting : Doing::finding, 100ms);
    switch (doing_) {
      case Doing::creating: return create(broker);
      case Doing::finding: return find_leader(broker);
      case Doing::producing: return produce();
      case Doing::reading: return read();
      case Doing::deleting: return remove(broker);
    }
  });
}

void TopicCycler::create(size_t broker) {
  protocol::CreateTopicsRequest::CreatableTopic topic;
  topic.name = kTopic;
  topic.num_partitions = 1;
  topic.replication_factor = replication_factor_;
  protocol::CreateTopicsRequest request;
  request.topics = {&topic, 1};
  request.timeout_ms = 2000;
  client_.call<CreateTopicsResponse>(broker, request, 7, 7, [this](client::Reply<CreateTopicsResponse>* reply) {
    auto const error = reply == nullptr || reply->message.topics.size() != 1 ? ErrorCode::request_timed_out : reply->message.topics[0].error_code;
    if (error != ErrorCode::none && error != ErrorCode::topic_already_exists) return next(Doing::creating, 200ms);
    topic_id_ = error == ErrorCode::none ? reply->message.topics[0].topic_id : Uuid();
    ++made_;
    sent_ = 0;
    acknowledged_.clear();
    read_offset_ = 0;
    reads_left_ = static_cast<uint32_t>(1 + random_.below(kReadsMax));
    next(Doing::finding, 20ms);
  });
}

void TopicCycler::find_leader(size_t broker) {
  protocol::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  protocol::MetadataRequest::MetadataRequestTopic topic{{}, Str(kTopic)};
  request.topics = {&topic, 1};
  client_.call<MetadataResponse>(broker, request, 12, 13, [this](client::Reply<MetadataResponse>* reply) {
    if (reply == nullptr || reply->message.topics.size() != 1) return next(Doing::finding, 100ms);
    auto const& found = reply->message.topics[0];
    // A creation whose answer was lost: the topic is this one, for nobody else makes any. A broker that is behind may
    // still name one that was deleted, not only the last.
    if (topic_id_.is_zero() && found.error_code == ErrorCode::none && std::ranges::find(past_topic_ids_, found.topic_id) == past_topic_ids_.end()) topic_id_ = found.topic_id;
    // Or it is none: a controller that was deposed and cannot know has spoken of the one before.
    if (topic_id_.is_zero() && found.error_code != ErrorCode::none) return next(Doing::creating, 200ms);
    bool const is_it = found.error_code == ErrorCode::none && found.topic_id == topic_id_ && found.partitions.size() == 1;
    auto const leader = is_it ? found.partitions[0].leader_id : -1;
    if (leader < 1 || static_cast<size_t>(leader) > client_.size()) return next(Doing::finding, 100ms);
    leader_ = static_cast<size_t>(leader - 1);
    next(sent_ < kRecordsWanted ? Doing::producing : Doing::reading, 20ms);
  });
}

void TopicCycler::produce() {
  auto const first = made_ * kRecordsPerTopic + sent_;
  auto const count = static_cast<uint32_t>(1 + random_.below(5));
  auto const bytes = build_batch({id_, 0, first}, count, {});
  protocol::ProduceRequest::PartitionProduceData data;
  data.records = ByteView(bytes);
  protocol::ProduceRequest::TopicProduceData topic;
  topic.topic_id = topic_id_;
  topic.partition_data = {&data, 1};
  protocol::ProduceRequest request;
  request.acks = -1;
  request.timeout_ms = 1000;
  request.topic_data = {&topic, 1};
  sent_ += count;
  client_.call<ProduceResponse>(leader_, request, kWithTopicIds, kWithTopicIds, [this, first, count](client::Reply<ProduceResponse>* reply) {
    if (reply == nullptr || reply->message.responses.size() != 1 || reply->message.responses[0].partition_responses.size() != 1) return next(Doing::finding, 100ms);
    auto const& answer = reply->message.responses[0].partition_responses[0];
    if (answer.error_code != ErrorCode::none) return next(Doing::finding, 100ms);
    for (uint32_t i = 0; i < count; ++i) acknowledged_[answer.base_offset + i] = first + i;
    next(sent_ < kRecordsWanted ? Doing::producing : Doing::reading, 50ms);
  });
}

void TopicCycler::read() {
  protocol::FetchRequest::FetchPartition partition;
  partition.current_leader_epoch = -1;
  partition.fetch_offset = read_offset_;
  partition.partition_max_bytes = 1 << 20;
  protocol::FetchRequest::FetchTopic topic;
  topic.topic_id = topic_id_;
  topic.partitions = {&partition, 1};
  protocol::FetchRequest request;
  request.min_bytes = 0;
  request.max_wait_ms = 100;
  request.session_epoch = -1;
  request.topics = {&topic, 1};
  client_.call<FetchResponse>(leader_, request, kWithTopicIds, 18, [this](client::Reply<FetchResponse>* reply) {
    if (reply == nullptr || reply->message.responses.size() != 1 || reply->message.responses[0].partitions.size() != 1) return next(Doing::finding, 100ms);
    take(*reply);
  });
}

void TopicCycler::take(client::Reply<FetchResponse>& reply) {
  auto const& answer = reply.message.responses[0].partitions[0];
  if (answer.error_code != ErrorCode::none) return next(Doing::finding, 100ms);
  std::vector<checker::Observed> seen;
  std::string fault;
  if (!read_batches(answer.records.view(), read_offset_, seen, read_offset_, fault)) return run_.fail("RP-09: " + fault);
  for (auto const& record : seen) {
    if (!record.is_readable) return run_.fail(fmt::format("RP-09: offset {} of topic {} is not as it was sent", record.offset, made_));
    if (record.value.sequence / kRecordsPerTopic != made_) {
      return run_.fail(fmt::format("RP-09: offset {} of topic {} holds a record of topic {} of the same name", record.offset, made_,
                                   record.value.sequence / kRecordsPerTopic));
    }
    auto const known = acknowledged_.find(record.offset);
    if (known != acknowledged_.end() && known->second != record.value.sequence) {
      return run_.fail(fmt::format("RP-09: offset {} of topic {} was acknowledged for another record", record.offset, made_));
    }
  }
  if (!acknowledged_.empty() && answer.high_watermark >= 0 && seen.empty() && read_offset_ <= acknowledged_.rbegin()->first) return next(Doing::finding, 100ms);
  if (--reads_left_ > 0) {
    if (random_.chance(0.5)) read_offset_ = 0;
    return next(random_.chance(0.2) ? Doing::finding : Doing::reading, 300ms);
  }
  reads_left_ = 1;
  if (is_finishing_) {
    is_idle_ = true;
    return;
  }
  next(Doing::deleting, 50ms);
}

void TopicCycler::remove(size_t broker) {
  protocol::DeleteTopicsRequest::DeleteTopicState topic;
  topic.topic_id = topic_id_;
  protocol::DeleteTopicsRequest request;
  request.topics = {&topic, 1};
  request.timeout_ms = 2000;
  client_.call<DeleteTopicsResponse>(broker, request, 6, 6, [this](client::Reply<DeleteTopicsResponse>* reply) {
    auto const error = reply == nullptr || reply->message.responses.size() != 1 ? ErrorCode::request_timed_out : reply->message.responses[0].error_code;
    bool const is_gone = error == ErrorCode::none || error == ErrorCode::unknown_topic_id;
    if (!is_gone) return next(Doing::deleting, 200ms);
    past_topic_ids_.push_back(std::exchange(topic_id_, {}));
    next(Doing::creating, 300ms);
  });
}

}  // namespace millrace::sim
