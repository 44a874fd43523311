#include "cluster.h"
#include "config_ops.h"
#include "millrace/cli/time_text.h"
#include "millrace/protocol/api/create_partitions.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/delete_topics.h"
#include "offsets.h"
#include "output.h"

namespace millrace::cli {
namespace {

std::string join(Array<int32_t> const& numbers) {
  std::string text;
  for (auto const number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

}  // namespace

int create_topics(TopicCreateOptions const& options) {
  std::vector<protocol::CreateTopicsRequest::CreatableTopicConfig> configs;
  for (auto const& text : options.configs) {
    auto const pair = split_pair(text);
    if (!pair) return report(pair.error(), options.cluster);
    configs.push_back({.name = pair->first, .value = pair->second});
  }
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);

  std::vector<protocol::CreateTopicsRequest::CreatableTopic> topics;
  for (auto const& name : options.names) {
    auto& topic = topics.emplace_back();
    topic.name = name;
    topic.num_partitions = options.partition_count;
    topic.replication_factor = options.replication_factor;
    topic.configs = configs;
  }
  protocol::CreateTopicsRequest request;
  request.topics = topics;
  request.timeout_ms = static_cast<int32_t>((*cluster)->options().timeout_ms);
  request.validate_only = options.only_validate;
  auto reply = (*cluster)->call_controller<protocol::CreateTopicsResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);

  Outcomes outcomes(options.cluster.as_json);
  for (auto const& topic : reply->message.topics) {
    bool const is_fine = topic.error_code == ErrorCode::none ||
                         (options.may_exist && topic.error_code == ErrorCode::topic_already_exists);
    if (is_fine) outcomes.done(topic.name, options.only_validate ? "valid" : topic.error_code == ErrorCode::none ? "created" : "exists");
    else outcomes.failed(topic.name, topic.error_code, topic.error_message);
  }
  return outcomes.finish();
}

int delete_topics(TopicDeleteOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  std::vector<protocol::DeleteTopicsRequest::DeleteTopicState> topics;
  std::vector<Str> names;
  for (auto const& name : options.names) {
    topics.emplace_back().name = name;
    names.push_back(name);
  }
  // Version 6 names topics one way, older ones another; a field of the wrong version must stay empty.
  auto const delete_all = [&](bool is_modern) {
    protocol::DeleteTopicsRequest request;
    if (is_modern) request.topics = topics;
    else request.topic_names = names;
    request.timeout_ms = static_cast<int32_t>((*cluster)->options().timeout_ms);
    return (*cluster)->call_controller<protocol::DeleteTopicsResponse>(request);
  };
  auto reply = delete_all(true);
  if (!reply && reply.error().kind == ErrorKind::unsupported) reply = delete_all(false);
  if (!reply) return report(reply.error(), options.cluster);

  Outcomes outcomes(options.cluster.as_json);
  for (auto const& topic : reply->message.responses) {
    auto const name = topic.name.value_or("");
    bool const is_missing = options.may_be_missing && topic.error_code == ErrorCode::unknown_topic_or_partition;
    if (topic.error_code == ErrorCode::none || is_missing) outcomes.done(name, is_missing ? "missing" : "deleted");
    else outcomes.failed(name, topic.error_code, topic.error_message);
  }
  return outcomes.finish();
}

int list_topics(TopicListOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto reply = (*cluster)->metadata(kNullArray);
  if (!reply) return report(reply.error(), options.cluster);
  auto list = Json::array();
  Table table({"TOPIC", "PARTITIONS", "REPLICAS", "ID"});
  std::map<std::string_view, protocol::MetadataResponse::MetadataResponseTopic const*> sorted;
  for (auto const& topic : reply->message.topics) sorted[topic.name.value_or("")] = &topic;
  for (auto const& [name, topic] : sorted) {
    if (topic->is_internal && !options.with_internal) continue;
    auto const replicas = topic->partitions.empty() ? size_t{0} : topic->partitions[0].replica_nodes.size();
    list.add(Json::object({{"name", name},
                           {"id", topic->topic_id.text()},
                           {"partitions", topic->partitions.size()},
                           {"replicas", replicas},
                           {"internal", topic->is_internal}}));
    table.add({std::string(name), fmt::to_string(topic->partitions.size()), fmt::to_string(replicas), topic->topic_id.text()});
  }
  if (options.cluster.as_json)
    print_json(list);
  else table.print();
  return kOk;
}

int describe_topics(TopicDescribeOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  std::vector<protocol::MetadataRequest::MetadataRequestTopic> topics;
  for (auto const& name : options.names) topics.emplace_back().name = name;
  auto reply = options.names.empty() ? (*cluster)->metadata(kNullArray) : (*cluster)->metadata(topics);
  if (!reply) return report(reply.error(), options.cluster);

  int exit_code = kOk;
  auto list = Json::array();
  Table table({"TOPIC", "PARTITION", "LEADER", "EPOCH", "REPLICAS", "IN SYNC", "OFFLINE"});
  for (auto const& topic : reply->message.topics) {
    std::string const name(topic.name.value_or(""));
    if (topic.error_code != ErrorCode::none) {
      print_error(fmt::format("{}: {}", name, error_text(topic.error_code)), remedy_for(topic.error_code));
      exit_code = kFailed;
      continue;
    }
    auto partitions = Json::array();
    std::map<int32_t, protocol::MetadataResponse::MetadataResponsePartition const*> sorted;
    for (auto const& partition : topic.partitions) sorted[partition.partition_index] = &partition;
    for (auto const& [index, partition] : sorted) {
      partitions.add(Json::object({{"partition", index},
                                   {"leader", partition->leader_id},
                                   {"leader_epoch", partition->leader_epoch},
                                   {"replicas", Json::array_of(partition->replica_nodes)},
                                   {"isr", Json::array_of(partition->isr_nodes)},
                                   {"offline", Json::array_of(partition->offline_replicas)}}));
      table.add({name, fmt::to_string(index), partition->leader_id < 0 ? "none" : fmt::to_string(partition->leader_id),
                 fmt::to_string(partition->leader_epoch), join(partition->replica_nodes), join(partition->isr_nodes),
                 join(partition->offline_replicas)});
    }
    list.add(Json::object(
        {{"name", name}, {"id", topic.topic_id.text()}, {"internal", topic.is_internal}, {"partitions", partitions}}));
  }
  if (options.cluster.as_json)
    print_json(list);
  else
    table.print();
  return exit_code;
}

int alter_topics(TopicAlterOptions const& options) {
  if (!options.partition_count && options.configs.empty() && options.configs_deleted.empty()) {
    print_error("there is nothing to alter", "Pass --partitions COUNT, --config KEY=VALUE or --delete-config KEY.");
    return kUsage;
  }
  std::vector<ConfigChange> changes;
  for (auto const& text : options.configs) {
    auto const pair = split_pair(text);
    if (!pair) return report(pair.error(), options.cluster);
    changes.push_back({ConfigOperation::set, pair->first, pair->second});
  }
  for (auto const& key : options.configs_deleted) changes.push_back({ConfigOperation::remove, key, std::nullopt});
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);

