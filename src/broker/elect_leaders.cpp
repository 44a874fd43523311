// ElectLeaders: with one replica a partition has the leader that it can have, or none.
#include "millrace/protocol/api/elect_leaders.h"

#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using Request = protocol::ElectLeadersRequest;
using Response = protocol::ElectLeadersResponse;

enum class ElectionType : int8_t { preferred = 0, unclean = 1 };
constexpr int16_t kFirstVersionWithTypes = 1;
constexpr int16_t kFirstVersionWithTopLevelError = 1;

struct Outcome {
  ErrorCode code = ErrorCode::none;
  std::string message;
};

Outcome elect(metadata::Image const& image, ElectionType type, Str topic, int32_t index) {
  if (image.find_topic(topic) == nullptr) {
    return {ErrorCode::unknown_topic_or_partition, fmt::format("No such topic as {}", topic)};
  }
  auto const* partition = image.find_partition(topic, index);
  if (partition == nullptr) {
    return {ErrorCode::unknown_topic_or_partition, fmt::format("No such partition as {}-{}", topic, index)};
  }
  bool const has_preferred = !partition->replicas.empty() && partition->leader == partition->replicas.front();
  if (type == ElectionType::preferred && has_preferred)
    return {ErrorCode::election_not_needed, "Leader election not needed for topic partition."};
  if (type == ElectionType::unclean && partition->leader != kNoBroker) {
    return {ErrorCode::election_not_needed, "Leader election not needed for topic partition."};
  }
  if (type == ElectionType::preferred) {
    return {ErrorCode::preferred_leader_not_available, "The preferred leader was not available."};
  }
  return {ErrorCode::eligible_leaders_not_available, "Eligible topic partition leaders are not available."};
}

std::map<Str, std::vector<int32_t>> asked_partitions(RequestContext& context, Request const& request) {
  std::map<Str, std::vector<int32_t>> asked;
  for (auto const& topic : request.topic_partitions) {
    for (auto const index : topic.partitions) asked[topic.topic].push_back(index);
  }
  if (!request.topic_partitions.is_null()) return asked;
  context.image().topics.for_each([&](std::string const& name, metadata::TopicImagePtr const& topic) {
    topic->partitions.for_each([&](int32_t index, auto const&) { asked[name].push_back(index); });
  });
  return asked;
}

}  // namespace

void handle_elect_leaders(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const number = context->version() >= kFirstVersionWithTypes ? request.election_type : int8_t{0};
  bool const is_known = number == 0 || number == 1;
  auto& arena = context->arena();
  Response response;
  if (!is_known && context->version() >= kFirstVersionWithTopLevelError)
    response.error_code = ErrorCode::invalid_request;
  ArrayBuilder<Response::ReplicaElectionResult> results(arena);
  for (auto const& [topic, indexes] : asked_partitions(*context, request)) {
    ArrayBuilder<Response::PartitionResult> partitions(arena, indexes.size());
    for (auto const index : indexes) {
      auto const outcome = is_known
                               ? elect(context->image(), static_cast<ElectionType>(number), topic, index)
                               : Outcome{ErrorCode::invalid_request, fmt::format("Unknown election type {}", number)};
      // Asked for all, Kafka names those only for which there was something to do.
      if (request.topic_partitions.is_null() && outcome.code == ErrorCode::election_not_needed) continue;
      auto& out = partitions.add();
      out.partition_id = index;
      out.error_code = outcome.code;
      out.error_message = arena.copy(Str(outcome.message));
    }
    auto made = partitions.finish();
    if (made.empty()) continue;
    auto& out = results.add();
    out.topic = topic;
    out.partition_result = made;
  }
  response.replica_election_results = results.finish();
  context->reply(response);
}

}  // namespace millrace::broker
