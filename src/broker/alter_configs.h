// What AlterConfigs and IncrementalAlterConfigs share: checks that only the broker can make, then the controller.
#pragma once
#include "millrace/broker/context.h"
#include "millrace/metadata/controller_api.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {

// A change as it came: the numbers may mean nothing.
struct RequestedConfig {
  Str name;
  int8_t operation = 0;
  std::optional<Str> value;
};
struct RequestedResource {
  int8_t type{};
  Str name;
  std::vector<RequestedConfig> configs;
};
struct RequestedChanges {
  std::vector<RequestedResource> resources;  // views of the request
  bool replaces_all = false;
  bool validate_only = false;
};

// Refuses, sets loggers, and asks the controller for the rest. `done` gets one error a resource, in their order.
void alter_configs(ContextPtr context, RequestedChanges changes,
                   Callback<void(RequestContext&, std::vector<metadata::ApiError> const&)> done);

template <class Response>
void reply_altered(RequestContext& context, RequestedChanges const& changes,
                   std::vector<metadata::ApiError> const& errors) {
  Response response;
  response.responses = context.arena().array<typename Response::AlterConfigsResourceResponse>(errors.size());
  for (size_t i = 0; i < errors.size(); ++i) {
    auto& out = response.responses[i];
    out.error_code = errors[i].code;
    out.error_message = errors[i].message ? std::optional<Str>(*errors[i].message) : std::nullopt;
    out.resource_type = changes.resources[i].type;
    out.resource_name = changes.resources[i].name;
  }
  context.reply(response);
}

// The same for both requests, whose fields have the same names.
template <class Request, class ToConfig>
RequestedChanges requested_changes(Request const& request, ToConfig to_config) {
  RequestedChanges changes;
  changes.validate_only = request.validate_only;
  for (auto const& resource : request.resources) {
    auto& out = changes.resources.emplace_back();
    out.type = resource.resource_type;
    out.name = resource.resource_name;
    for (auto const& config : resource.configs) out.configs.push_back(to_config(config));
  }
  return changes;
}

}  // namespace millrace::broker
