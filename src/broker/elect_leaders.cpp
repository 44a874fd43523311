// ElectLeaders: preferred leaders where they can lead, or any replica at all rather than none. The controller decides.
#include "millrace/protocol/api/elect_leaders.h"

#include "handlers.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Request = protocol::ElectLeadersRequest;
using Response = protocol::ElectLeadersResponse;

enum class ElectionType : int8_t { preferred = 0, unclean = 1 };
constexpr int16_t kFirstVersionWithTypes = 1, kFirstVersionWithError = 1;

using Partitions = std::vector<std::pair<std::string, std::vector<int32_t>>>;

// By name, each once.
std::optional<Partitions> asked_partitions(Request const& request) {
  if (request.topic_partitions.is_null()) return std::nullopt;
  std::map<std::string, std::vector<int32_t>> asked;
  for (auto const& topic : request.topic_partitions) {
    auto& indexes = asked[std::string(topic.topic)];
    indexes.insert(indexes.end(), topic.partitions.begin(), topic.partitions.end());
  }
  return Partitions(asked.begin(), asked.end());
}

// Partitions of one topic stand together.
void reply(RequestContext& context, metadata::ElectLeadersAnswer const& answer) {
  auto& arena = context.arena();
  Response response;
  if (context.version() >= kFirstVersionWithError) response.error_code = answer.error.code;
  ArrayBuilder<Response::ReplicaElectionResult> results(arena);
  for (auto at = answer.partitions.begin(); at != answer.partitions.end();) {
    auto& topic = results.add();
    topic.topic = at->topic;
    ArrayBuilder<Response::PartitionResult> partitions(arena);
    for (; at != answer.partitions.end() && at->topic == topic.topic; ++at) {
      auto& out = partitions.add();
      out.partition_id = at->partition;
      out.error_code = at->error.code;
      out.error_message = at->error.message ? std::optional<Str>(*at->error.message) : std::nullopt;
    }
    topic.partition_result = partitions.finish();
  }
  response.replica_election_results = results.finish();
  context.reply(response);
}

metadata::ElectLeadersAnswer refusal(std::optional<Partitions> const& asked, metadata::ApiError const& error) {
  metadata::ElectLeadersAnswer answer;
  answer.error = error;
  for (auto const& [topic, indexes] : asked.value_or(Partitions())) {
    for (auto const index : indexes) answer.partitions.push_back({topic, index, error});
  }
  return answer;
}

}  // namespace

void handle_elect_leaders(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const type = context->version() >= kFirstVersionWithTypes ? request.election_type : int8_t{0};
  metadata::ElectLeaders to_controller;
  to_controller.partitions = asked_partitions(request);
  if (type != static_cast<int8_t>(ElectionType::preferred) && type != static_cast<int8_t>(ElectionType::unclean)) {
    return reply(*context, refusal(to_controller.partitions,
                                   {ErrorCode::invalid_request, fmt::format("Unknown election type {}", type)}));
  }
  to_controller.is_unclean = type == static_cast<int8_t>(ElectionType::unclean);
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + from_ms(request.timeout_ms);
  auto asked = to_controller.partitions;
  runtime::submit_as<metadata::ElectLeadersAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), asked = std::move(asked)](metadata::ElectLeadersAnswer const& answer) {
        if (answer.error.ok()) return reply(*context, answer);
        reply(*context, refusal(asked, answer.error));
      });
}

}  // namespace millrace::broker
