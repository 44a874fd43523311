// AlterClientQuotas: limits of users, client ids and addresses; the controller decides.
#include "millrace/protocol/api/alter_client_quotas.h"

#include "handlers.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

using Request = protocol::AlterClientQuotasRequest;
using Response = protocol::AlterClientQuotasResponse;

// Kafka takes no deadline from this request; its brokers wait this long for the controller.
constexpr Duration kControllerWait = 30s;

// Of a type that comes twice, and of a key, the last one counts, as in Kafka's maps.
metadata::QuotaEntityChange to_change(Request::EntryData const& entry) {
  std::map<std::string, std::optional<std::string>> entity;
  for (auto const& part : entry.entity) {
    entity[std::string(part.entity_type)] =
        part.entity_name ? std::optional(std::string(*part.entity_name)) : std::nullopt;
  }
  std::map<std::string, std::optional<double>> changes;
  for (auto const& op : entry.ops) changes[std::string(op.key)] = op.remove ? std::nullopt : std::optional(op.value);
  metadata::QuotaEntityChange out;
  out.entity.assign(entity.begin(), entity.end());
  for (auto const& [key, value] : changes) out.changes.push_back({key, value});
  return out;
}

void reply(RequestContext& context, std::vector<metadata::QuotaEntity> const& entities,
           metadata::AlterClientQuotasAnswer const& answer) {
  auto& arena = context.arena();
  Response response;
  response.entries = arena.array<Response::EntryData>(entities.size());
  for (size_t i = 0; i < entities.size(); ++i) {
    auto& out = response.entries[i];
    auto const& error = answer.error.ok() ? answer.errors[i] : answer.error;
    out.error_code = error.code;
    out.error_message = error.message ? std::optional<Str>(*error.message) : std::nullopt;
    out.entity = arena.array<Response::EntityData>(entities[i].size());
    for (size_t k = 0; k < entities[i].size(); ++k) {
      auto const& [type, name] = entities[i][k];
      out.entity[k] = {type, name ? std::optional<Str>(*name) : std::nullopt};
    }
  }
  context.reply(response);
}

}  // namespace

void handle_alter_client_quotas(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  metadata::AlterClientQuotas to_controller;
  to_controller.validate_only = request.validate_only;
  std::vector<metadata::QuotaEntity> entities;
  for (auto const& entry : request.entries) {
    to_controller.entities.push_back(to_change(entry));
    entities.push_back(to_controller.entities.back().entity);
  }
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kControllerWait;
  runtime::submit_as<metadata::AlterClientQuotasAnswer>(
      controller, std::move(to_controller), deadline, reactor,
      [context = std::move(context), entities = std::move(entities)](metadata::AlterClientQuotasAnswer answer) {
        reply(*context, entities, answer);
      });
}

}  // namespace millrace::broker
