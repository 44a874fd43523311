#include "sim/run/data_actor.h"

#include "millrace/protocol/api/metadata.h"

namespace millrace::sim {

using namespace std::chrono_literals;

DataActor::DataActor(NodeEnv& env, size_t reactor, Run& run, std::string name, std::vector<ClusterClient::Address> brokers,
                     Duration request_timeout)
    : run_(run),
      random_(env.random(name)),
      client_(env, reactor, name, std::move(brokers), request_timeout),
      places_(run.partitions.size()) {}

void DataActor::start() {
  client_.reactor().post([this] { refresh(); });
}

void DataActor::refresh() {
  if (std::exchange(is_asking_, true)) return;
  ask();
}

void DataActor::refresh_later() {
  if (std::exchange(is_asking_, true)) return;
  after(10ms + draw_wait(90ms), [this] { ask(); });
}

void DataActor::ask() {
  auto const broker = static_cast<size_t>(random_.below(client_.size()));
  client_.connect(broker, [this, broker](bool is_open) {
    if (!is_open) return after(10ms + draw_wait(40ms), [this] { ask(); });
    protocol::MetadataRequest request;
    request.allow_auto_topic_creation = false;
    std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics;
    for (auto const& partition : run_.partitions) {
      if (topics.empty() || *topics.back().name != partition.topic) topics.push_back({{}, Str(partition.topic)});
    }
    request.topics = topics;
    client_.call<protocol::MetadataResponse>(broker, request, 10, 13, [this](auto* reply) {
      if (reply == nullptr) return after(10ms + draw_wait(40ms), [this] { ask(); });
      for (size_t p = 0; p < places_.size(); ++p) {
        auto& partition = run_.partitions[p];
        for (auto const& topic : reply->message.topics) {
          if (!topic.name || *topic.name != partition.topic || topic.error_code != ErrorCode::none) continue;
          partition.topic_id = topic.topic_id;
          for (auto const& each : topic.partitions) {
            // What a broker says that is behind the others is not believed.
            if (each.partition_index != partition.number || each.leader_epoch < places_[p].epoch) continue;
            bool const has_leader = each.leader_id >= 1 && each.leader_id <= static_cast<int32_t>(client_.size());
            places_[p] = {has_leader ? static_cast<size_t>(each.leader_id - 1) : kNobody, each.leader_epoch};
          }
        }
      }
      is_asking_ = false;
      on_metadata();
    });
  });
}

}  // namespace millrace::sim
