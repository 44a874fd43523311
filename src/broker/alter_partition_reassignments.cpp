// AlterPartitionReassignments: on a node alone the only good assignment is the one that there is.
#include "millrace/protocol/api/alter_partition_reassignments.h"

#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using Request = protocol::AlterPartitionReassignmentsRequest;
using Response = protocol::AlterPartitionReassignmentsResponse;

struct Outcome {
  ErrorCode code = ErrorCode::none;
  std::optional<std::string> message;
};

Outcome invalid(std::string message) { return {ErrorCode::invalid_replica_assignment, std::move(message)}; }

Outcome reassign(RequestContext& context, Request const& request, Str topic,
                 Request::ReassignablePartition const& asked) {
  auto const& image = context.image();
  if (image.find_topic(topic) == nullptr) {
    return {ErrorCode::unknown_topic_or_partition, fmt::format("Unable to find a topic named {}.", topic)};
  }
  auto const* partition = image.find_partition(topic, asked.partition_index);
  if (partition == nullptr) {
    return {ErrorCode::unknown_topic_or_partition,
            fmt::format("Unable to find partition {}:{}.", topic, asked.partition_index)};
  }
  if (asked.replicas.is_null()) return {ErrorCode::no_reassignment_in_progress, std::nullopt};
  if (asked.replicas.empty()) return invalid("The manual partition assignment includes an empty replica list.");
  std::vector<BrokerId> target;
  for (auto const id : asked.replicas) {
    auto const broker = BrokerId(id);
    if (image.find_broker(broker) == nullptr) {
      return invalid(
          fmt::format("The manual partition assignment includes broker {}, but no such broker is registered.", id));
    }
    if (std::ranges::find(target, broker) != target.end()) {
      return invalid(fmt::format("The manual partition assignment includes the broker {} more than once.", id));
    }
    target.push_back(broker);
  }
  if (target == partition->replicas) return {};
  if (!request.allow_replication_factor_change && target.size() != partition->replicas.size()) {
    return {ErrorCode::invalid_replication_factor,
            fmt::format("The replication factor is changed from {} to {}", partition->replicas.size(), target.size())};
  }
  return {ErrorCode::unsupported_version, "This version moves no replicas between brokers."};
}

}  // namespace

void handle_alter_partition_reassignments(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto& arena = context->arena();
  Response response;
  response.error_message = std::nullopt;
  response.allow_replication_factor_change = request.allow_replication_factor_change;
  response.responses = arena.array<Response::ReassignableTopicResponse>(request.topics.size());
  for (size_t i = 0; i < request.topics.size(); ++i) {
    auto const& topic = request.topics[i];
    auto& out = response.responses[i];
    out.name = topic.name;
    out.partitions = arena.array<Response::ReassignablePartitionResponse>(topic.partitions.size());
    for (size_t k = 0; k < topic.partitions.size(); ++k) {
      auto const outcome = reassign(*context, request, topic.name, topic.partitions[k]);
      out.partitions[k].partition_index = topic.partitions[k].partition_index;
      out.partitions[k].error_code = outcome.code;
      out.partitions[k].error_message =
          outcome.message ? std::optional(arena.copy(Str(*outcome.message))) : std::nullopt;
    }
  }
  context->reply(response);
}

}  // namespace millrace::broker
