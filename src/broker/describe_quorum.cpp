// DescribeQuorum: the metadata quorum's leader, voters and how far they are.
#include "handlers.h"
#include "millrace/protocol/api/describe_quorum.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Request = protocol::DescribeQuorumRequest;
using Response = protocol::DescribeQuorumResponse;

Array<Response::ReplicaState> replicas(RequestContext& context, std::vector<runtime::QuorumReplica> const& from, bool with_ids) {
  auto out = context.arena().array<Response::ReplicaState>(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    out[i].replica_id = from[i].key.id.value;
    if (with_ids) out[i].replica_directory_id = from[i].key.directory;
    out[i].log_end_offset = from[i].log_end.value;
    out[i].last_fetch_timestamp = from[i].last_fetch_ms;
    out[i].last_caught_up_timestamp = from[i].last_caught_up_ms;
  }
  return out;
}

bool asks_for_metadata_log(Request const& request) {
  return request.topics.size() == 1 && request.topics[0].topic_name == metadata::kMetadataTopicName &&
         request.topics[0].partitions.size() == 1 && request.topics[0].partitions[0].partition_index == 0;
}

void reply_unknown(RequestContext& context, Request const& request) {
  Response response;
  response.topics = context.arena().array<Response::TopicData>(request.topics.size());
  for (size_t i = 0; i < request.topics.size(); ++i) {
    auto& topic = response.topics[i];
    topic.topic_name = request.topics[i].topic_name;
    topic.partitions = context.arena().array<Response::PartitionData>(request.topics[i].partitions.size());
    for (size_t j = 0; j < topic.partitions.size(); ++j) {
      topic.partitions[j].partition_index = request.topics[i].partitions[j].partition_index;
      topic.partitions[j].error_code = ErrorCode::unknown_topic_or_partition;
      topic.partitions[j].error_message = "This server does not host this topic-partition.";
    }
  }
  context.reply(response);
}

}  // namespace

void handle_describe_quorum(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  if (!asks_for_metadata_log(request)) return reply_unknown(*context, request);
  auto const quorum = context->services().controller.describe_quorum();
  auto& arena = context->arena();
  Response response;
  if (!quorum.is_leader) {
    response.topics = arena.array<Response::TopicData>(1);
    response.topics[0].topic_name = metadata::kMetadataTopicName;
    response.topics[0].partitions = arena.array<Response::PartitionData>(1);
    response.topics[0].partitions[0].error_code = ErrorCode::not_leader_or_follower;
    response.topics[0].partitions[0].error_message =
        "For requests intended only for the leader, this error indicates that the broker is not the current leader. "
        "For requests "
        "intended for any replica, this error indicates that the broker is not a replica of the topic partition.";
    return context->reply(response);
  }
  response.topics = arena.array<Response::TopicData>(1);
  auto& topic = response.topics[0];
  topic.topic_name = metadata::kMetadataTopicName;
  topic.partitions = arena.array<Response::PartitionData>(1);
  auto& partition = topic.partitions[0];
  partition.leader_id = quorum.leader.value;
  partition.leader_epoch = quorum.epoch.value;
  partition.high_watermark = quorum.high_watermark.value;
  bool const with_ids = quorum.kraft_version > 0;
  partition.current_voters = replicas(*context, quorum.voters, with_ids);
  partition.observers = replicas(*context, quorum.observers, with_ids);
  if (context->version() >= 2) {
    response.nodes = arena.array<Response::Node>(quorum.nodes.size());
    for (size_t i = 0; i < quorum.nodes.size(); ++i) {
      auto const& voter = quorum.nodes[i];
      response.nodes[i].node_id = voter.key.id.value;
      response.nodes[i].listeners = arena.array<Response::Listener>(voter.endpoints.size());
      for (size_t j = 0; j < voter.endpoints.size(); ++j) {
        auto& listener = response.nodes[i].listeners[j];
        listener.name = voter.endpoints[j].listener;
        listener.host = voter.endpoints[j].host;
        listener.port = voter.endpoints[j].port;
      }
    }
  }
  context->reply(response);
}

}  // namespace millrace::broker
