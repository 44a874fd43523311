#include "millrace/protocol/api/init_producer_id.h"
#include "sim/run/actor.h"

namespace millrace::sim {
namespace {

using checker::Outcome;

constexpr int16_t kProduceZstd = 7;  // older versions may not carry it

// Refused before the append, and worth another try.
bool is_refused_for_now(ErrorCode error) {
  switch (error) {
    case ErrorCode::leader_not_available:
    case ErrorCode::not_enough_replicas: return true;
    default: return false;
  }
}

// Appended or not: nobody knows. A leader that loses its office while a send waits for its mark says so too.
bool is_uncertain_error(ErrorCode error) {
  switch (error) {
    case ErrorCode::not_leader_or_follower:
    case ErrorCode::unknown_topic_or_partition:
    case ErrorCode::unknown_topic_id:
    case ErrorCode::request_timed_out:
    case ErrorCode::not_enough_replicas_after_append:
    case ErrorCode::kafka_storage_error: return true;
    default: return false;
  }
}

bool is_sequence_error(ErrorCode error) {
  return error == ErrorCode::out_of_order_sequence_number || error == ErrorCode::unknown_producer_id ||
         error == ErrorCode::invalid_producer_epoch;
}

}  // namespace

Producer::Producer(NodeEnv& env, size_t reactor, Run& run, ProducerPlan plan)
    : Actor(env, reactor, run, fmt::format("producer-{}", run.history.client_count)),
      plan_(plan),
      id_(run.add_client()),
      next_value_(run.partitions.size(), 0),
      next_sequence_(run.partitions.size(), 0),
      is_known_(run.partitions.size(), false),
      may_be_passed_(run.partitions.size(), false) {
  request_timeout_ = plan_.request_timeout;
}

void Producer::on_connected() {
  is_draining_ = false;
  if (plan_.is_idempotent && producer_id_ == kNoProducerId) return get_producer_id();
  pump();
  schedule_next();
}

void Producer::on_disconnected() {
  is_getting_id_ = false;
  for (auto& [number, batch] : batches_) MR_ASSERT(!batch.is_in_flight);
  if (must_start_again_) start_again();
}

void Producer::get_producer_id() {
  if (is_getting_id_) return;
  if (!run_.has_metadata) {
    producer_id_ = ProducerId(run_.next_producer_id++);
    producer_epoch_ = ProducerEpoch(0);
    return on_connected();
  }
  is_getting_id_ = true;
  protocol::InitProducerIdRequest request;
  request.transactional_id = std::nullopt;
  request.transaction_timeout_ms = 60'000;
  call<protocol::InitProducerIdResponse>(
      request, draw_version(ApiKey::init_producer_id, 0, 5), [this](client::Reply<protocol::InitProducerIdResponse>* reply) {
        is_getting_id_ = false;
        if (reply == nullptr) return;
        if (reply->message.error_code != ErrorCode::none) {
          return after(50ms, [this] {
            if (is_connected()) on_connected();
          });
        }
        producer_id_ = ProducerId(reply->message.producer_id);
        producer_epoch_ = ProducerEpoch(reply->message.producer_epoch);
        on_connected();
      });
}

void Producer::schedule_next() {
  if (is_paused_) return;
  is_paused_ = true;
  after(Duration(static_cast<int64_t>(random_.below(static_cast<uint64_t>(plan_.pause_max.count()) + 1))), [this] {
    is_paused_ = false;
    if (!is_connected()) return;
    make_batches();
    pump();
    schedule_next();
  });
}

void Producer::make_batches() {
  if (plan_.is_idempotent && producer_id_ == kNoProducerId) return;
  while (run_.is_loading && !must_start_again_ && batches_.size() < plan_.in_flight_max) {
    auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
    auto const count = static_cast<uint32_t>(1 + random_.below(plan_.records_max));
    record::BatchOptions options;
    options.codec = plan_.codec;
    Batch batch;
    batch.partition = p;
    if (plan_.is_idempotent) {
      options.producer_id = producer_id_;
      options.producer_epoch = producer_epoch_;
      options.base_sequence = batch.base_sequence = next_sequence_[p];
      next_sequence_[p] += static_cast<int32_t>(count);
    }
    batch.bytes = build_batch({id_, p, next_value_[p]}, count, options);
    batch.send = run_.history.sends.size();
    checker::Send send;
    send.client = id_;
    send.partition = p;
    send.first_sequence = next_value_[p];
    send.count = count;
    send.start = send.end = run_.now();
    send.is_idempotent = plan_.is_idempotent;
    send.is_fully_acknowledged = plan_.acks == -1;
    run_.history.sends.push_back(send);
    next_value_[p] += count;
    batches_.emplace(next_batch_++, std::move(batch));
    if (random_.chance(0.3)) break;
  }
}

void Producer::pump() {
  size_t in_flight = 0;
  for (auto const& [number, batch] : batches_) in_flight += batch.is_in_flight ? 1 : 0;
  if (in_flight == 0 && must_start_again_) return start_again();
  if (in_flight > 0 && (is_draining_ || must_start_again_)) return;
  is_draining_ = false;
  for (auto& [number, batch] : batches_) {
    if (!is_connected()) return;
    if (batch.is_in_flight || in_flight >= plan_.in_flight_max) continue;
    ++in_flight;
    batch.is_in_flight = true;
    ++batch.attempts;
    auto const& partition = run_.partitions[batch.partition];
    run_.history.sends[batch.send].leader_epoch = partition.leader_epoch;
    protocol::ProduceRequest request;
    request.acks = plan_.acks;
    request.timeout_ms = plan_.broker_timeout_ms;
    std::vector<protocol::ProduceRequest::PartitionProduceData> data(1);
    data[0].index = partition.number;
    data[0].records = ByteView(batch.bytes);
    std::vector<protocol::ProduceRequest::TopicProduceData> topics(1);
    topics[0].name = partition.topic;
    topics[0].topic_id = partition.topic_id;
    topics[0].partition_data = data;
    request.topic_data = topics;
    call<protocol::ProduceResponse>(
        request, draw_version(ApiKey::produce, plan_.codec == Codec::zstd ? kProduceZstd : 3, 13),
        [this, n = number](client::Reply<protocol::ProduceResponse>* reply) { on_answer(n, reply); });
  }
}

void Producer::on_answer(uint64_t number, client::Reply<protocol::ProduceResponse>* reply) {
  auto const found = batches_.find(number);
  MR_ASSERT(found != batches_.end());
  auto& batch = found->second;
  batch.is_in_flight = false;
  auto const& responses = reply != nullptr ? reply->message.responses : Array<protocol::ProduceResponse::TopicProduceResponse>{};
  bool const has_answer = responses.size() == 1 && responses[0].partition_responses.size() == 1;
  if (reply != nullptr && !has_answer) return run_.fail("a Produce answer does not name the partition that was sent");
  auto const error = has_answer ? responses[0].partition_responses[0].error_code : ErrorCode::none;
  if (reply == nullptr || is_uncertain_error(error)) {
    batch.is_uncertain = true;
    if (!plan_.is_idempotent) finish(batch, Outcome::unknown, -1), batches_.erase(found);
    else is_draining_ = true;
    if (reply != nullptr) return try_again_later();
  } else if (error == ErrorCode::none || error == ErrorCode::duplicate_sequence_number) {
    auto const base = error == ErrorCode::none ? responses[0].partition_responses[0].base_offset : -1;
    is_known_[batch.partition] = true;
    finish(batch, Outcome::ok, base);
    batches_.erase(found);
  } else if (is_sequence_error(error) && plan_.is_idempotent) {
    bool const has_earlier = std::any_of(batches_.begin(), found, [&](auto const& other) {
      return other.second.partition == batch.partition;
    });
    if (has_earlier) {
      is_draining_ = true;
    } else {
      // A broker that restarts remembers each producer's last batch only, as Kafka's snapshots do: a repeated batch
      // before that one is taken for out of order. One that was never sent before must follow what was acknowledged.
      // (A send that was refused lets the next ones in before it while the partition does not know the producer, whose
      // first batch may carry any sequence number; that too is Kafka's.)
      bool const is_surprise = !batch.is_uncertain && !may_be_passed_[batch.partition] && run_.losses.empty();
      if (is_surprise && run_.on_sequence_lost) run_.on_sequence_lost(batch.partition, batch.base_sequence);
      must_start_again_ = true;
    }
  } else if (is_refused_for_now(error)) {
    if (!plan_.is_idempotent) {
      finish(batch, batch.is_uncertain ? Outcome::unknown : Outcome::failed, -1);
      batches_.erase(found);
    } else {
      is_draining_ = true;
      if (!is_known_[batch.partition]) may_be_passed_[batch.partition] = true;
    }
    return try_again_later();
  } else if (error == ErrorCode::record_list_too_large) {
    // Larger than a segment: refused for good, which leaves a gap in the sequence.
    if (!plan_.is_idempotent) {
      finish(batch, Outcome::failed, -1);
      batches_.erase(found);
    } else {
      must_start_again_ = true;
    }
  } else {
    run_.fail(fmt::format("a Produce is answered with error {}", static_cast<int16_t>(error)));
  }
  if (is_connected() && reply != nullptr) pump();
}

void Producer::try_again_later() {
  after(std::chrono::milliseconds(10 + random_.below(50)), [this] {
    if (is_connected()) refresh();
  });
}

void Producer::finish(Batch& batch, Outcome outcome, int64_t base_offset) {
  auto& send = run_.history.sends[batch.send];
  send.end = run_.now();
  send.outcome = outcome;
  send.base_offset = base_offset;
  if (outcome != Outcome::ok) return;
  ++sends_ok_;
  if (base_offset >= 0 && plan_.acks == -1) run_.claim(batch.partition, base_offset + send.count, "an acknowledgement");
}

void Producer::start_again() {
  must_start_again_ = false;
  for (auto& [number, batch] : batches_) {
    MR_ASSERT(!batch.is_in_flight);
    finish(batch, batch.is_uncertain ? Outcome::unknown : Outcome::failed, -1);
  }
  batches_.clear();
  producer_id_ = kNoProducerId;
  is_known_.assign(run_.partitions.size(), false);
  may_be_passed_.assign(run_.partitions.size(), false);
  std::fill(next_sequence_.begin(), next_sequence_.end(), 0);
  if (is_connected()) get_producer_id();
}

}  // namespace millrace::sim
