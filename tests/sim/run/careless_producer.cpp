#include "sim/run/careless_producer.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr int16_t kProduceVersion = 9;  // names topics
constexpr Duration kPauseMax = 60ms;
constexpr Duration kAskEvery = 200ms;  // who leads: nobody tells it that it asks the wrong one
constexpr uint64_t kRecordsMax = 6;    // in one batch

}  // namespace

CarelessProducer::CarelessProducer(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers)
    : DataActor(env, reactor, run, fmt::format("careless-{}", run.history.client_count), std::move(brokers), 2s),
      id_(run.add_client()),
      next_value_(run.partitions.size()) {
  next();
  ask_again();
}

void CarelessProducer::ask_again() {
  after(kAskEvery, [this] {
    refresh();
    ask_again();
  });
}

void CarelessProducer::next() {
  after(draw_wait(kPauseMax), [this] {
    if (run_.is_loading) send();
    next();
  });
}

void CarelessProducer::send() {
  auto const p = static_cast<checker::PartitionIndex>(random_.below(run_.partitions.size()));
  auto const target = place(p).leader;
  if (target == kNobody) return;
  if (!client_.is_open(target)) return client_.connect(target, [](bool) {});
  checker::Send sent;
  sent.client = id_;
  sent.partition = p;
  sent.first_sequence = next_value_[p];
  sent.count = static_cast<uint32_t>(1 + random_.below(kRecordsMax));
  sent.start = sent.end = run_.now();
  sent.is_fully_acknowledged = sent.is_kept = false;
  auto const bytes = build_batch({id_, p, sent.first_sequence}, sent.count, {});
  protocol::ProduceRequest::PartitionProduceData data;
  data.index = run_.partitions[p].number;
  data.records = ByteView(bytes);
  protocol::ProduceRequest::TopicProduceData topic;
  topic.name = run_.partitions[p].topic;
  topic.partition_data = {&data, 1};
  protocol::ProduceRequest request;
  request.acks = 0;
  request.timeout_ms = 1000;
  request.topic_data = {&topic, 1};
  if (!client_.tell(target, request, kProduceVersion)) return;
  next_value_[p] += sent.count;
  records_sent_ += sent.count;
  run_.history.sends.push_back(sent);
}

}  // namespace millrace::sim
