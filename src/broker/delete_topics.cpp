// DeleteTopics: names and ids become ids here, so that a topic that is made anew meanwhile is safe.
#include "handlers.h"
#include "millrace/protocol/api/delete_topics.h"
#include "millrace/runtime/controller_client.h"
#include "topic_changes.h"

namespace millrace::broker {
namespace {

constexpr int16_t kFirstVersionWithQuotaError = 5;

using Request = protocol::DeleteTopicsRequest;
using Response = protocol::DeleteTopicsResponse;
using Result = Response::DeletableTopicResult;

// What is asked for, resolved against the image.
struct Plan {
  std::vector<Result> answered;
  std::map<TopicId, std::optional<Str>> ids;  // to be deleted, with their names where they are known here
};

Result make_result(std::optional<Str> name, TopicId const& id, ErrorCode code, std::optional<Str> message) {
  Result out;
  out.name = name;
  out.topic_id = id;
  out.error_code = code;
  out.error_message = message;
  return out;
}

Plan make_plan(RequestContext& context, Request const& request) {
  Plan plan;
  std::map<Str, int> names;
  std::map<TopicId, int> ids;
  for (auto name : request.topic_names) ++names[name];
  for (auto const& topic : request.topics) {
    if (!topic.name) {
      if (topic.topic_id.is_zero()) {
        plan.answered.push_back(
            make_result(std::nullopt, {}, ErrorCode::invalid_request, "Neither topic name nor id were specified."));
      } else {
        ++ids[topic.topic_id];
      }
    } else if (topic.topic_id.is_zero()) {
      ++names[*topic.name];
    } else {
      plan.answered.push_back(make_result(topic.name, topic.topic_id, ErrorCode::invalid_request,
                                          "You may not specify both topic name and topic id."));
    }
  }
  std::set<TopicId> refused_ids;
  for (auto const& [id, count] : ids) {
    auto const* topic = context.image().find_topic(id);
    if (count > 1) {
      refused_ids.insert(id);
      plan.answered.push_back(make_result(std::nullopt, id, ErrorCode::invalid_request, "Duplicate topic id."));
    } else {
      // Only the controller knows that there is no such topic: this broker may be behind.
      plan.ids.emplace(id, topic == nullptr ? std::nullopt : std::optional<Str>(topic->name));
    }
  }
  for (auto const& [name, count] : names) {
    auto const* topic = context.image().find_topic(name);
    if (count > 1) {
      plan.answered.push_back(make_result(name, {}, ErrorCode::invalid_request, "Duplicate topic name."));
    } else if (name.empty()) {
      plan.answered.push_back(make_result(name, {}, ErrorCode::invalid_request, "Invalid empty topic name."));
    } else if (topic == nullptr) {
      plan.answered.push_back(make_result(name, {}, ErrorCode::unknown_topic_or_partition,
                                          "This server does not host this topic-partition."));
    } else if (refused_ids.contains(topic->id) || !plan.ids.emplace(topic->id, topic->name).second) {
      refused_ids.insert(topic->id);
      plan.ids.erase(topic->id);
      plan.answered.push_back(make_result(name, topic->id, ErrorCode::invalid_request,
                                          "The provided topic name maps to an ID that was already supplied."));
    }
  }
  return plan;
}

void reply(RequestContext& context, Plan& plan, metadata::DeleteTopicsAnswer const& answer) {
  auto const text = [](std::optional<std::string> const& message) {
    return message ? std::optional<Str>(*message) : std::nullopt;
  };
  if (!answer.error.ok()) {
    for (auto const& [id, name] : plan.ids) {
      plan.answered.push_back(make_result(name, id, answer.error.code, text(answer.error.message)));
    }
  }
  for (auto const& [id, error] : answer.topics) {
    plan.answered.push_back(make_result(plan.ids.at(id), id, error.code, text(error.message)));
  }
  Response response;
  response.responses = plan.answered;
  reply_throttled(context, response, answer.throttled_until);
}

}  // namespace

void handle_delete_topics(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto plan = make_plan(*context, request);
  if (plan.ids.empty()) return reply(*context, plan, {});
  metadata::DeleteTopics to_controller;
  for (auto const& [id, name] : plan.ids) to_controller.ids.push_back(id);
  to_controller.asker = mutation_asker(*context, kFirstVersionWithQuotaError);
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + from_ms(request.timeout_ms);
  runtime::submit_as<metadata::DeleteTopicsAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), plan = std::move(plan)](metadata::DeleteTopicsAnswer answer) mutable {
        reply(*context, plan, answer);
      });
}

}  // namespace millrace::broker
