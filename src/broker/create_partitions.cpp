// CreatePartitions.
#include "handlers.h"
#include "millrace/protocol/api/create_partitions.h"
#include "millrace/runtime/controller_client.h"
#include "topic_changes.h"

namespace millrace::broker {
namespace {

constexpr int16_t kFirstVersionWithQuotaError = 3;

using Request = protocol::CreatePartitionsRequest;
using Response = protocol::CreatePartitionsResponse;

metadata::TopicGrowth to_growth(Request::CreatePartitionsTopic const& topic) {
  metadata::TopicGrowth out;
  out.name = std::string(topic.name);
  out.count = topic.count;
  if (topic.assignments.is_null()) return out;
  out.assignments.emplace();
  for (auto const& assignment : topic.assignments) {
    auto& replicas = out.assignments->emplace_back();
    for (auto id : assignment.broker_ids) replicas.emplace_back(id);
  }
  return out;
}

void reply(RequestContext& context, Request const& request, std::vector<Str> const& duplicates,
           metadata::CreatePartitionsAnswer const& answer) {
  ArrayBuilder<Response::CreatePartitionsTopicResult> results(context.arena(), request.topics.size());
  auto const add = [&](Str name, metadata::ApiError const& error) {
    auto& out = results.add();
    out.name = name;
    out.error_code = error.code;
    if (error.message) out.error_message = context.arena().copy(Str(*error.message));
  };
  if (!answer.error.ok()) {
    for (auto const& topic : request.topics) add(topic.name, answer.error);
  } else {
    for (auto name : duplicates) add(name, {ErrorCode::invalid_request, "Duplicate topic name."});
    for (auto const& [name, error] : answer.topics) add(name, error);
  }
  Response response;
  response.results = results.finish();
  reply_throttled(context, response, answer.throttled_until);
}

}  // namespace

void handle_create_partitions(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  std::map<Str, int> counts;
  for (auto const& topic : request.topics) ++counts[topic.name];
  metadata::CreatePartitions to_controller;
  to_controller.validate_only = request.validate_only;
  for (auto const& topic : request.topics)
    if (counts[topic.name] == 1) to_controller.topics.push_back(to_growth(topic));
  std::vector<Str> duplicates;
  for (auto const& [name, count] : counts)
    if (count > 1) duplicates.push_back(name);
  to_controller.asker = mutation_asker(*context, kFirstVersionWithQuotaError);
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + from_ms(request.timeout_ms);
  runtime::submit_as<metadata::CreatePartitionsAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), request, duplicates = std::move(duplicates)](metadata::CreatePartitionsAnswer answer) {
        reply(*context, request, duplicates, answer);
      });
}

}  // namespace millrace::broker
