#include "cluster.h"
#include "millrace/cli/time_text.h"
#include "millrace/protocol/api/api_versions.h"
#include "millrace/protocol/api/describe_cluster.h"
#include "millrace/protocol/api/describe_quorum.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kMetadataTopic = "__cluster_metadata";

using protocol::DescribeQuorumResponse;

Result<client::Reply<DescribeQuorumResponse>> describe_quorum(Cluster& cluster) {
  std::vector<protocol::DescribeQuorumRequest::PartitionData> partitions(1);
  std::vector<protocol::DescribeQuorumRequest::TopicData> topics(1);
  topics[0].topic_name = kMetadataTopic;
  topics[0].partitions = partitions;
  protocol::DescribeQuorumRequest request;
  request.topics = topics;
  MR_TRY_ASSIGN(auto reply, cluster.call<DescribeQuorumResponse>(request));
  auto const refuse = [](ErrorCode code, std::optional<Str> message) {
    return Error{ErrorKind::unsupported, fmt::format("quorum of {}: {}", kMetadataTopic, error_text(code, message))};
  };
  if (reply.message.error_code != ErrorCode::none) return refuse(reply.message.error_code, reply.message.error_message);
  if (reply.message.topics.empty() || reply.message.topics[0].partitions.empty()) {
    return Error{ErrorKind::unsupported, "the broker's answer names no partition"};
  }
  auto const& partition = reply.message.topics[0].partitions[0];
  if (partition.error_code != ErrorCode::none) return refuse(partition.error_code, partition.error_message);
  return reply;
}

struct NodeLine {
  int32_t id{};
  std::string host;
  int32_t port{};
  std::optional<std::string> rack;
  bool is_fenced = false;
};

struct Nodes {
  std::string cluster_id;
  int32_t controller = -1;
  std::map<int32_t, NodeLine> nodes;
};

