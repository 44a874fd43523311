#include "sim/run/data_actor.h"
#include "sim/run/offset_question.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;
using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ListOffsetsResponse;

constexpr int16_t kFetchLowest = 11;  // racks
constexpr int16_t kFetchHighest = 18;
constexpr int16_t kFetchTopicIds = 13;
constexpr int16_t kDivergence = 12;
constexpr Duration kIdleWait = 50ms;

std::optional<int32_t> last_epoch_of(ByteView bytes) {
  std::optional<int32_t> out;
  record::BatchReader batches(bytes);
  record::BatchView batch;
  while (batches.next(batch)) out = batch.leader_epoch().value;
  return out;
}

}  // namespace

// --- consumer ----------------------------------------------------------------------------------------------------

DataConsumer::DataConsumer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, DataConsumerPlan plan)
    : DataActor(env, reactor, run, fmt::format("consumer-{}", run.history.client_count), std::move(brokers), 3s),
      plan_(std::move(plan)),
      id_(run.add_client()),
      positions_(run.partitions.size()),
      is_looping_(client_.size(), false) {}

void DataConsumer::on_metadata() {
  for (size_t broker = 0; broker < client_.size(); ++broker) {
    if (!is_looping_[broker]) loop(broker);
  }
}

size_t DataConsumer::source_of(checker::PartitionIndex partition) const {
  auto const& position = positions_[partition];
  return position.preferred != kNobody ? position.preferred : place(partition).leader;
}

void DataConsumer::loop_after(size_t broker, Duration wait) {
  after(wait, [this, broker] {
    is_looping_[broker] = false;
    loop(broker);
  });
}

void DataConsumer::loop(size_t broker) {
  if (is_looping_[broker]) return;
  is_looping_[broker] = true;
  std::vector<Asked> asked;
  for (size_t p = 0; p < positions_.size(); ++p) {
    auto const partition = static_cast<checker::PartitionIndex>(p);
    if (source_of(partition) != broker) continue;
    asked.push_back({partition, positions_[p].offset, place(partition).epoch, place(partition).leader == broker});
  }
  if (asked.empty()) return loop_after(broker, kIdleWait);
  client_.connect(broker, [this, broker, asked](bool is_open) {
    if (is_open) return fetch(broker, asked);
    for (auto const& each : asked) positions_[each.partition].preferred = kNobody;
    refresh_later();
    loop_after(broker, kIdleWait);
  });
}

void DataConsumer::fetch(size_t broker, std::vector<Asked> const& asked) {
  FetchRequest request;
  request.max_wait_ms = plan_.wait_ms;
  request.min_bytes = plan_.bytes_min;
  request.max_bytes = plan_.bytes_max;
  request.isolation_level = plan_.isolation == checker::Isolation::read_committed ? 1 : 0;
  request.session_epoch = -1;
  request.rack_id = plan_.rack;
  std::vector<std::vector<FetchRequest::FetchPartition>> partitions;
  std::vector<FetchRequest::FetchTopic> topics;
  for (auto const& each : asked) {
    auto const& info = run_.partitions[each.partition];
    if (topics.empty() || topics.back().topic != info.topic) {
      FetchRequest::FetchTopic topic;
      topic.topic = info.topic;
      topic.topic_id = info.topic_id;
      topics.push_back(topic);
      partitions.emplace_back();
    }
    FetchRequest::FetchPartition partition;
    partition.partition = info.number;
    partition.current_leader_epoch = each.epoch;
    partition.fetch_offset = each.offset;
    partition.last_fetched_epoch = positions_[each.partition].last_epoch;
    partition.partition_max_bytes = plan_.partition_bytes_max;
    partitions.back().push_back(partition);
  }
  for (size_t t = 0; t < topics.size(); ++t) topics[t].partitions = partitions[t];
  request.topics = topics;
  // Versions before 12 carry no epoch of what was read last.
  bool const may_diverge = std::ranges::any_of(asked, [this](auto const& each) { return positions_[each.partition].last_epoch >= 0; });
  auto const lowest = may_diverge || random_.chance(0.8) ? kDivergence : kFetchLowest;
  auto const start = run_.now();
  client_.call<FetchResponse>(broker, request, lowest, kFetchHighest,
                              [this, broker, asked, start](client::Reply<FetchResponse>* reply) {
                                on_fetched(broker, asked, start, reply == nullptr ? int16_t{0} : reply->version, reply);
                              });
}

