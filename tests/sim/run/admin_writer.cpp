#include "sim/run/admin_writer.h"

#include "millrace/protocol/api/alter_client_quotas.h"
#include "millrace/protocol/api/create_topics.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;
using protocol::AlterClientQuotasRequest;
using protocol::AlterClientQuotasResponse;

constexpr std::string_view kQuota = "producer_byte_rate";
constexpr Duration kPauseMax = 200ms;

}  // namespace

AdminWriter::AdminWriter(NodeEnv& env, size_t reactor, std::string name, std::vector<ClusterClient::Address> controllers)
    : client_(env, reactor, name, std::move(controllers), 2s), random_(env.random(name)), target_(random_.below(client_.size())) {}

void AdminWriter::start() {
  client_.reactor().post([this] { next(); });
}

void AdminWriter::next() {
  if (is_finishing_) return;
  client_.after(Duration(random_.between(0, kPauseMax.count())), [this] {
    if (is_paused_) return next();
    if (is_finishing_) return;
    ++made_;
    current_.emplace(fmt::format("{}-{}", client_.name(), made_), static_cast<double>(1000 + made_));
    attempt();
  });
}

void AdminWriter::try_again(bool elsewhere) {
  if (elsewhere) target_ = (target_ + 1 + random_.below(client_.size())) % client_.size();
  client_.after(Duration(random_.between(1'000'000, 50'000'000)), [this] { attempt(); });
}

void AdminWriter::attempt() {
  client_.connect(target_, [this](bool is_open) {
    if (!is_open) return try_again(true);
    AlterClientQuotasRequest::EntityData entity{"user", Str(current_->first)};
    AlterClientQuotasRequest::OpData op{kQuota, current_->second, false};
    AlterClientQuotasRequest::EntryData entry;
    entry.entity = {&entity, 1};
    entry.ops = {&op, 1};
    AlterClientQuotasRequest request;
    request.entries = {&entry, 1};
    client_.call<AlterClientQuotasResponse>(target_, request, 0, 1, [this](client::Reply<AlterClientQuotasResponse>* reply) {
      if (reply == nullptr || reply->message.entries.size() != 1) return try_again(true);
      auto const error = reply->message.entries[0].error_code;
      if (error != ErrorCode::none) return try_again(error == ErrorCode::not_controller);
      acknowledged_.insert(*std::exchange(current_, std::nullopt));
      next();
    });
  });
}

std::string AdminWriter::missing_in(metadata::Image const& image) const {
  for (auto const& [user, value] : acknowledged_) {
    auto const* quotas = image.quotas.find(metadata::QuotaEntityKey{{{"user", user}}});
    auto const* found = quotas == nullptr ? nullptr : quotas->find(kQuota);
    if (found == nullptr) return fmt::format("the quota of {}, which was acknowledged", user);
    if (*found != value) return fmt::format("the quota of {} as it was acknowledged", user);
  }
  return {};
}

TopicCreator::TopicCreator(NodeEnv& env, size_t reactor, std::vector<ClusterClient::Address> controllers, Topic topic)
    : client_(env, reactor, "topic-creator", std::move(controllers), 5s), topic_(std::move(topic)) {}

void TopicCreator::start() {
  client_.reactor().post([this] { attempt(); });
}

void TopicCreator::attempt() {
  auto const again = [this] {
    target_ = (target_ + 1) % client_.size();
    client_.after(100ms, [this] { attempt(); });
  };
  client_.connect(target_, [this, again](bool is_open) {
    if (!is_open) return again();
    std::vector<protocol::CreateTopicsRequest::CreatableTopicConfig> configs;
    for (auto const& [key, value] : topic_.configs) configs.push_back({Str(key), Str(value)});
    protocol::CreateTopicsRequest::CreatableTopic topic;
    topic.name = topic_.name;
    std::vector<protocol::CreateTopicsRequest::CreatableReplicaAssignment> assignments;
    for (auto& replicas : topic_.replicas) assignments.push_back({static_cast<int32_t>(assignments.size()), replicas});
    topic.num_partitions = assignments.empty() ? topic_.partitions : -1;
    topic.replication_factor = assignments.empty() ? topic_.replication_factor : int16_t{-1};
    topic.assignments = assignments;
    topic.configs = configs;
    protocol::CreateTopicsRequest request;
    request.topics = {&topic, 1};
    request.timeout_ms = 4000;
    client_.call<protocol::CreateTopicsResponse>(target_, request, 2, 7, [this, again](client::Reply<protocol::CreateTopicsResponse>* reply) {
      if (reply == nullptr || reply->message.topics.size() != 1) return again();
      auto const error = reply->message.topics[0].error_code;
      last_error_ = static_cast<int16_t>(error);
      is_done_ = error == ErrorCode::none || error == ErrorCode::topic_already_exists;
      if (!is_done_) again();
    });
  });
}

}  // namespace millrace::sim
