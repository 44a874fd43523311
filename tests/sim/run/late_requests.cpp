#include "sim/run/late_requests.h"

#include "millrace/protocol/api/alter_partition.h"

namespace millrace::sim {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPauseMax = 300ms;
constexpr Duration kHurriedPauseMax = 5ms;
constexpr int16_t kVersionWithEpochs = 3;

bool contains(std::vector<BrokerId> const& list, BrokerId id) { return std::ranges::find(list, id) != list.end(); }

}  // namespace

LateRequests::LateRequests(NodeEnv& env, size_t reactor, std::vector<ClusterClient::Address> controllers,
                           std::function<std::optional<size_t>()> controller)
    : client_(env, reactor, "late-requests", std::move(controllers), 1s), random_(env.random("late-requests")), controller_(std::move(controller)) {}

void LateRequests::start() { again(); }

void LateRequests::on_image(metadata::ImagePtr const& image) {
  auto const before = std::exchange(image_, image);
  if (before == nullptr) return;
  image->topics_by_id.for_each([&](TopicId const& id, metadata::TopicImagePtr const& topic) {
    auto const* old_topic = before->find_topic(id);
    if (old_topic == nullptr || old_topic == topic.get()) return;
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      auto const* old = old_topic->find_partition(index);
      if (old == nullptr || old == partition.get()) return;
      is_hurried_ = true;
      // The in-sync set grows by its leader's wish alone.
      bool const has_grown = std::ranges::any_of(partition->isr, [&](BrokerId member) { return !contains(old->isr, member); });
      bool const is_one_step = old->leader_epoch == partition->leader_epoch && old->partition_epoch + 1 == partition->partition_epoch;
      if (has_grown && is_one_step) remember(make(id, index, *old, partition->isr));
    });
  });
  is_hurried_ = is_hurried_ || before->brokers.size() != image->brokers.size();
}

std::optional<LateRequests::Request> LateRequests::make(TopicId const& topic, int32_t partition, metadata::PartitionImage const& at,
                                                        std::vector<BrokerId> const& isr) const {
  Request out;
  out.topic = topic;
  out.partition = partition;
  out.leader_epoch = at.leader_epoch;
  out.partition_epoch = at.partition_epoch;
  for (auto const id : isr) {
    auto const* broker = image_->find_broker(id);
    if (broker == nullptr) return std::nullopt;
    out.isr.push_back({id, broker->epoch});
    if (id == at.leader) out.leader = out.isr.back();
  }
  return out.leader.epoch < 0 ? std::nullopt : std::optional(out);
}

void LateRequests::remember(std::optional<Request> request) {
  if (!request) return;
  requests_.push_back(*std::move(request));
  if (requests_.size() > kRememberedMax) requests_.pop_front();
}

bool LateRequests::is_late(Request const& request) const {
  auto const* topic = image_->find_topic(request.topic);
  auto const* partition = topic == nullptr ? nullptr : topic->find_partition(request.partition);
  if (partition == nullptr || partition->leader_epoch != request.leader_epoch) return false;  // refused for that alone
  return partition->partition_epoch > request.partition_epoch;
}

void LateRequests::again() {
  // Most mischief is done a moment after something has changed.
  auto const pause_max = std::exchange(is_hurried_, false) ? kHurriedPauseMax : kPauseMax;
  client_.after(Duration(random_.between(0, pause_max.count())), [this] { send_one(); });
}

void LateRequests::send_one() {
  std::vector<size_t> late;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (is_late(requests_[i])) late.push_back(i);
  }
  auto const to = controller_();
  if (late.empty() || !to) return again();
  auto const request = requests_[late[random_.below(late.size())]];
  client_.connect(*to, [this, to = *to, request](bool is_open) {
    if (!is_open) return again();
    send(to, request);
  });
}

void LateRequests::send(size_t to, Request const& request) {
  using protocol::AlterPartitionRequest;
  std::vector<AlterPartitionRequest::BrokerState> isr;
  for (auto const& member : request.isr) isr.push_back({member.id.value, member.epoch});
  AlterPartitionRequest::PartitionData partition;
  partition.partition_index = request.partition;
  partition.leader_epoch = request.leader_epoch.value;
  partition.partition_epoch = request.partition_epoch;
  partition.new_isr_with_epochs = isr;
  AlterPartitionRequest::TopicData topic;
  topic.topic_id = request.topic;
  topic.partitions = {&partition, 1};
  AlterPartitionRequest wire;
  wire.broker_id = request.leader.id.value;
  wire.broker_epoch = request.leader.epoch;
  wire.topics = {&topic, 1};
  ++sent_;
  client_.call<protocol::AlterPartitionResponse>(to, wire, kVersionWithEpochs, kVersionWithEpochs, [this](auto*) { again(); });
}

}  // namespace millrace::sim