void DataConsumer::on_fetched(size_t broker, std::vector<Asked> const& asked, checker::Nanos start, int16_t version,
                              client::Reply<FetchResponse>* reply) {
  bool is_well = reply != nullptr && reply->message.error_code == ErrorCode::none;
  if (reply == nullptr) {
    for (auto const& each : asked) positions_[each.partition].preferred = kNobody;
  } else {
    for (auto const& topic : reply->message.responses) {
      for (auto const& answer : topic.partitions) {
        auto const found = std::ranges::find_if(asked, [&](Asked const& each) {
          auto const& info = run_.partitions[each.partition];
          return info.number == answer.partition_index &&
                 (version >= kFetchTopicIds ? info.topic_id == topic.topic_id : info.topic == topic.topic);
        });
        if (found == asked.end()) return run_.fail("a Fetch answer names a partition that was not asked for");
        is_well = take(broker, *found, start, answer) && is_well;
        if (run_.failure) return;
      }
    }
  }
  if (!is_well) refresh_later();
  loop_after(broker, is_well ? draw_wait(plan_.pause_max) : 20ms + draw_wait(30ms));
}

bool DataConsumer::take(size_t broker, Asked const& asked, checker::Nanos start, FetchResponse::PartitionData const& answer) {
  auto& position = positions_[asked.partition];
  // A late answer: the partition has been asked for elsewhere since, and read on. Kafka's consumer drops it, too.
  if (asked.offset != position.offset) return true;
  if (answer.error_code != ErrorCode::none) {
    position.preferred = kNobody;
    if (answer.error_code == ErrorCode::offset_out_of_range && asked.is_of_leader) {
      // Nothing is deleted here: the leader of that very epoch does not have what was read before.
      run_.fail(fmt::format("C6: partition {}: {} is answered offset_out_of_range at {} by the leader of epoch {}", asked.partition, name(),
                            asked.offset, asked.epoch));
    }
    return false;
  }
  if (answer.diverging_epoch.epoch >= 0) {
    run_.fail(fmt::format("C6: partition {}: {} has read up to offset {} in epoch {}, and now epoch {} ends at {}", asked.partition, name(),
                          asked.offset, position.last_epoch, answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset));
    return false;
  }
  if (answer.preferred_read_replica >= 0) {
    auto const preferred = static_cast<size_t>(answer.preferred_read_replica - 1);
    if (preferred < client_.size() && preferred != broker) position.preferred = preferred;
    return true;
  }
  std::vector<checker::Observed> seen;
  std::string fault;
  auto next_offset = asked.offset;
  if (!read_batches(answer.records.view(), asked.offset, seen, next_offset, fault)) {
    run_.fail(fmt::format("{} of partition {}: {}", name(), asked.partition, fault));
    return false;
  }
  if (next_offset > asked.offset) position.last_epoch = last_epoch_of(answer.records.view()).value_or(position.last_epoch);
  checker::Poll poll;
  poll.client = id_;
  poll.partition = asked.partition;
  poll.assignment = position.assignment;
  poll.start = start;
  poll.end = run_.now();
  poll.fetch_offset = asked.offset;
  poll.leader_epoch = asked.epoch;
  poll.high_watermark = answer.high_watermark;
  poll.last_stable = answer.last_stable_offset;
  poll.log_start = answer.log_start_offset;
  poll.isolation = plan_.isolation;
  poll.is_from_leader = asked.is_of_leader;
  if (asked.is_of_leader && run_.on_served) run_.on_served(asked.partition, broker, asked.epoch, start);
  run_.claim(asked.partition, answer.high_watermark, "the high watermark of a fetch");
  run_.claim(asked.partition, next_offset, "a record that was read");
  run_.history.add_poll(poll, seen);
  records_seen_ += seen.size();
  position.offset = next_offset;
  return true;
}

// --- asker -------------------------------------------------------------------------------------------------------

DataAsker::DataAsker(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers)
    : DataActor(env, reactor, run, fmt::format("asker-{}", run.history.client_count), std::move(brokers), 2s), id_(run.add_client()) {}

void DataAsker::on_metadata() {
  if (!std::exchange(is_asking_, true)) ask_offset();
}

