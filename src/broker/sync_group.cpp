// SyncGroup: the leader brings the assignment of a generation, every member takes its own.
#include "millrace/protocol/api/sync_group.h"
#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using protocol::SyncGroupRequest;
using protocol::SyncGroupResponse;

constexpr int16_t kFirstVersionWithProtocol = 5;

void reply(RequestContext& context, coordinator::SyncAnswer const& answer) {
  SyncGroupResponse response;
  response.error_code = answer.error;
  response.protocol_type = view(answer.protocol_type);
  response.protocol_name = view(answer.protocol);
  response.assignment = as_bytes(coordinator::text_of(answer.assignment));
  context.reply(response);
}

}  // namespace

void handle_sync_group(ContextPtr context) {
  SyncGroupRequest request;
  if (!context->decode(request)) return;
  if (context->version() >= kFirstVersionWithProtocol && (!request.protocol_type || !request.protocol_name)) {
    return reply(*context, {ErrorCode::inconsistent_group_protocol, {}, {}, {}});
  }
  coordinator::SyncGroup sync{.ticket = 0,
                              .group_id = std::string(request.group_id),
                              .generation = request.generation_id,
                              .member_id = std::string(request.member_id),
                              .instance_id = owned(request.group_instance_id),
                              .protocol_type = owned(request.protocol_type),
                              .protocol = owned(request.protocol_name),
                              .assignments = {}};
  sync.assignments.reserve(request.assignments.size());
  for (auto const& one : request.assignments) {
    sync.assignments.emplace_back(std::string(one.member_id), coordinator::make_blob(one.assignment));
  }
  auto const group_id = sync.group_id;
  ask_coordinator<coordinator::SyncAnswer>(std::move(context), std::move(sync), group_id, reply);
}

}  // namespace millrace::broker
