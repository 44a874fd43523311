#include "millrace/protocol/api/init_producer_id.h"
#include "sim/run/data_actor.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;
using checker::Outcome;

constexpr int16_t kProduceZstd = 7;  // older versions may not carry it
constexpr size_t kQueuedMax = 10;    // batches of a partition that are not answered

enum class Meaning { ok, uncertain, refused_for_now, sequence, too_large, unexpected };

// A leader that loses its office while a send waits for its mark says NOT_LEADER_OR_FOLLOWER, too: appended or not,
// nobody knows.
Meaning meaning_of(ErrorCode error) {
  switch (error) {
    case ErrorCode::none:
    case ErrorCode::duplicate_sequence_number: return Meaning::ok;
    case ErrorCode::not_leader_or_follower:
    case ErrorCode::unknown_topic_or_partition:
    case ErrorCode::unknown_topic_id:
    case ErrorCode::request_timed_out:
    case ErrorCode::not_enough_replicas_after_append:
    case ErrorCode::kafka_storage_error: return Meaning::uncertain;
    case ErrorCode::leader_not_available:
    case ErrorCode::not_enough_replicas: return Meaning::refused_for_now;
    case ErrorCode::out_of_order_sequence_number:
    case ErrorCode::unknown_producer_id:
    case ErrorCode::invalid_producer_epoch: return Meaning::sequence;
    case ErrorCode::record_list_too_large: return Meaning::too_large;
    default: return Meaning::unexpected;
  }
}

}  // namespace

DataProducer::DataProducer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, DataProducerPlan plan)
    : DataActor(env, reactor, run, fmt::format("producer-{}", run.history.client_count), std::move(brokers), plan.request_timeout),
      plan_(plan),
      id_(run.add_client()),
      lines_(run.partitions.size()) {
  schedule_next();
}

bool DataProducer::is_idle() const {
  return std::ranges::all_of(lines_, [](Line const& line) { return line.batches.empty(); });
}

std::string DataProducer::describe() const {
  std::string out = fmt::format("{} (id {}{}{}):", name(), producer_id_, is_getting_id_ ? ", asking for one" : "", must_start_again_ ? ", starting again" : "");
  for (size_t p = 0; p < lines_.size(); ++p) {
    auto const& line = lines_[p];
    if (line.batches.empty()) continue;
    out += fmt::format(" partition {}: {} batches, {} under way to {}{}, last error {}", p, line.batches.size(), line.in_flight,
                       static_cast<int64_t>(line.target) + 1, line.is_draining ? ", draining" : "",
                       static_cast<int16_t>(line.batches.front()->last_error));
  }
  return out;
}

void DataProducer::on_metadata() {
  if (plan_.is_idempotent && producer_id_ == kNoProducerId) return get_producer_id();
  pump_all();
}

void DataProducer::get_producer_id() {
  if (std::exchange(is_getting_id_, true)) return;
  auto const broker = static_cast<size_t>(random_.below(client_.size()));
  auto const again = [this] {
    after(20ms + draw_wait(80ms), [this] {
      is_getting_id_ = false;
      get_producer_id();
    });
  };
  client_.connect(broker, [this, broker, again](bool is_open) {
    if (!is_open) return again();
    protocol::InitProducerIdRequest request;
    request.transactional_id = std::nullopt;
    request.transaction_timeout_ms = 60'000;
    client_.call<protocol::InitProducerIdResponse>(broker, request, 0, 5, [this, again](client::Reply<protocol::InitProducerIdResponse>* reply) {
      if (reply == nullptr || reply->message.error_code != ErrorCode::none) return again();
      is_getting_id_ = false;
      producer_id_ = ProducerId(reply->message.producer_id);
      producer_epoch_ = ProducerEpoch(reply->message.producer_epoch);
      pump_all();
    });
  });
}

void DataProducer::schedule_next() {
  after(draw_wait(plan_.pause_max), [this] {
    if (run_.is_loading && !must_start_again_ && (!plan_.is_idempotent || producer_id_ != kNoProducerId)) make_batch();
    schedule_next();
  });
}

void DataProducer::make_batch() {
  auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
  auto& line = lines_[p];
  if (line.batches.size() >= kQueuedMax) return;
  auto const count = static_cast<uint32_t>(1 + random_.below(plan_.records_max));
  record::BatchOptions options;
  options.codec = plan_.codec;
  auto batch = std::make_shared<Batch>();
  if (plan_.is_idempotent) {
    options.producer_id = producer_id_;
    options.producer_epoch = producer_epoch_;
    options.base_sequence = batch->base_sequence = line.next_sequence;
    line.next_sequence += static_cast<int32_t>(count);
  }
  batch->bytes = build_batch({id_, p, line.next_value}, count, options);
  batch->send = run_.history.sends.size();
  checker::Send send;
  send.client = id_;
  send.partition = p;
  send.first_sequence = line.next_value;
  send.count = count;
  send.start = send.end = run_.now();
  send.is_idempotent = plan_.is_idempotent;
  send.is_fully_acknowledged = send.is_kept = plan_.acks == -1;
  run_.history.sends.push_back(send);
  line.next_value += count;
  line.batches.push_back(std::move(batch));
  pump(p);
}

void DataProducer::pump_all() {
  for (size_t p = 0; p < lines_.size(); ++p) pump(static_cast<checker::PartitionIndex>(p));
}

