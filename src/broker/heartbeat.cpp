// Heartbeat: a member of a classic group is alive, and asks whether it must join again.
#include "millrace/protocol/api/heartbeat.h"

#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {

void handle_heartbeat(ContextPtr context) {
  protocol::HeartbeatRequest request;
  if (!context->decode(request)) return;
  coordinator::Heartbeat heartbeat{.ticket = 0,
                                   .group_id = std::string(request.group_id),
                                   .generation = request.generation_id,
                                   .member_id = std::string(request.member_id),
                                   .instance_id = owned(request.group_instance_id)};
  auto const group_id = heartbeat.group_id;
  ask_coordinator<coordinator::HeartbeatAnswer>(std::move(context), std::move(heartbeat), group_id,
                                                [](RequestContext& back, coordinator::HeartbeatAnswer const& answer) {
                                                  protocol::HeartbeatResponse response;
                                                  response.error_code = answer.error;
                                                  back.reply(response);
                                                });
}

}  // namespace millrace::broker