  // Settings first: they can be put back, partitions cannot. What was refused is not asked for more.
  Outcomes outcomes(options.cluster.as_json);
  std::set<std::string, std::less<>> refused;
  if (!changes.empty()) {
    auto const results = alter_configs(**cluster, ConfigKind::topic, options.names, changes, options.only_validate);
    if (!results) return report(results.error(), options.cluster);
    for (auto const& result : *results) {
      if (result.error != ErrorCode::none) {
        refused.insert(result.name);
        outcomes.failed(result.name, result.error, result.message);
      } else if (!options.partition_count) {
        outcomes.done(result.name, options.only_validate ? "valid" : "altered");
      }
    }
  }
  if (!options.partition_count) return outcomes.finish();

  std::vector<protocol::CreatePartitionsRequest::CreatePartitionsTopic> topics;
  for (auto const& name : options.names) {
    if (!refused.contains(name))
      topics.push_back({.name = name, .count = *options.partition_count, .assignments = kNullArray});
  }
  if (topics.empty()) return outcomes.finish();
  protocol::CreatePartitionsRequest request;
  request.topics = topics;
  request.timeout_ms = static_cast<int32_t>((*cluster)->options().timeout_ms);
  request.validate_only = options.only_validate;
  auto const reply = (*cluster)->call_controller<protocol::CreatePartitionsResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);
  for (auto const& topic : reply->message.results) {
    if (topic.error_code == ErrorCode::none)
      outcomes.done(topic.name, options.only_validate ? "valid" : "altered");
    else
      outcomes.failed(topic.name, topic.error_code, topic.error_message);
  }
  return outcomes.finish();
}

