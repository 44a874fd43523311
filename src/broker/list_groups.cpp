// ListGroups: the groups that this node coordinates.
#include "millrace/protocol/api/list_groups.h"
#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using protocol::ListGroupsResponse;

void reply(RequestContext& context, std::vector<coordinator::ListAnswer> const& answers) {
  ListGroupsResponse response;
  ArrayBuilder<ListGroupsResponse::ListedGroup> groups(context.arena());
  for (auto const& answer : answers) {
    // Groups of a partition that has just moved away are told by the other node.
    if (answer.error == ErrorCode::not_coordinator) continue;
    if (answer.error != ErrorCode::none) response.error_code = answer.error;
    for (auto const& group : answer.groups) groups.add({group.id, group.protocol_type, group.state, group.type});
  }
  if (response.error_code == ErrorCode::none) response.groups = groups.finish();
  context.reply(response);
}

}  // namespace

void handle_list_groups(ContextPtr context) {
  protocol::ListGroupsRequest request;
  if (!context->decode(request)) return;
  coordinator::ListGroups list;
  for (auto const state : request.states_filter) list.states.emplace_back(state);
  for (auto const type : request.types_filter) list.types.emplace_back(type);
  auto& services = context->services();
  auto& thread = context->thread();
  services.groups.submit_to_all(
      list, thread.reactor,
      [context = std::move(context)](std::vector<coordinator::ListAnswer> answers) { reply(*context, answers); },
      thread.run_list);
}

}  // namespace millrace::broker
