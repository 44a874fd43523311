// ControllerRegistration: where a controller is reached, and what it supports. UnregisterController: it is gone for
// good.
#include "millrace/protocol/api/controller_registration.h"
#include "ask_controller.h"
#include "handlers.h"
#include "millrace/protocol/api/unregister_controller.h"

namespace millrace::broker {

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
  ask_controller<metadata::RegisterControllerAnswer>(
      std::move(context), std::move(to_controller),
      [](RequestContext& back, metadata::RegisterControllerAnswer const& answer) {
        protocol::ControllerRegistrationResponse response;
        response.error_code = answer.error.code;
        if (answer.error.message) response.error_message = Str(*answer.error.message);
        back.reply(response);
      });
}

void handle_unregister_controller(ContextPtr context) {
  protocol::UnregisterControllerRequest request;
  if (!context->decode(request)) return;
  ask_controller<metadata::UnregisterControllerAnswer>(
      std::move(context), metadata::UnregisterController{request.controller_id},
      [](RequestContext& back, metadata::UnregisterControllerAnswer const& answer) {
        protocol::UnregisterControllerResponse response;
        response.error_code = answer.error.code;
        if (answer.error.message) response.error_message = Str(*answer.error.message);
        back.reply(response);
      });
}

}  // namespace millrace::broker