template <class Text>
std::optional<std::string> owned(std::optional<Text> const& text) {
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

std::string address_text(std::string_view host, int32_t port) {
  if (host.find(':') != std::string_view::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

// By DescribeCluster, which knows fenced brokers too; by Metadata where that is not served.
Result<Nodes> find_nodes(Cluster& cluster) {
  Nodes found;
  auto const version = cluster.version_at<protocol::DescribeClusterRequest>(Cluster::kAnyNode);
  if (!version) {
    MR_TRY_ASSIGN(auto const reply, cluster.metadata({}));
    found.cluster_id = reply.message.cluster_id.value_or("");
    found.controller = reply.message.controller_id;
    for (auto const& broker : reply.message.brokers) {
      found.nodes[broker.node_id] = {broker.node_id, std::string(broker.host), broker.port, owned(broker.rack), false};
    }
    return found;
  }
  protocol::DescribeClusterRequest request;
  request.include_fenced_brokers = *version >= 2;
  MR_TRY_ASSIGN(auto const reply, cluster.call<protocol::DescribeClusterResponse>(request));
  if (reply.message.error_code != ErrorCode::none) {
    return Error{ErrorKind::unsupported, error_text(reply.message.error_code, reply.message.error_message)};
  }
  found.cluster_id = reply.message.cluster_id;
  found.controller = reply.message.controller_id;
  for (auto const& broker : reply.message.brokers) {
    found.nodes[broker.broker_id] = {broker.broker_id, std::string(broker.host), broker.port, owned(broker.rack),
                                     broker.is_fenced};
  }
  return found;
}

}  // namespace

int show_cluster_status(ClusterCommandOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const nodes = find_nodes(**cluster);
  if (!nodes) return report(nodes.error(), options.cluster);
  auto const topics = (*cluster)->metadata(kNullArray);
  if (!topics) return report(topics.error(), options.cluster);

  // A cluster without a quorum of its own kind (older ones kept their metadata elsewhere) names its controller itself.
  auto controller = nodes->controller;
  std::optional<int32_t> epoch;
  if (auto const quorum = describe_quorum(**cluster)) {
    controller = quorum->message.topics[0].partitions[0].leader_id;
    epoch = quorum->message.topics[0].partitions[0].leader_epoch;
  }
  int64_t fenced = 0;
  for (auto const& [id, node] : nodes->nodes) fenced += node.is_fenced;
  int64_t topic_count = 0;
  int64_t partition_count = 0;
  int64_t offline = 0;
  int64_t under_replicated = 0;
  for (auto const& topic : topics->message.topics) {
    ++topic_count;
    for (auto const& partition : topic.partitions) {
      ++partition_count;
      offline += partition.leader_id < 0;
      under_replicated += partition.isr_nodes.size() < partition.replica_nodes.size();
    }
  }
  if (options.cluster.as_json) {
    print_json(Json::object({{"cluster_id", nodes->cluster_id},
                             {"controller", controller},
                             {"controller_epoch", epoch},
                             {"brokers", nodes->nodes.size() - static_cast<size_t>(fenced)},
                             {"brokers_fenced", fenced},
                             {"topics", topic_count},
                             {"partitions", partition_count},
                             {"partitions_under_replicated", under_replicated},
                             {"partitions_offline", offline}}));
    return kOk;
  }
  fmt::print("cluster                      {}\n", nodes->cluster_id);
  fmt::print("controller                   {}{}\n", controller, epoch ? fmt::format(" (epoch {})", *epoch) : "");
  fmt::print("brokers                      {}{}\n", nodes->nodes.size() - static_cast<size_t>(fenced),
             fenced > 0 ? fmt::format(", {} more fenced", fenced) : "");
  fmt::print("topics                       {}\n", topic_count);
  fmt::print("partitions                   {}\n", partition_count);
  fmt::print("under-replicated partitions  {}\n", under_replicated);
  fmt::print("offline partitions           {}\n", offline);
  if (offline > 0 || under_replicated > 0 || fenced > 0) {
    print_note("See `millrace topic describe` for the partitions and `millrace cluster nodes` for the brokers.");
  }
  return kOk;
}

int list_cluster_nodes(ClusterCommandOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const nodes = find_nodes(**cluster);
  if (!nodes) return report(nodes.error(), options.cluster);
  auto list = Json::array();
  Table table({"BROKER", "ADDRESS", "RACK", "STATE"});
  for (auto const& [id, node] : nodes->nodes) {
    list.add(Json::object(
        {{"broker", id}, {"host", node.host}, {"port", node.port}, {"rack", node.rack}, {"fenced", node.is_fenced}}));
    table.add({fmt::to_string(id), address_text(node.host, node.port), node.rack.value_or(std::string(kNothing)),
               node.is_fenced ? "fenced" : "live"});
  }
  if (options.cluster.as_json)
    print_json(list);
  else
    table.print();
  return kOk;
}

int show_quorum(ClusterCommandOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const reply = describe_quorum(**cluster);
  if (!reply) return report(reply.error(), options.cluster);
  auto const& quorum = reply->message.topics[0].partitions[0];

  std::map<int32_t, std::string> addresses;
  for (auto const& node : reply->message.nodes) {
    for (auto const& listener : node.listeners) {
      auto& text = addresses[node.node_id];
      text += fmt::format("{}{}", text.empty() ? "" : ",", address_text(listener.host, listener.port));
    }
  }
  int64_t leader_end = quorum.high_watermark;
  for (auto const& voter : quorum.current_voters) {
    if (voter.replica_id == quorum.leader_id) leader_end = voter.log_end_offset;
  }
  auto const has_times = reply->version >= 1;
  auto replicas = Json::array();
  Table table({"NODE", "ROLE", "END", "LAG", "CAUGHT UP", "ADDRESS", "DIRECTORY"});
  auto const add = [&](DescribeQuorumResponse::ReplicaState const& replica, std::string_view role) {
    auto const lag = std::max(int64_t{0}, leader_end - replica.log_end_offset);
    auto const time = [&](int64_t ms) { return has_times && ms >= 0 ? Json(ms) : Json(); };
    auto const directory =
        replica.replica_directory_id.is_zero() ? std::nullopt : std::optional(replica.replica_directory_id.text());
    auto const address = addresses.find(replica.replica_id);
    replicas.add(Json::object({{"node", replica.replica_id},
                               {"role", role},
                               {"directory_id", directory},
                               {"log_end_offset", replica.log_end_offset},
                               {"lag", lag},
                               {"last_fetch_ms", time(replica.last_fetch_timestamp)},
                               {"last_caught_up_ms", time(replica.last_caught_up_timestamp)}}));
    auto const caught_up = has_times ? moment_text(replica.last_caught_up_timestamp) : std::string();
    table.add({fmt::to_string(replica.replica_id), std::string(role), fmt::to_string(replica.log_end_offset),
               fmt::to_string(lag), caught_up.empty() ? std::string(kNothing) : caught_up,
               address == addresses.end() ? std::string(kNothing) : address->second,
               directory.value_or(std::string(kNothing))});
  };
  for (auto const& voter : quorum.current_voters) add(voter, voter.replica_id == quorum.leader_id ? "leader" : "voter");
  for (auto const& observer : quorum.observers) add(observer, "observer");
  if (options.cluster.as_json) {
    print_json(Json::object({{"leader", quorum.leader_id},
                             {"epoch", quorum.leader_epoch},
                             {"high_watermark", quorum.high_watermark},
                             {"replicas", replicas}}));
    return kOk;
  }
  fmt::print("leader {}, epoch {}, high watermark {}\n\n", quorum.leader_id, quorum.leader_epoch,
             quorum.high_watermark);
  table.print();
  return kOk;
}

int list_features(ClusterCommandOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  protocol::ApiVersionsRequest request;
  request.client_software_name = "millrace";
  request.client_software_version = "cli";
  auto const reply = (*cluster)->call<protocol::ApiVersionsResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);
  struct Feature {
    std::optional<std::pair<int16_t, int16_t>> supported;
    std::optional<int16_t> level;
  };
  std::map<std::string_view, Feature> features;
  for (auto const& feature : reply->message.supported_features)
    features[feature.name].supported = {feature.min_version, feature.max_version};
  for (auto const& feature : reply->message.finalized_features)
    features[feature.name].level = feature.max_version_level;
  auto list = Json::array();
  Table table({"FEATURE", "LEVEL", "SUPPORTED"});
  for (auto const& [name, feature] : features) {
    auto const range = [&](bool is_high) {
      return feature.supported ? Json(is_high ? feature.supported->second : feature.supported->first) : Json();
    };
    list.add(Json::object({{"feature", name},
                           {"level", feature.level},
                           {"supported_min", range(false)},
                           {"supported_max", range(true)}}));
    table.add({std::string(name), feature.level ? fmt::to_string(*feature.level) : std::string(kNothing),
               feature.supported ? fmt::format("{}-{}", feature.supported->first, feature.supported->second)
                                 : std::string(kNothing)});
  }
  if (options.cluster.as_json) {
    print_json(Json::object({{"epoch", reply->message.finalized_features_epoch}, {"features", list}}));
    return kOk;
  }
  table.print();
  return kOk;
}

}  // namespace millrace::cli
