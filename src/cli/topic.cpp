#include <nlohmann/json.hpp>

#include "cluster.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/protocol/api/delete_topics.h"
#include "output.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

// One line or one JSON element for each name; true when all went well.
class Outcomes {
 public:
  explicit Outcomes(bool as_json) : as_json_(as_json) {}

  void done(std::string_view name, std::string_view verb) {
    if (as_json_) list_.push_back({{"name", name}, {"ok", true}});
    else fmt::print("{} {}\n", verb, name);
  }
  void failed(std::string_view name, ErrorCode code, std::optional<std::string_view> message) {
    is_ok_ = false;
    if (as_json_) {
      list_.push_back({{"name", name}, {"ok", false}, {"error", error_name(code)}, {"code", static_cast<int16_t>(code)},
                       {"message", message ? Json(*message) : Json()}});
    } else {
      print_error(fmt::format("{}: {}", name, error_text(code, message)), remedy_for(code));
    }
  }
  int finish() {
    if (as_json_) fmt::print("{}\n", list_.dump(2));
    return is_ok_ ? kOk : kFailed;
  }

 private:
  bool const as_json_;
  bool is_ok_ = true;
  Json list_ = Json::array();
};

std::string join(Array<int32_t> const& numbers) {
  std::string text;
  for (auto const number : numbers) text += fmt::format("{}{}", text.empty() ? "" : ",", number);
  return text;
}

}  // namespace

int create_topics(TopicCreateOptions const& options) {
  std::vector<protocol::CreateTopicsRequest::CreatableTopicConfig> configs;
  for (auto const& pair : options.configs) {
    auto const equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      print_error(fmt::format("--config '{}' is not KEY=VALUE", pair), "For example --config retention.ms=86400000.");
      return kUsage;
    }
    auto const view = std::string_view(pair);
    configs.push_back({.name = view.substr(0, equals), .value = view.substr(equals + 1)});
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
  request.timeout_ms = static_cast<int32_t>(options.cluster.timeout_ms);
  request.validate_only = options.only_validate;
  auto reply = (*cluster)->call<protocol::CreateTopicsResponse>(request);
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
    request.timeout_ms = static_cast<int32_t>(options.cluster.timeout_ms);
    return (*cluster)->call<protocol::DeleteTopicsResponse>(request);
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
    list.push_back({{"name", name}, {"id", topic->topic_id.text()}, {"partitions", topic->partitions.size()},
                    {"replicas", replicas}, {"internal", topic->is_internal}});
    table.add({std::string(name), fmt::to_string(topic->partitions.size()), fmt::to_string(replicas), topic->topic_id.text()});
  }
  if (options.cluster.as_json) fmt::print("{}\n", list.dump(2));
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
      auto const numbers = [](Array<int32_t> const& array) { return std::vector<int32_t>(array.begin(), array.end()); };
      partitions.push_back({{"partition", index}, {"leader", partition->leader_id}, {"leader_epoch", partition->leader_epoch},
                            {"replicas", numbers(partition->replica_nodes)}, {"isr", numbers(partition->isr_nodes)},
                            {"offline", numbers(partition->offline_replicas)}});
      table.add({name, fmt::to_string(index), partition->leader_id < 0 ? "none" : fmt::to_string(partition->leader_id),
                 fmt::to_string(partition->leader_epoch), join(partition->replica_nodes), join(partition->isr_nodes),
                 join(partition->offline_replicas)});
    }
    list.push_back({{"name", name}, {"id", topic.topic_id.text()}, {"internal", topic.is_internal}, {"partitions", partitions}});
  }
  if (options.cluster.as_json) fmt::print("{}\n", list.dump(2));
  else table.print();
  return exit_code;
}

}  // namespace millrace::cli
