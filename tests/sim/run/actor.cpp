#include "sim/run/actor.h"

#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/find_coordinator.h"
#include "millrace/protocol/api/metadata.h"

namespace millrace::sim {

Actor::Actor(NodeEnv& env, size_t reactor, Run& run, std::string name)
    : env_(env), run_(run), random_(env.random(name)), reactor_(env.reactor(reactor)), name_(std::move(name)) {}

void Actor::start() {
  reactor_.post([this] { connect(); });
}

void Actor::after(Duration wait, Task task) {
  reactor_.call_at(reactor_.now() + wait, std::move(task));
}

int16_t Actor::draw_version(ApiKey key, int16_t lowest, int16_t highest) {
  auto const served = connection_->served(key);
  if (!served) return highest;
  auto const low = std::max(lowest, served->lowest);
  auto const high = std::max(low, std::min(highest, served->highest));
  return static_cast<int16_t>(random_.between(low, high));
}

void Actor::open(std::string const& host, uint16_t port, std::function<void(Result<std::shared_ptr<client::Connection>>)> done) {
  client::Options options;
  options.client_id = name_;
  options.request_timeout = request_timeout_;
  client::Connection::open(env_.network(), reactor_, host, port, options, reactor_.now() + 2s, std::move(done));
}

void Actor::connect() {
  if (connection_ != nullptr || is_connecting_) return;
  is_connecting_ = true;
  if (run_.brokers.empty()) return connect_to(run_.broker_host, run_.broker_port);
  auto const& first = run_.brokers[random_.below(run_.brokers.size())];
  open(first.host, first.port, [this](Result<std::shared_ptr<client::Connection>> made) {
    if (!made.ok()) {
      is_connecting_ = false;
      return reconnect_later();
    }
    asked_ = *std::move(made);
    find_coordinator();
  });
}

void Actor::find_coordinator() {
  protocol::FindCoordinatorRequest request;
  Str key(group_of_coordinator_);
  request.coordinator_keys = {&key, 1};
  asked_->call<protocol::FindCoordinatorResponse>(
      request,
      [this](Result<client::Reply<protocol::FindCoordinatorResponse>> reply) {
        reactor_.post([old = std::exchange(asked_, nullptr)] { old->close(); });
        auto const* found = reply.ok() && reply->message.coordinators.size() == 1 ? &reply->message.coordinators[0] : nullptr;
        bool const is_known = found != nullptr && found->error_code == ErrorCode::none && found->node_id >= 1 &&
                              static_cast<size_t>(found->node_id) <= run_.brokers.size();
        if (is_known) {
          auto const& broker = run_.brokers[static_cast<size_t>(found->node_id - 1)];
          return connect_to(broker.host, broker.port);
        }
        is_connecting_ = false;
        reconnect_later();
      },
      4);
}

void Actor::connect_to(std::string const& host, uint16_t port) {
  open(host, port, [this](Result<std::shared_ptr<client::Connection>> made) {
    is_connecting_ = false;
    if (!made.ok()) return reconnect_later();
    connection_ = *std::move(made);
    ++generation_;
    learn_metadata();
  });
}

void Actor::reconnect_later() {
  after(std::chrono::milliseconds(5 + random_.below(100)), [this] { connect(); });
}

void Actor::drop_connection() {
  if (connection_ == nullptr) return;
  ++generation_;
  auto const old = std::exchange(connection_, nullptr);
  is_ready_ = false;
  old->close();
  on_disconnected();
  reconnect_later();
}

void Actor::refresh() {
  if (connection_ == nullptr) return;
  is_ready_ = false;
  learn_metadata();
}

void Actor::learn_metadata() {
  if (!run_.has_metadata || !run_.brokers.empty()) {
    is_ready_ = true;
    return on_connected();
  }
  protocol::MetadataRequest request;
  request.allow_auto_topic_creation = false;
  std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics;
  for (auto const& partition : run_.partitions) {
    if (topics.empty() || *topics.back().name != partition.topic) topics.push_back({{}, Str(partition.topic)});
  }
  request.topics = topics;
  call<protocol::MetadataResponse>(request, draw_version(ApiKey::metadata, 10, 13), [this](auto* reply) {
    if (reply == nullptr) return;
    bool is_complete = true;
    for (auto& partition : run_.partitions) {
      bool found = false;
      for (auto const& topic : reply->message.topics) {
        if (!topic.name || *topic.name != partition.topic || topic.error_code != ErrorCode::none) continue;
        partition.topic_id = topic.topic_id;
        for (auto const& each : topic.partitions) {
          if (each.partition_index != partition.number || each.leader_id < 0) continue;
          partition.leader_epoch = std::max(partition.leader_epoch, each.leader_epoch);
          found = true;
        }
      }
      is_complete = is_complete && found;
    }
    if (!is_complete) {
      on_metadata_missing();
      return after(50ms, [this, generation = generation_] {
        if (generation == generation_ && connection_ != nullptr) learn_metadata();
      });
    }
    is_ready_ = true;
    on_connected();
  });
}

void TopicMaker::on_metadata_missing() {
  protocol::CreateTopicsRequest request;
  std::vector<protocol::CreateTopicsRequest::CreatableTopic> topics(1);
  topics[0].name = run_.partitions[0].topic;
  topics[0].num_partitions = static_cast<int32_t>(run_.partitions.size());
  topics[0].replication_factor = 1;
  request.topics = topics;
  request.timeout_ms = 5000;
  call<protocol::CreateTopicsResponse>(request, draw_version(ApiKey::create_topics, 2, 7), [](auto*) {});
}

}  // namespace millrace::sim
