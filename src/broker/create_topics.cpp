// CreateTopics: the controller decides; what it never sees (a name twice, the metadata log itself) is refused here.
#include "handlers.h"
#include "millrace/protocol/api/create_topics.h"
#include "millrace/runtime/controller_client.h"
#include "topic_changes.h"

namespace millrace::broker {
namespace {

constexpr int16_t kFirstVersionWithQuotaError = 6;

using Request = protocol::CreateTopicsRequest;
using Response = protocol::CreateTopicsResponse;

metadata::TopicCreation to_creation(Request::CreatableTopic const& topic) {
  metadata::TopicCreation out;
  out.name = std::string(topic.name);
  out.partition_count = topic.num_partitions;
  out.replication_factor = topic.replication_factor;
  for (auto const& assignment : topic.assignments) {
    auto& to = out.assignments.emplace_back();
    to.partition = assignment.partition_index;
    for (auto id : assignment.broker_ids) to.replicas.emplace_back(id);
  }
  for (auto const& config : topic.configs) {
    out.configs.emplace_back(std::string(config.name),
                             config.value ? std::optional<std::string>(std::string(*config.value)) : std::nullopt);
  }
  return out;
}

struct Refused {
  Str name;
  Str message;
};

void add_refused(ArrayBuilder<Response::CreatableTopicResult>& topics, Str name, ErrorCode code, std::optional<Str> message) {
  auto& out = topics.add();
  out.name = name;
  out.error_code = code;
  out.error_message = message;
}

void reply(RequestContext& context, Request const& request, std::vector<Refused> const& refused,
           metadata::CreateTopicsAnswer const& answer) {
  auto& arena = context.arena();
  ArrayBuilder<Response::CreatableTopicResult> topics(arena, request.topics.size());
  auto const text = [](std::optional<std::string> const& message) {
    return message ? std::optional<Str>(*message) : std::nullopt;
  };
  if (!answer.error.ok()) {
    for (auto const& topic : request.topics) add_refused(topics, topic.name, answer.error.code, text(answer.error.message));
  } else {
    for (auto const& created : answer.topics) {
      auto& out = topics.add();
      out.name = created.name;
      out.topic_id = created.id;
      out.error_code = created.error.code;
      out.error_message = text(created.error.message);
      out.num_partitions = created.partition_count;
      out.replication_factor = created.replication_factor;
      auto configs = arena.array<Response::CreatableTopicConfigs>(created.configs.size());
      for (size_t i = 0; i < created.configs.size(); ++i) {
        configs[i].name = created.configs[i].name;
        configs[i].value = created.configs[i].effective.value;
        configs[i].config_source = static_cast<int8_t>(created.configs[i].effective.source);
      }
      topics.back().configs = configs;
    }
    for (auto const& topic : refused) add_refused(topics, topic.name, ErrorCode::invalid_request, topic.message);
  }
  Response response;
  response.topics = topics.finish();
  reply_throttled(context, response, answer.throttled_until);
}

}  // namespace

void handle_create_topics(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  std::map<Str, int> counts;
  for (auto const& topic : request.topics) ++counts[topic.name];
  metadata::CreateTopics to_controller;
  to_controller.validate_only = request.validate_only;
  std::vector<Refused> refused;
  for (auto const& topic : request.topics) {
    if (counts[topic.name] == 1 && topic.name != metadata::kMetadataTopicName) {
      to_controller.topics.push_back(to_creation(topic));
    }
  }
  for (auto const& [name, count] : counts) {
    if (count > 1) refused.push_back({name, "Duplicate topic name."});
    else if (name == metadata::kMetadataTopicName) refused.push_back({name, "Creation of internal topic __cluster_metadata is prohibited."});
  }
  to_controller.asker = mutation_asker(*context, kFirstVersionWithQuotaError);
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + from_ms(request.timeout_ms);
  runtime::submit_as<metadata::CreateTopicsAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), request, refused = std::move(refused)](metadata::CreateTopicsAnswer answer) {
        reply(*context, request, refused, answer);
      });
}

}  // namespace millrace::broker
