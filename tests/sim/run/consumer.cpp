#include "millrace/protocol/api/delete_records.h"
#include "sim/run/offset_question.h"

namespace millrace::sim {
namespace {

using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;

constexpr int16_t kFetchLowest = 4;
constexpr int16_t kFetchHighest = 18;
constexpr int16_t kFetchTopicIds = 13;
constexpr int16_t kFetchSessions = 7;
constexpr int16_t kFetchEpochs = 9;

}  // namespace

// --- consumer ----------------------------------------------------------------------------------------------------

Consumer::Consumer(NodeEnv& env, size_t reactor, Run& run, ConsumerPlan plan)
    : Actor(env, reactor, run, fmt::format("consumer-{}", run.history.client_count)),
      plan_(plan),
      id_(run.add_client()),
      places_(run.partitions.size()) {}

void Consumer::on_connected() {
  session_id_ = session_epoch_ = 0;
  for (auto& place : places_) place.sent_offset = -1;
  fetch();
}

void Consumer::next() {
  if (!is_connected()) return;
  after(Duration(static_cast<int64_t>(random_.below(static_cast<uint64_t>(plan_.pause_max.count()) + 1))), [this] {
    if (is_connected()) fetch();
  });
}

void Consumer::fetch() {
  for (auto const& place : places_) {
    if (place.must_reset) return reset_positions();
  }
  auto const version = draw_version(ApiKey::fetch, plan_.uses_session ? kFetchTopicIds : kFetchLowest, kFetchHighest);
  bool const is_incremental = plan_.uses_session && session_id_ != 0;
  FetchRequest request;
  request.max_wait_ms = plan_.wait_ms;
  request.min_bytes = plan_.bytes_min;
  request.max_bytes = plan_.bytes_max;
  request.isolation_level = plan_.isolation == checker::Isolation::read_committed ? 1 : 0;
  request.session_id = plan_.uses_session ? session_id_ : 0;
  request.session_epoch = plan_.uses_session && version >= kFetchSessions ? session_epoch_ : -1;
  std::vector<std::vector<FetchRequest::FetchPartition>> partitions;
  std::vector<FetchRequest::FetchTopic> topics;
  std::vector<int64_t> offsets;
  std::vector<int32_t> epochs;
  for (size_t p = 0; p < places_.size(); ++p) {
    auto const& info = run_.partitions[p];
    auto& place = places_[p];
    offsets.push_back(place.offset);
    epochs.push_back(version >= kFetchEpochs ? info.leader_epoch : -1);
    if (is_incremental && place.sent_offset == place.offset) continue;
    place.sent_offset = place.offset;
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
    each.fetch_offset = place.offset;
    each.partition_max_bytes = plan_.partition_bytes_max;
    partitions.back().push_back(each);
  }
  for (size_t t = 0; t < topics.size(); ++t) topics[t].partitions = partitions[t];
  request.topics = topics;
  auto const start = run_.now();
  call<FetchResponse>(request, version, [this, version, start, offsets, epochs](client::Reply<FetchResponse>* reply) {
    on_fetched(version, start, offsets, epochs, reply);
  });
}

void Consumer::on_fetched(int16_t version, checker::Nanos start, std::vector<int64_t> const& offsets,
                          std::vector<int32_t> const& epochs, client::Reply<FetchResponse>* reply) {
  if (reply == nullptr) return;
  auto const& message = reply->message;
  if (message.error_code != ErrorCode::none) {
    session_id_ = session_epoch_ = 0;
    for (auto& place : places_) place.sent_offset = -1;
    return next();
  }
  if (plan_.uses_session) {
    session_id_ = message.session_id;
    session_epoch_ = session_id_ == 0 ? 0 : session_epoch_ + 1;
  }
  bool must_refresh = false;
  for (auto const& topic : message.responses) {
    for (auto const& answer : topic.partitions) {
      size_t p = 0;
      while (p < places_.size() && !(run_.partitions[p].number == answer.partition_index &&
                                     (version >= kFetchTopicIds ? run_.partitions[p].topic_id == topic.topic_id
                                                                : run_.partitions[p].topic == topic.topic))) {
        ++p;
      }
      if (p == places_.size()) return run_.fail("a Fetch answer names a partition that was not asked for");
      auto& place = places_[p];
      if (answer.error_code == ErrorCode::offset_out_of_range) {
        place.must_reset = true;
        continue;
      }
      if (answer.error_code != ErrorCode::none) {
        must_refresh = true;
        place.sent_offset = -1;
        continue;
      }
      std::vector<checker::Observed> seen;
      std::string fault;
      auto next_offset = offsets[p];
      if (!read_batches(answer.records.view(), offsets[p], seen, next_offset, fault)) {
        return run_.fail(fmt::format("{} of {}-{}: {}", name(), run_.partitions[p].topic, run_.partitions[p].number, fault));
      }
      checker::Poll poll;
      poll.client = id_;
      poll.partition = static_cast<checker::PartitionIndex>(p);
      poll.assignment = place.assignment;
      poll.start = start;
      poll.end = run_.now();
      poll.fetch_offset = offsets[p];
      poll.leader_epoch = epochs[p];
      poll.high_watermark = answer.high_watermark;
      poll.last_stable = answer.last_stable_offset;
      poll.log_start = answer.log_start_offset;
      poll.isolation = plan_.isolation;
      run_.history.add_poll(poll, seen);
      place.offset = next_offset;
      run_.claim(poll.partition, answer.high_watermark, "the high watermark of a fetch");
      run_.claim(poll.partition, next_offset, "records of a fetch");
    }
  }
  if (must_refresh) {
    return after(20ms, [this] {
      if (is_connected()) refresh();
    });
  }
  next();
}

void Consumer::reset_positions() {
  for (size_t p = 0; p < places_.size(); ++p) {
    if (!places_[p].must_reset) continue;
    OffsetQuestion const question(run_.partitions[p], kEarliest, plan_.isolation);
    call<ListOffsetsResponse>(question.request, draw_version(ApiKey::list_offsets, kListOffsetsLowest, 11),
                              [this, p](client::Reply<ListOffsetsResponse>* reply) {
                                if (reply == nullptr) return;
                                auto const* answer = only_answer(reply);
                                if (answer != nullptr && answer->error_code == ErrorCode::none) {
                                  auto& place = places_[p];
                                  place.offset = answer->offset;
                                  ++place.assignment;
                                  place.must_reset = false;
                                  place.sent_offset = -1;
                                  return next();
                                }
                                after(20ms, [this] {
                                  if (is_connected()) refresh();
                                });
                              });
    return;
  }
}

// --- asker -------------------------------------------------------------------------------------------------------

Asker::Asker(NodeEnv& env, size_t reactor, Run& run, double deletes)
    : Actor(env, reactor, run, fmt::format("asker-{}", run.history.client_count)),
      id_(run.add_client()),
      deletes_(deletes),
      highest_(run.partitions.size(), 0) {}

void Asker::on_connected() { ask(); }

void Asker::ask() {
  after(std::chrono::milliseconds(1 + random_.below(40)), [this] {
    if (!is_connected()) return;
    if (run_.is_loading && random_.chance(deletes_)) delete_records();
    else ask_offset();
  });
}

void Asker::ask_offset() {
  auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
  bool const is_latest = random_.chance(0.7);
  auto const isolation = random_.chance(0.3) ? checker::Isolation::read_committed : checker::Isolation::read_uncommitted;
  OffsetQuestion const question(run_.partitions[p], is_latest ? kLatest : kEarliest, isolation);
  checker::EndAsked asked{id_, p, run_.now(), 0, run_.partitions[p].leader_epoch, is_latest, isolation, -1};
  call<ListOffsetsResponse>(question.request, draw_version(ApiKey::list_offsets, kListOffsetsLowest, 11),
                            [this, asked](client::Reply<ListOffsetsResponse>* reply) mutable {
                              if (reply == nullptr) return;
                              auto const* answer = only_answer(reply);
                              if (answer == nullptr || answer->error_code != ErrorCode::none) {
                                return after(20ms, [this] {
                                  if (is_connected()) refresh();
                                });
                              }
                              asked.end = run_.now();
                              asked.offset = answer->offset;
                              run_.history.ends.push_back(asked);
                              highest_[asked.partition] = std::max(highest_[asked.partition], asked.offset);
                              if (asked.is_latest) run_.claim(asked.partition, asked.offset, "ListOffsets");
                              ask();
                            });
}

void Asker::delete_records() {
  auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
  std::vector<protocol::DeleteRecordsRequest::DeleteRecordsPartition> partitions(1);
  partitions[0].partition_index = run_.partitions[p].number;
  partitions[0].offset = static_cast<int64_t>(random_.below(static_cast<uint64_t>(highest_[p]) + 1));
  std::vector<protocol::DeleteRecordsRequest::DeleteRecordsTopic> topics(1);
  topics[0].name = run_.partitions[p].topic;
  topics[0].partitions = partitions;
  protocol::DeleteRecordsRequest request;
  request.topics = topics;
  request.timeout_ms = 1000;
  checker::Deletion deletion{p, run_.now(), 0, checker::Outcome::unknown, partitions[0].offset};
  auto const index = run_.history.deletions.size();
  run_.history.deletions.push_back(deletion);
  call<protocol::DeleteRecordsResponse>(
      request, draw_version(ApiKey::delete_records, 0, 2), [this, index](client::Reply<protocol::DeleteRecordsResponse>* reply) {
        auto& mine = run_.history.deletions[index];
        mine.end = run_.now();
        if (reply == nullptr) return;
        auto const& answered = reply->message.topics;
        if (answered.size() == 1 && answered[0].partitions.size() == 1 &&
            answered[0].partitions[0].error_code == ErrorCode::none) {
          mine.outcome = checker::Outcome::ok;
        }
        ask();
      });
}

// --- final reader ------------------------------------------------------------------------------------------------

FinalReader::FinalReader(NodeEnv& env, size_t reactor, Run& run)
    : Actor(env, reactor, run, fmt::format("final-{}", run.history.client_count)) {
  run.add_client();
}

void FinalReader::on_connected() {
  if (!is_done()) begin();
}

void FinalReader::begin() {
  read_ = {static_cast<checker::PartitionIndex>(current_), 0, 0, {}};
  OffsetQuestion const question(run_.partitions[current_], kEarliest, checker::Isolation::read_uncommitted);
  call<ListOffsetsResponse>(question.request, 7, [this](client::Reply<ListOffsetsResponse>* reply) {
    if (reply == nullptr) return;
    auto const* answer = only_answer(reply);
    if (answer == nullptr || answer->error_code != ErrorCode::none) {
      return after(20ms, [this] {
        if (is_connected()) refresh();
      });
    }
    read_.log_start = offset_ = answer->offset;
    ask_end();
  });
}

void FinalReader::ask_end() {
  OffsetQuestion const question(run_.partitions[current_], kLatest, checker::Isolation::read_uncommitted);
  call<ListOffsetsResponse>(question.request, 7, [this](client::Reply<ListOffsetsResponse>* reply) {
    if (reply == nullptr) return;
    auto const* answer = only_answer(reply);
    if (answer == nullptr || answer->error_code != ErrorCode::none) {
      return after(20ms, [this] {
        if (is_connected()) refresh();
      });
    }
    read_.end = answer->offset;
    fetch();
  });
}

void FinalReader::fetch() {
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
  std::vector<FetchRequest::FetchPartition> partitions(1);
  partitions[0].partition = info.number;
  partitions[0].current_leader_epoch = info.leader_epoch;
  partitions[0].fetch_offset = offset_;
  partitions[0].partition_max_bytes = 1 << 20;
  std::vector<FetchRequest::FetchTopic> topics(1);
  topics[0].topic = info.topic;
  topics[0].topic_id = info.topic_id;
  topics[0].partitions = partitions;
  request.topics = topics;
  call<FetchResponse>(request, 12, [this](client::Reply<FetchResponse>* reply) {
    if (reply == nullptr) return;
    if (reply->message.responses.size() != 1 || reply->message.responses[0].partitions.size() != 1) return refresh();
    auto const& answer = reply->message.responses[0].partitions[0];
    if (answer.error_code != ErrorCode::none) {
      return after(20ms, [this] {
        if (is_connected()) refresh();
      });
    }
    std::string fault;
    if (!read_batches(answer.records.view(), offset_, read_.records, offset_, fault)) {
      return run_.fail(fmt::format("the final read: {}", fault));
    }
    fetch();
  });
}

}  // namespace millrace::sim
