#include "sim/run/cluster_operator.h"

#include "millrace/protocol/api/elect_leaders.h"
#include "millrace/protocol/api/incremental_alter_configs.h"

namespace millrace::sim {

using namespace std::chrono_literals;

namespace {

constexpr Duration kPauseMax = 1500ms;
constexpr int8_t kTopicResource = 2;

}  // namespace

ClusterOperator::ClusterOperator(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, int32_t min_in_sync_low,
                                 int32_t min_in_sync_high)
    : DataActor(env, reactor, run, "operator", std::move(brokers), 3s), low_(min_in_sync_low), high_(min_in_sync_high) {}

void ClusterOperator::on_metadata() {
  if (!std::exchange(is_started_, true)) act();
}

void ClusterOperator::act() {
  after(50ms + draw_wait(kPauseMax), [this] {
    if (!run_.is_loading) return;
    auto const broker = static_cast<size_t>(random_.below(client_.size()));
    client_.connect(broker, [this, broker](bool is_open) {
      if (!is_open) return act();
      if (random_.chance(0.5)) elect_leaders(broker, [this] { act(); });
      else set_min_in_sync(broker);
    });
  });
}

void ClusterOperator::elect_now() {
  client_.reactor().post([this] {
    if (!is_started_ || !run_.is_loading) return;
    auto const broker = static_cast<size_t>(random_.below(client_.size()));
    client_.connect(broker, [this, broker](bool is_open) {
      if (is_open) elect_leaders(broker, [] {});
    });
  });
}

void ClusterOperator::elect_leaders(size_t broker, std::function<void()> done) {
  std::vector<int32_t> numbers;
  for (auto const& partition : run_.partitions) numbers.push_back(partition.number);
  protocol::ElectLeadersRequest::TopicPartitions topic;
  topic.topic = run_.partitions[0].topic;
  topic.partitions = numbers;
  protocol::ElectLeadersRequest request;
  request.topic_partitions = {&topic, 1};
  request.timeout_ms = 2000;
  client_.call<protocol::ElectLeadersResponse>(broker, request, 1, 2, [done = std::move(done)](auto*) { done(); });
}

void ClusterOperator::set_min_in_sync(size_t broker) {
  auto const value = fmt::format("{}", random_.between(low_, high_));
  protocol::IncrementalAlterConfigsRequest::AlterableConfig config;
  config.name = "min.insync.replicas";
  config.value = Str(value);
  protocol::IncrementalAlterConfigsRequest::AlterConfigsResource resource;
  resource.resource_type = kTopicResource;
  resource.resource_name = run_.partitions[0].topic;
  resource.configs = {&config, 1};
  protocol::IncrementalAlterConfigsRequest request;
  request.resources = {&resource, 1};
  client_.call<protocol::IncrementalAlterConfigsResponse>(broker, request, 0, 1, [this](auto*) { act(); });
}

}  // namespace millrace::sim
