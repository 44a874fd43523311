#include "offsets.h"

#include <charconv>
#include <set>

#include "millrace/protocol/api/list_offsets.h"
#include "output.h"

namespace millrace::cli {
namespace {

using protocol::ListOffsetsRequest;

constexpr int32_t kUnknownToMetadata = -2;  // in place of a leader epoch, within this file
constexpr int kRetryCountMax = 10;
constexpr auto kRetryPause = std::chrono::milliseconds(100);

// The first version of ListOffsets that knows a special timestamp.
int16_t version_needed(int64_t timestamp) {
  switch (timestamp) {
    case kMaxTimestamp: return 7;
    case kEarliestLocalTimestamp: return 8;
    case kLatestTieredTimestamp: return 9;
    case kEarliestPendingUploadTimestamp: return 11;
    default: return 1;
  }
}

// A leader that has not heard yet of a partition that Metadata names says that there is none: that is worth waiting
// for, and so is every other error that Kafka calls retriable. A partition that Metadata does not name is not.
bool is_worth_retrying(FoundOffset const& found) {
  return found.leader_epoch != kUnknownToMetadata && error_info(found.error).is_retriable;
}

using Leaders = std::map<TopicPartition, std::pair<int32_t, ErrorCode>>;

Result<Leaders> find_leaders(Cluster& cluster, std::set<std::string> const& names) {
  std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics;
  for (auto const& name : names) topics.emplace_back().name = name;
  MR_TRY_ASSIGN(auto const reply, cluster.metadata(topics));
  Leaders leaders;
  for (auto const& topic : reply.message.topics) {
    for (auto const& partition : topic.partitions) {
      leaders[{std::string(topic.name.value_or("")), partition.partition_index}] = {
          partition.leader_id, partition.leader_id < 0 ? ErrorCode::leader_not_available : ErrorCode::none};
    }
  }
  return leaders;
}

Status ask(Cluster& cluster, int32_t leader, std::vector<std::pair<TopicPartition, int64_t>> const& wanted,
           bool read_committed, std::map<TopicPartition, FoundOffset>& found) {
  MR_TRY_ASSIGN(auto const version, cluster.version_at<ListOffsetsRequest>(leader));
  std::map<std::string_view, std::vector<ListOffsetsRequest::ListOffsetsPartition>> by_topic;
  for (auto const& [where, timestamp] : wanted) {
    if (auto const needed = version_needed(timestamp); version < needed) {
      return Error{ErrorKind::unsupported,
                   fmt::format("broker {} serves ListOffsets up to version {}; this needs {}: the broker is too old",
                               leader, version, needed)};
    }
    by_topic[where.topic].push_back({.partition_index = where.partition, .timestamp = timestamp});
  }
  std::vector<ListOffsetsRequest::ListOffsetsTopic> topics;
  for (auto& [name, partitions] : by_topic) topics.push_back({.name = name, .partitions = partitions});
  ListOffsetsRequest request;
  request.replica_id = -1;
  if (version >= 2) request.isolation_level = read_committed ? 1 : 0;
  request.topics = topics;
  request.timeout_ms = static_cast<int32_t>(cluster.options().timeout_ms);
  MR_TRY_ASSIGN(auto const reply, (cluster.call_node<protocol::ListOffsetsResponse>(leader, request)));
  for (auto const& topic : reply.message.topics) {
    for (auto const& partition : topic.partitions) {
      found[{std::string(topic.name), partition.partition_index}] = {.offset = partition.offset,
                                                                     .timestamp = partition.timestamp,
                                                                     .leader_epoch = partition.leader_epoch,
                                                                     .error = partition.error_code};
    }
  }
  return {};
}

}  // namespace

Result<std::map<TopicPartition, FoundOffset>> list_offsets(Cluster& cluster,
                                                           std::map<TopicPartition, int64_t> const& timestamps,
                                                           bool read_committed) {
  std::map<TopicPartition, FoundOffset> found;
  for (int attempt = 0; attempt <= kRetryCountMax; ++attempt) {
    std::set<std::string> topics;
    for (auto const& [where, timestamp] : timestamps) {
      auto const old = found.find(where);
      if (old == found.end() || is_worth_retrying(old->second)) topics.insert(where.topic);
    }
    if (topics.empty()) break;
    if (attempt > 0) cluster.pause(kRetryPause);
    MR_TRY_ASSIGN(auto const leaders, find_leaders(cluster, topics));
    std::map<int32_t, std::vector<std::pair<TopicPartition, int64_t>>> by_leader;
    for (auto const& [where, timestamp] : timestamps) {
      auto const old = found.find(where);
      if (old != found.end() && !is_worth_retrying(old->second)) continue;
      auto const leader = leaders.find(where);
      if (leader == leaders.end())
        found[where] = {.leader_epoch = kUnknownToMetadata, .error = ErrorCode::unknown_topic_or_partition};
      else if (leader->second.second != ErrorCode::none)
        found[where] = {.error = leader->second.second};
      else
        by_leader[leader->second.first].emplace_back(where, timestamp);
    }
    for (auto const& [leader, wanted] : by_leader) MR_TRY(ask(cluster, leader, wanted, read_committed, found));
  }
  return found;
}

Result<std::map<TopicPartition, FoundOffset>> list_offsets(Cluster& cluster,
                                                           std::vector<TopicPartition> const& partitions,
                                                           int64_t timestamp, bool read_committed) {
  std::map<TopicPartition, int64_t> timestamps;
  for (auto const& partition : partitions) timestamps[partition] = timestamp;
  return list_offsets(cluster, timestamps, read_committed);
}

Result<std::vector<TopicPartition>> partitions_of(Cluster& cluster, std::vector<std::string> const& names) {
  std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics;
  for (auto const& name : names) topics.emplace_back().name = name;
  auto reply = names.empty() ? cluster.metadata(kNullArray) : cluster.metadata(topics);
  if (!reply) return std::move(reply).error();
  std::set<TopicPartition> sorted;
  for (auto const& topic : reply->message.topics) {
    auto const name = topic.name.value_or("");
    if (topic.error_code != ErrorCode::none) {
      return Error{ErrorKind::not_found,
                   fmt::format("{}: {}\n  {}", name, error_text(topic.error_code), remedy_for(topic.error_code))};
    }
    if (names.empty() && topic.is_internal) continue;
    for (auto const& partition : topic.partitions) sorted.insert({std::string(name), partition.partition_index});
  }
  return std::vector<TopicPartition>(sorted.begin(), sorted.end());
}

Result<std::vector<TopicPartition>> parse_partitions(Cluster& cluster, std::vector<std::string> const& texts) {
  std::set<std::string> names;
  std::map<std::string, std::set<int32_t>> chosen;  // empty: all
  for (auto const& text : texts) {
    auto const colon = text.find(':');
    auto const name = text.substr(0, colon);
    names.insert(name);
    if (colon == std::string::npos) continue;
    auto rest = std::string_view(text).substr(colon + 1);
    do {
      int32_t number = -1;
      auto const [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      if (error != std::errc() || number < 0 || (end != rest.data() + rest.size() && *end != ',')) {
        return Error{ErrorKind::invalid, fmt::format("'{}' is neither TOPIC nor TOPIC:0,1", text)};
      }
      chosen[name].insert(number);
      rest.remove_prefix(std::min(rest.size(), static_cast<size_t>(end - rest.data()) + 1));
    } while (!rest.empty());
  }
  MR_TRY_ASSIGN(auto all, partitions_of(cluster, {names.begin(), names.end()}));
  for (auto const& [name, numbers] : chosen) {
    for (auto const number : numbers) {
      if (std::find(all.begin(), all.end(), TopicPartition{name, number}) == all.end()) {
        return Error{ErrorKind::invalid, fmt::format("there is no partition {} in {}", number, name)};
      }
    }
  }
  std::erase_if(all, [&](TopicPartition const& where) {
    auto const found = chosen.find(where.topic);
    return found != chosen.end() && !found->second.contains(where.partition);
  });
  return all;
}

}  // namespace millrace::cli
