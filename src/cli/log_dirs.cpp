#include "cluster.h"
#include "millrace/protocol/api/describe_log_dirs.h"
#include "offsets.h"
#include "output.h"

namespace millrace::cli {
namespace {

Json optional_bytes(int64_t bytes) { return bytes < 0 ? Json() : Json(bytes); }
std::string bytes_text(int64_t bytes) { return bytes < 0 ? std::string(kNothing) : fmt::to_string(bytes); }

}  // namespace

int list_log_dirs(LogDirsOptions const& options) {
  using Request = protocol::DescribeLogDirsRequest;
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const live = (*cluster)->nodes();
  if (!live) return report(live.error(), options.cluster);
  auto nodes = options.nodes.empty() ? *live : options.nodes;
  for (auto const node : nodes) {
    if (std::find(live->begin(), live->end(), node) == live->end()) {
      print_error(fmt::format("broker {} is not among the live brokers", node), "See `millrace cluster nodes`.");
      return kFailed;
    }
  }

  Request request;
  request.topics = kNullArray;
  std::map<std::string, std::vector<int32_t>> partitions;
  std::vector<Request::DescribableLogDirTopic> topics;
  if (!options.topics.empty()) {
    auto const all = partitions_of(**cluster, options.topics);
    if (!all) return report(all.error(), options.cluster);
    for (auto const& where : *all) partitions[where.topic].push_back(where.partition);
    for (auto& [name, numbers] : partitions) topics.push_back({.topic = name, .partitions = numbers});
    request.topics = topics;
  }

  int exit_code = kOk;
  auto list = Json::array();
  Table directories({"BROKER", "DIRECTORY", "PARTITIONS", "BYTES", "TOTAL", "USABLE", "STATE"});
  Table replicas({"BROKER", "TOPIC", "PARTITION", "BYTES", "LAG", "DIRECTORY"});
  for (auto const node : nodes) {
    auto const reply = (*cluster)->call_node<protocol::DescribeLogDirsResponse>(node, request);
    if (!reply) return report(reply.error(), options.cluster);
    if (reply->message.error_code != ErrorCode::none) {
      print_error(fmt::format("broker {}: {}", node, error_text(reply->message.error_code)),
                  remedy_for(reply->message.error_code));
      exit_code = kFailed;
      continue;
    }
    for (auto const& directory : reply->message.results) {
      int64_t bytes = 0;
      auto held = Json::array();
      std::map<TopicPartition, protocol::DescribeLogDirsResponse::DescribeLogDirsPartition const*> sorted;
      for (auto const& topic : directory.topics) {
        for (auto const& partition : topic.partitions)
          sorted[{std::string(topic.name), partition.partition_index}] = &partition;
      }
      for (auto const& [where, partition] : sorted) {
        bytes += partition->partition_size;
        held.add(Json::object({{"topic", where.topic},
                               {"partition", where.partition},
                               {"bytes", partition->partition_size},
                               {"offset_lag", partition->offset_lag},
                               {"future", partition->is_future_key}}));
        replicas.add({fmt::to_string(node), where.topic, fmt::to_string(where.partition),
                      fmt::to_string(partition->partition_size), fmt::to_string(partition->offset_lag),
                      fmt::format("{}{}", directory.log_dir, partition->is_future_key ? " (moving in)" : "")});
      }
      bool const is_fine = directory.error_code == ErrorCode::none;
      auto state = is_fine ? std::string("online") : error_text(directory.error_code);
      if (is_fine && directory.is_cordoned) state = "cordoned";
      directories.add({fmt::to_string(node), std::string(directory.log_dir), fmt::to_string(sorted.size()),
                       fmt::to_string(bytes), bytes_text(directory.total_bytes), bytes_text(directory.usable_bytes),
                       state});
      auto entry = Json::object({{"broker", node},
                                 {"directory", directory.log_dir},
                                 {"bytes", bytes},
                                 {"total_bytes", optional_bytes(directory.total_bytes)},
                                 {"usable_bytes", optional_bytes(directory.usable_bytes)},
                                 {"cordoned", directory.is_cordoned},
                                 {"error", is_fine ? Json() : error_json(directory.error_code)},
                                 {"partitions", held}});
      list.add(std::move(entry));
    }
  }
  if (options.cluster.as_json)
    print_json(list);
  else if (options.with_partitions)
    replicas.print();
  else
    directories.print();
  return exit_code;
}

}  // namespace millrace::cli
