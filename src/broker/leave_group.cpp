// LeaveGroup: one member leaves, or since version 3 several are taken out.
#include "millrace/protocol/api/leave_group.h"
#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using protocol::LeaveGroupRequest;
using protocol::LeaveGroupResponse;

constexpr int16_t kFirstVersionWithMembers = 3;

}  // namespace

void handle_leave_group(ContextPtr context) {
  LeaveGroupRequest request;
  if (!context->decode(request)) return;
  bool const is_one = context->version() < kFirstVersionWithMembers;
  coordinator::LeaveGroup leave;
  leave.group_id = request.group_id;
  if (is_one) leave.members.push_back({std::string(request.member_id), {}});
  for (auto const& member : request.members) {
    leave.members.push_back({std::string(member.member_id), owned(member.group_instance_id)});
  }
  auto const members = leave.members;
  auto const group_id = leave.group_id;
  ask_coordinator<coordinator::LeaveAnswer>(
      std::move(context), std::move(leave), group_id,
      [is_one, members](RequestContext& back, coordinator::LeaveAnswer const& answer) {
        LeaveGroupResponse response;
        response.error_code = answer.error;
        if (is_one) {
          if (answer.error == ErrorCode::none) response.error_code = answer.members[0];
          return back.reply(response);
        }
        response.members = back.arena().array<LeaveGroupResponse::MemberResponse>(answer.members.size());
        for (size_t i = 0; i < answer.members.size(); ++i) {
          response.members[i] = {members[i].member_id, view(members[i].instance_id), answer.members[i]};
        }
        back.reply(response);
      });
}

}  // namespace millrace::broker