void DataProducer::pump(checker::PartitionIndex p) {
  auto& line = lines_[p];
  if (must_start_again_) return start_again();
  if (line.batches.empty() || line.is_backing_off || (plan_.is_idempotent && producer_id_ == kNoProducerId)) return;
  auto const target = place(p).leader;
  if (line.in_flight > 0 && (line.is_draining || line.target != target)) return;
  if (target == kNobody) return refresh_later();
  line.is_draining = false;
  line.target = target;
  if (!client_.is_open(target)) {
    client_.connect(target, [this, p](bool is_open) {
      if (is_open) return pump(p);
      refresh_later();
    });
    return;
  }
  for (auto const& batch : line.batches) {
    if (line.in_flight >= plan_.in_flight_max) return;
    if (!batch->is_in_flight) send(p, batch);
  }
}

void DataProducer::send(checker::PartitionIndex p, std::shared_ptr<Batch> const& batch) {
  auto& line = lines_[p];
  ++line.in_flight;
  batch->is_in_flight = true;
  batch->sent = run_.now();
  auto const& partition = run_.partitions[p];
  protocol::ProduceRequest::PartitionProduceData data;
  data.index = partition.number;
  data.records = ByteView(batch->bytes);
  protocol::ProduceRequest::TopicProduceData topic;
  topic.name = partition.topic;
  topic.topic_id = partition.topic_id;
  topic.partition_data = {&data, 1};
  protocol::ProduceRequest request;
  request.acks = plan_.acks;
  request.timeout_ms = plan_.broker_timeout_ms;
  request.topic_data = {&topic, 1};
  client_.call<protocol::ProduceResponse>(
      line.target, request, plan_.codec == Codec::zstd ? kProduceZstd : int16_t{3}, 13,
      [this, p, batch](client::Reply<protocol::ProduceResponse>* reply) { on_answer(p, batch, reply); });
}

void DataProducer::settle(Line& line, std::shared_ptr<Batch> const& batch, Outcome outcome, int64_t base_offset) {
  auto& send = run_.history.sends[batch->send];
  send.end = run_.now();
  send.outcome = outcome;
  send.base_offset = base_offset;
  if (outcome == Outcome::ok) {
    ++requests_ok_;
    records_ok_ += send.count;
  }
  std::erase(line.batches, batch);
}

void DataProducer::on_answer(checker::PartitionIndex p, std::shared_ptr<Batch> const& batch,
                             client::Reply<protocol::ProduceResponse>* reply) {
  auto& line = lines_[p];
  --line.in_flight;
  batch->is_in_flight = false;
  auto meaning = Meaning::uncertain;
  int64_t base_offset = -1;
  if (reply != nullptr) {
    auto const& topics = reply->message.responses;
    if (topics.size() != 1 || topics[0].partition_responses.size() != 1) {
      return run_.fail("a Produce answer does not name the partition that was sent");
    }
    auto const& answer = topics[0].partition_responses[0];
    batch->last_error = answer.error_code;
    meaning = meaning_of(answer.error_code);
    if (answer.error_code == ErrorCode::none) base_offset = answer.base_offset;
  }
  switch (meaning) {
    case Meaning::ok:
      if (plan_.acks == -1 && base_offset >= 0) run_.claim(p, base_offset + run_.history.sends[batch->send].count, "an acknowledgement");
      settle(line, batch, Outcome::ok, base_offset);
      return pump(p);
    case Meaning::uncertain:
      batch->is_uncertain = true;
      line.is_draining = true;
      if (!plan_.is_idempotent) settle(line, batch, Outcome::unknown, -1);
      return back_off(p);
    case Meaning::refused_for_now:
      line.is_draining = true;
      if (!plan_.is_idempotent) settle(line, batch, batch->is_uncertain ? Outcome::unknown : Outcome::failed, -1);
      return back_off(p);
    case Meaning::too_large:
      if (!plan_.is_idempotent) settle(line, batch, Outcome::failed, -1);
      must_start_again_ = plan_.is_idempotent;  // the gap in the sequence stays
      return pump(p);
    case Meaning::sequence: {
      line.is_draining = true;
      bool const is_first = !line.batches.empty() && line.batches.front() == batch;
      if (is_first) {
        // A replica that was started again remembers each producer's last batch only, as Kafka's snapshots do: what
        // was repeated may be taken for out of order. What was never sent before must follow what was acknowledged, unless
        // a leader that was deposed is asked: what came before may have gone to the next one, which led earlier, too.
        bool const is_leader = !run_.has_led_since || run_.has_led_since(p, line.target, batch->sent);
        bool const is_surprise = !batch->is_uncertain && is_leader;
        if (is_surprise && run_.on_sequence_lost) run_.on_sequence_lost(p, batch->base_sequence);
        must_start_again_ = true;
      }
      return pump(p);
    }
    case Meaning::unexpected:
      return run_.fail(fmt::format("a Produce to partition {} is answered with error {}", p, static_cast<int16_t>(batch->last_error)));
  }
}

void DataProducer::back_off(checker::PartitionIndex p) {
  refresh_later();
  if (std::exchange(lines_[p].is_backing_off, true)) return;
  after(20ms + draw_wait(100ms), [this, p] {
    lines_[p].is_backing_off = false;
    pump(p);
  });
}

void DataProducer::start_again() {
  if (std::ranges::any_of(lines_, [](Line const& line) { return line.in_flight > 0; })) return;
  must_start_again_ = false;
  for (auto& line : lines_) {
    while (!line.batches.empty()) {
      auto const batch = line.batches.front();
      settle(line, batch, batch->is_uncertain ? Outcome::unknown : Outcome::failed, -1);
    }
    line.next_sequence = 0;
    line.is_draining = false;
  }
  producer_id_ = kNoProducerId;
  get_producer_id();
}

}  // namespace millrace::sim
