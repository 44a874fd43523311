// cluster elect-leaders: back to the preferred leaders, or to any replica that is there.
#include "cluster.h"
#include "millrace/protocol/api/elect_leaders.h"
#include "offsets.h"
#include "output.h"

namespace millrace::cli {

int elect_leaders(ElectLeadersOptions const& options) {
  if (options.is_unclean && options.topics.empty()) {
    print_error("--unclean may lose what was acknowledged", "Name the partitions with --topic TOPIC:0,1.");
    return kUsage;
  }
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  std::map<std::string, std::vector<int32_t>> asked;
  if (!options.topics.empty()) {
    auto const partitions = parse_partitions(**cluster, options.topics);
    if (!partitions) return report(partitions.error(), options.cluster);
    for (auto const& where : *partitions) asked[where.topic].push_back(where.partition);
  }
  std::vector<protocol::ElectLeadersRequest::TopicPartitions> topics;
  for (auto& [name, partitions] : asked) {
    auto& topic = topics.emplace_back();
    topic.topic = name;
    topic.partitions = partitions;
  }
  protocol::ElectLeadersRequest request;
  request.election_type = options.is_unclean ? 1 : 0;
  request.timeout_ms = static_cast<int32_t>((*cluster)->options().timeout_ms);
  if (options.topics.empty()) {
    request.topic_partitions = kNullArray;
  } else {
    request.topic_partitions = topics;
  }
  auto const reply = (*cluster)->call_controller<protocol::ElectLeadersResponse>(request);
  if (!reply) return report(reply.error(), options.cluster);
  if (reply->message.error_code != ErrorCode::none) {
    print_error(error_text(reply->message.error_code), remedy_for(reply->message.error_code));
    return kFailed;
  }
  Outcomes outcomes(options.cluster.as_json);
  for (auto const& topic : reply->message.replica_election_results) {
    for (auto const& partition : topic.partition_result) {
      auto const name = fmt::format("{}-{}", topic.topic, partition.partition_id);
      if (partition.error_code == ErrorCode::none) {
        outcomes.done(name, "elected");
      } else if (partition.error_code == ErrorCode::election_not_needed) {
        outcomes.done(name, "unchanged");  // it leads already
      } else {
        outcomes.failed(name, partition.error_code, partition.error_message);
      }
    }
  }
  return outcomes.finish();
}

}  // namespace millrace::cli