namespace {

std::optional<int64_t> special_timestamp(std::string_view word) {
  if (word == "earliest") return kEarliestTimestamp;
  if (word == "latest") return kLatestTimestamp;
  if (word == "max-timestamp") return kMaxTimestamp;
  if (word == "earliest-local") return kEarliestLocalTimestamp;
  if (word == "latest-tiered") return kLatestTieredTimestamp;
  if (word == "earliest-pending-upload") return kEarliestPendingUploadTimestamp;
  return std::nullopt;
}

// Prints an error for a partition and says whether there was one.
bool is_refused(TopicPartition const& where, FoundOffset const& found) {
  if (found.error == ErrorCode::none) return false;
  print_error(fmt::format("{}-{}: {}", where.topic, where.partition, error_text(found.error)), remedy_for(found.error));
  return true;
}

Json optional_offset(int64_t number) { return number < 0 ? Json() : Json(number); }

}  // namespace

int list_topic_offsets(TopicOffsetsOptions const& options) {
  std::optional<int64_t> timestamp;
  if (!options.at.empty()) {
    timestamp = special_timestamp(options.at);
    if (!timestamp) {
      auto const moment = parse_moment(options.at);
      if (!moment) {
        print_error(fmt::format("--at {}", moment.error().message),
                    "Or earliest, latest, max-timestamp, earliest-local, latest-tiered, earliest-pending-upload.");
        return kUsage;
      }
      timestamp = *moment;
    }
  }
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto partitions = partitions_of(**cluster, options.names);
  if (!partitions) return report(partitions.error(), options.cluster);
  if (!options.partitions.empty()) {
    std::erase_if(*partitions, [&](TopicPartition const& where) {
      return std::find(options.partitions.begin(), options.partitions.end(), where.partition) ==
             options.partitions.end();
    });
  }

  int exit_code = kOk;
  auto list = Json::array();
  if (timestamp) {
    auto const found = list_offsets(**cluster, *partitions, *timestamp, options.read_committed);
    if (!found) return report(found.error(), options.cluster);
    Table table({"TOPIC", "PARTITION", "OFFSET", "TIMESTAMP"});
    for (auto const& [where, answer] : *found) {
      if (is_refused(where, answer)) {
        exit_code = kFailed;
        continue;
      }
      list.add(Json::object({{"topic", where.topic},
                             {"partition", where.partition},
                             {"offset", optional_offset(answer.offset)},
                             {"timestamp", optional_offset(answer.timestamp)},
                             {"leader_epoch", answer.leader_epoch}}));
      table.add({where.topic, fmt::to_string(where.partition),
                 answer.offset < 0 ? std::string(kNothing) : fmt::to_string(answer.offset),
                 answer.timestamp < 0 ? std::string(kNothing) : moment_text(answer.timestamp)});
    }
    if (options.cluster.as_json)
      print_json(list);
    else
      table.print();
    return exit_code;
  }

  auto const earliest = list_offsets(**cluster, *partitions, kEarliestTimestamp, options.read_committed);
  if (!earliest) return report(earliest.error(), options.cluster);
  auto const latest = list_offsets(**cluster, *partitions, kLatestTimestamp, options.read_committed);
  if (!latest) return report(latest.error(), options.cluster);
  Table table({"TOPIC", "PARTITION", "EARLIEST", "LATEST", "OFFSETS"});
  for (auto const& [where, end] : *latest) {
    auto const& begin = earliest->at(where);
    if (is_refused(where, end) || is_refused(where, begin)) {
      exit_code = kFailed;
      continue;
    }
    auto const count = std::max(int64_t{0}, end.offset - begin.offset);
    list.add(Json::object({{"topic", where.topic},
                           {"partition", where.partition},
                           {"earliest", begin.offset},
                           {"latest", end.offset},
                           {"offsets", count}}));
    table.add({where.topic, fmt::to_string(where.partition), fmt::to_string(begin.offset), fmt::to_string(end.offset),
               fmt::to_string(count)});
  }
  if (options.cluster.as_json)
    print_json(list);
  else table.print();
  return exit_code;
}

}  // namespace millrace::cli
