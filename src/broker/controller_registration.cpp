// ControllerRegistration: where a controller is reached, and what it supports. UnregisterController: it is gone for good.
#include "handlers.h"
#include "millrace/protocol/api/controller_registration.h"
#include "millrace/protocol/api/unregister_controller.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {
namespace {

constexpr Duration kControllerTimeout = 30s;

}  // namespace

void handle_controller_registration(ContextPtr context) {
  protocol::ControllerRegistrationRequest request;
  if (!context->decode(request)) return;
  metadata::RegisterController to_controller;
  auto& controller = to_controller.controller;
  controller.id = request.controller_id;
  controller.incarnation_id = request.incarnation_id;
  controller.is_zk_migration_ready = request.zk_migration_ready;
  for (auto const& l : request.listeners) {
    controller.endpoints.push_back({std::string(l.name), std::string(l.host), l.port, l.security_protocol});
  }
  for (auto const& f : request.features) {
    controller.features.push_back({std::string(f.name), f.min_supported_version, f.max_supported_version});
  }
  auto& client = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kControllerTimeout;
  runtime::submit_as<metadata::RegisterControllerAnswer>(
      client, std::move(to_controller), deadline, reactor,
      [context = std::move(context)](metadata::RegisterControllerAnswer const& answer) {
        protocol::ControllerRegistrationResponse response;
        response.error_code = answer.error.code;
        if (answer.error.message) response.error_message = Str(*answer.error.message);
        context->reply(response);
      });
}

void handle_unregister_controller(ContextPtr context) {
  protocol::UnregisterControllerRequest request;
  if (!context->decode(request)) return;
  auto& client = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kControllerTimeout;
  runtime::submit_as<metadata::UnregisterControllerAnswer>(
      client, metadata::UnregisterController{request.controller_id}, deadline, reactor,
      [context = std::move(context)](metadata::UnregisterControllerAnswer const& answer) {
        protocol::UnregisterControllerResponse response;
        response.error_code = answer.error.code;
        if (answer.error.message) response.error_message = Str(*answer.error.message);
        context->reply(response);
      });
}

}  // namespace millrace::broker
