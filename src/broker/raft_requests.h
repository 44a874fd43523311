// What the requests of the metadata quorum have in common.
#pragma once
#include "millrace/broker/context.h"
#include "millrace/metadata/image.h"
#include "millrace/raft/messages.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {

// Of Vote, BeginQuorumEpoch and EndQuorumEpoch: is it for this cluster, and for the one partition of its log alone?
inline raft::Addressing raft_addressing(RequestContext& context, auto const& request) {
  raft::Addressing out;
  out.is_same_cluster =
      !request.cluster_id || std::string_view(*request.cluster_id) == context.services().config.cluster_id;
  out.is_metadata_log = request.topics.size() == 1 && request.topics[0].topic_name == metadata::kMetadataTopicName &&
                        request.topics[0].partitions.size() == 1 &&
                        request.topics[0].partitions[0].partition_index == 0;
  return out;
}

// What a request says of its leader's address.
inline std::optional<runtime::RaftAddress> leader_address(auto const& endpoints, int32_t leader) {
  if (endpoints.empty() || leader < 0) return std::nullopt;
  return runtime::RaftAddress{BrokerId{leader}, std::string(endpoints[0].host), endpoints[0].port};
}

// Submits, and hands (context, answer) to `reply` on the connection's thread.
template <class Reply>
void ask_quorum(ContextPtr context, raft::Request request, std::optional<runtime::RaftAddress> leader, Reply reply) {
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  controller.submit_raft(
      std::move(request), std::move(leader), reactor,
      [context = std::move(context), reply](runtime::RaftAnswer answer) { reply(*context, answer); });
}

template <class Endpoint>
Array<Endpoint> node_endpoints(RequestContext& context, runtime::RaftAnswer const& answer, int16_t since) {
  if (!answer.leader || context.version() < since) return {};
  auto out = context.arena().template array<Endpoint>(1);
  out[0].node_id = answer.leader->id.value;
  out[0].host = context.arena().copy(answer.leader->host);
  out[0].port = answer.leader->port;
  return out;
}

// The answer of Vote, BeginQuorumEpoch or EndQuorumEpoch; `more` sets what only one of them has.
template <class Response, class Answer, class More>
void reply_election(RequestContext& context, runtime::RaftAnswer const& answer, More more) {
  auto const& out = std::get<Answer>(answer.response);
  Response response;
  response.error_code = out.verdict.top;
  if (out.verdict.top == ErrorCode::none) {
    response.topics = context.arena().template array<typename Response::TopicData>(1);
    response.topics[0].topic_name = metadata::kMetadataTopicName;
    response.topics[0].partitions = context.arena().template array<typename Response::PartitionData>(1);
    auto& partition = response.topics[0].partitions[0];
    partition.error_code = out.verdict.error;
    partition.leader_id = out.verdict.leader.value;
    partition.leader_epoch = out.verdict.epoch.value;
    more(partition, out);
    response.node_endpoints = node_endpoints<typename Response::NodeEndpoint>(context, answer, 1);
  }
  context.reply(response);
}

}  // namespace millrace::broker
