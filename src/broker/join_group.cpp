// JoinGroup: asks to be in the next generation of a classic group; answered when it begins.
#include "millrace/protocol/api/join_group.h"
#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using protocol::JoinGroupRequest;
using protocol::JoinGroupResponse;

constexpr int16_t kFirstVersionWithRebalanceTimeout = 1;
constexpr int16_t kFirstVersionWithKnownMemberId = 4;
constexpr int16_t kFirstVersionWithNullableProtocol = 7;
constexpr int16_t kFirstVersionWithSkippedAssignment = 9;

void reply(RequestContext& context, coordinator::JoinAnswer const& answer) {
  JoinGroupResponse response;
  response.error_code = answer.error;
  response.generation_id = answer.generation;
  response.protocol_type = view(answer.protocol_type);
  response.protocol_name = view(answer.protocol);
  if (context.version() < kFirstVersionWithNullableProtocol && !response.protocol_name) response.protocol_name = "";
  response.leader = answer.leader;
  response.skip_assignment = answer.skip_assignment;
  response.member_id = answer.member_id;
  response.members = context.arena().array<JoinGroupResponse::JoinGroupResponseMember>(answer.members.size());
  for (size_t i = 0; i < answer.members.size(); ++i) {
    auto const& member = answer.members[i];
    response.members[i] = {member.id, view(member.instance_id), as_bytes(coordinator::text_of(member.metadata))};
  }
  context.reply(response);
}

}  // namespace

void handle_join_group(ContextPtr context) {
  JoinGroupRequest request;
  if (!context->decode(request)) return;
  auto const version = context->version();
  coordinator::JoinGroup join;
  join.group_id = request.group_id;
  join.member_id = request.member_id;
  join.instance_id = owned(request.group_instance_id);
  join.client_id = context->header().client_id.value_or("");
  join.client_host = "/" + context->connection().peer.ip;  // as Java prints an address
  join.session_timeout_ms = request.session_timeout_ms;
  join.rebalance_timeout_ms =
      version < kFirstVersionWithRebalanceTimeout ? request.session_timeout_ms : request.rebalance_timeout_ms;
  join.protocol_type = request.protocol_type;
  join.protocols.reserve(request.protocols.size());
  for (auto const& protocol : request.protocols) {
    join.protocols.push_back({std::string(protocol.name), coordinator::make_blob(protocol.metadata)});
  }
  join.wants_known_member_id = version >= kFirstVersionWithKnownMemberId;
  join.can_skip_assignment = version >= kFirstVersionWithSkippedAssignment;
  join.unique = context->services().env.random_uuid();
  auto const group_id = join.group_id;
  ask_coordinator<coordinator::JoinAnswer>(std::move(context), std::move(join), group_id, reply);
}

}  // namespace millrace::broker
