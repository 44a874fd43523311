// DescribeGroups: state and members of classic groups.
#include "millrace/protocol/api/describe_groups.h"
#include "group_requests.h"
#include "handlers.h"
#include "repeats.h"

namespace millrace::broker {
namespace {

using protocol::DescribeGroupsRequest;
using protocol::DescribeGroupsResponse;

// With messages too. Before, a group that does not exist is a dead one.
constexpr int16_t kFirstVersionWithGroupIdNotFound = 6;

void describe(RequestContext& context, DescribeGroupsResponse::DescribedGroup& out,
              coordinator::DescribeAnswer const& answer, bool with_operations) {
  out.error_code = answer.error;
  if (answer.error == ErrorCode::group_id_not_found) {
    if (context.version() < kFirstVersionWithGroupIdNotFound)
      out.error_code = ErrorCode::none;
    else
      out.error_message = context.arena().copy(Str(fmt::format("Group {} not found.", out.group_id)));
  }
  out.group_state = answer.state;
  out.protocol_type = answer.protocol_type;
  out.protocol_data = answer.protocol;
  out.members = context.arena().array<DescribeGroupsResponse::DescribedGroupMember>(answer.members.size());
  for (size_t i = 0; i < answer.members.size(); ++i) {
    auto const& member = answer.members[i];
    out.members[i] = {member.id,
                      view(member.instance_id),
                      member.client_id,
                      member.client_host,
                      as_bytes(coordinator::text_of(member.metadata)),
                      as_bytes(coordinator::text_of(member.assignment))};
  }
  if (with_operations && out.error_code == ErrorCode::none) out.authorized_operations = kGroupOperations;
}

}  // namespace

void handle_describe_groups(ContextPtr context) {
  DescribeGroupsRequest request;
  if (!context->decode(request)) return;
  std::vector<coordinator::DescribeGroup> requests;
  std::vector<bool> is_asked;
  Repeats<Str> repeats;
  for (auto const group : request.groups) {
    is_asked.push_back(repeats.may_answer(group));
    if (is_asked.back()) requests.push_back({0, std::string(group)});
  }
  ask_coordinators<coordinator::DescribeAnswer>(
      std::move(context), std::move(requests),
      [request, is_asked = std::move(is_asked)](RequestContext& back, std::vector<coordinator::DescribeAnswer> const& answers) {
        DescribeGroupsResponse response;
        response.groups = back.arena().array<DescribeGroupsResponse::DescribedGroup>(is_asked.size());
        auto answer = answers.begin();
        for (size_t i = 0; i < is_asked.size(); ++i) {
          auto& out = response.groups[i];
          out.group_id = request.groups[i];
          if (is_asked[i]) {
            describe(back, out, *answer++, request.include_authorized_operations);
          } else {
            out.error_code = ErrorCode::invalid_request;
            if (back.version() >= kFirstVersionWithGroupIdNotFound) out.error_message = "The request names this group too often.";
          }
        }
        back.reply(response);
      });
}

}  // namespace millrace::broker
