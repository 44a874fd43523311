// The topics that coordinators keep their state in: how they are made.
#include <array>
#include <charconv>

#include "millrace/metadata/internal_topics.h"

#include "millrace/metadata/controller.h"
#include "millrace/metadata/topic_name.h"

namespace millrace::metadata {
namespace {

struct InternalTopic {
  std::string_view name;
  std::string_view count_key, replication_key, min_isr_key, segment_key;
  std::string_view fixed_configs;  // key=value, separated by spaces
};

constexpr int64_t kPartitionCount = 50;
constexpr int64_t kReplicationFactor = 3;
constexpr int64_t kMinIsr = 2;
constexpr int64_t kSegmentBytes = 104'857'600;

constexpr std::array kTopics{
    InternalTopic{"__consumer_offsets", "offsets.topic.num.partitions", "offsets.topic.replication.factor", "",
                  "offsets.topic.segment.bytes", "cleanup.policy=compact compression.type=producer"},
    InternalTopic{"__transaction_state", "transaction.state.log.num.partitions", "transaction.state.log.replication.factor",
                  "transaction.state.log.min.isr", "transaction.state.log.segment.bytes",
                  "cleanup.policy=compact compression.type=uncompressed unclean.leader.election.enable=false"},
    InternalTopic{"__share_group_state", "share.coordinator.state.topic.num.partitions",
                  "share.coordinator.state.topic.replication.factor", "share.coordinator.state.topic.min.isr",
                  "share.coordinator.state.topic.segment.bytes", "cleanup.policy=delete compression.type=producer retention.ms=-1"},
};

// The node's own setting, or `fallback`; `cap`, when given, bounds the fallback only.
int64_t number_of(StaticConfigs const& statics, std::string_view key, int64_t fallback,
                  int64_t cap = std::numeric_limits<int64_t>::max()) {
  auto const found = statics.find(key);
  int64_t value = 0;
  if (found != statics.end()) {
    auto const& text = found->second;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) return value;
  }
  return std::min(fallback, cap);
}

}  // namespace

std::optional<TopicCreation> internal_topic(Image const& image, StaticConfigs const& statics, std::string_view name) {
  auto const found = std::find_if(kTopics.begin(), kTopics.end(), [&](InternalTopic const& t) { return t.name == name; });
  if (found == kTopics.end()) return std::nullopt;
  // What nobody set fits the cluster as it is: a node alone must not wait for two others.
  auto const brokers = std::max<int64_t>(1, static_cast<int64_t>(image.brokers.size()));
  auto const replication = number_of(statics, found->replication_key, kReplicationFactor, brokers);
  TopicCreation topic;
  topic.name = std::string(name);
  topic.partition_count = static_cast<int32_t>(number_of(statics, found->count_key, kPartitionCount));
  topic.replication_factor = static_cast<int16_t>(replication);
  auto const add = [&](std::string_view key, std::string value) { topic.configs.emplace_back(std::string(key), std::move(value)); };
  for (auto rest = found->fixed_configs; !rest.empty();) {
    auto const item = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    auto const equals = item.find('=');
    add(item.substr(0, equals), std::string(item.substr(equals + 1)));
  }
  add("segment.bytes", fmt::format("{}", number_of(statics, found->segment_key, kSegmentBytes)));
  if (!found->min_isr_key.empty()) {
    add("min.insync.replicas", fmt::format("{}", number_of(statics, found->min_isr_key, kMinIsr, replication)));
  }
  return topic;
}

Decision Controller::decide(Image const& tip, CreateInternalTopic const& request, Mono now) {
  Decision decision;
  CreateInternalTopicAnswer answer;
  auto const topic = internal_topic(tip, config_.statics, request.name);
  if (!topic) {
    answer.error = {ErrorCode::invalid_request, fmt::format("{} is not an internal topic", request.name)};
  } else if (tip.find_topic(request.name) == nullptr) {
    MutationQuotas::Request quota(mutation_quotas_, tip, std::nullopt, now);
    answer.error = create_topic(tip, *topic, quota, decision.records).error;
  }
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