void DataAsker::ask_offset() {
  auto const next = [this] {
    after(5ms + draw_wait(200ms), [this] { ask_offset(); });
  };
  auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
  auto const broker = place(p).leader;
  if (broker == kNobody) {
    refresh_later();
    return next();
  }
  client_.connect(broker, [this, p, broker, next](bool is_open) {
    if (!is_open) {
      refresh_later();
      return next();
    }
    bool const is_latest = random_.chance(0.8);
    auto const isolation = random_.chance(0.3) ? checker::Isolation::read_committed : checker::Isolation::read_uncommitted;
    auto info = run_.partitions[p];
    info.leader_epoch = place(p).epoch;
    // Now and then it has not heard of the newest epoch: whoever leads now must not answer for one before.
    if (info.leader_epoch > 0 && random_.chance(0.1)) info.leader_epoch = static_cast<int32_t>(random_.below(static_cast<uint64_t>(info.leader_epoch)));
    OffsetQuestion const question(info, is_latest ? kLatest : kEarliest, isolation);
    checker::EndAsked asked{id_, p, run_.now(), 0, info.leader_epoch, is_latest, isolation, -1};
    client_.call<ListOffsetsResponse>(broker, question.request, kListOffsetsLowest, 11,
                                      [this, asked, broker, next](client::Reply<ListOffsetsResponse>* reply) mutable {
                                        auto const* answer = only_answer(reply);
                                        if (answer == nullptr || answer->error_code != ErrorCode::none) {
                                          refresh_later();
                                        } else {
                                          asked.end = run_.now();
                                          asked.offset = answer->offset;
                                          if (run_.on_served) run_.on_served(asked.partition, broker, asked.leader_epoch, asked.start);
                                          run_.claim(asked.partition, asked.offset, "ListOffsets");
                                          run_.history.ends.push_back(asked);
                                        }
                                        next();
                                      });
  });
}

// --- final reader ------------------------------------------------------------------------------------------------

DataReader::DataReader(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers)
    : DataActor(env, reactor, run, fmt::format("final-{}", run.history.client_count), std::move(brokers), 3s) {
  run.add_client();
}

void DataReader::on_metadata() {
  if (is_done() || std::exchange(is_reading_, true)) return;
  begin();
}

void DataReader::again() {
  is_reading_ = false;
  refresh_later();
}

void DataReader::begin() {
  auto const broker = place(static_cast<checker::PartitionIndex>(current_)).leader;
  if (broker == kNobody) return again();
  client_.connect(broker, [this, broker](bool is_open) {
    if (!is_open) return again();
    read_ = {static_cast<checker::PartitionIndex>(current_), 0, 0, {}};
    auto info = run_.partitions[current_];
    info.leader_epoch = place(read_.partition).epoch;
    OffsetQuestion const question(info, kEarliest, checker::Isolation::read_uncommitted);
    client_.call<ListOffsetsResponse>(broker, question.request, 7, 7, [this](client::Reply<ListOffsetsResponse>* reply) {
      auto const* answer = only_answer(reply);
      if (answer == nullptr || answer->error_code != ErrorCode::none) return again();
      read_.log_start = offset_ = answer->offset;
      ask_end();
    });
  });
}

void DataReader::ask_end() {
  auto info = run_.partitions[current_];
  info.leader_epoch = place(read_.partition).epoch;
  OffsetQuestion const question(info, kLatest, checker::Isolation::read_uncommitted);
  client_.call<ListOffsetsResponse>(place(read_.partition).leader, question.request, 7, 7,
                                    [this](client::Reply<ListOffsetsResponse>* reply) {
                                      auto const* answer = only_answer(reply);
                                      if (answer == nullptr || answer->error_code != ErrorCode::none) return again();
                                      read_.end = answer->offset;
                                      fetch();
                                    });
}

void DataReader::fetch() {
  if (offset_ >= read_.end) {
    run_.history.final_reads.push_back(std::move(read_));
    ++current_;
    if (!is_done()) begin();
    return;
  }
  auto const& info = run_.partitions[current_];
  FetchRequest request;
  request.min_bytes = 1;
  request.max_wait_ms = 100;
  FetchRequest::FetchPartition partition;
  partition.partition = info.number;
  partition.current_leader_epoch = place(read_.partition).epoch;
  partition.fetch_offset = offset_;
  partition.partition_max_bytes = 1 << 20;
  FetchRequest::FetchTopic topic;
  topic.topic = info.topic;
  topic.topic_id = info.topic_id;
  topic.partitions = {&partition, 1};
  request.topics = {&topic, 1};
  client_.call<FetchResponse>(place(read_.partition).leader, request, 12, 12, [this](client::Reply<FetchResponse>* reply) {
    if (reply == nullptr || reply->message.responses.size() != 1 || reply->message.responses[0].partitions.size() != 1) return again();
    auto const& answer = reply->message.responses[0].partitions[0];
    if (answer.error_code != ErrorCode::none) return again();
    std::string fault;
    if (!read_batches(answer.records.view(), offset_, read_.records, offset_, fault)) {
      return run_.fail(fmt::format("the final read: {}", fault));
    }
    fetch();
  });
}

}  // namespace millrace::sim
