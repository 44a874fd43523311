// DeleteGroups: groups without members, with all that they have committed.
#include "millrace/protocol/api/delete_groups.h"
#include "group_requests.h"
#include "handlers.h"

namespace millrace::broker {
namespace {

using protocol::DeleteGroupsRequest;
using protocol::DeleteGroupsResponse;

}  // namespace

void handle_delete_groups(ContextPtr context) {
  DeleteGroupsRequest request;
  if (!context->decode(request)) return;
  std::vector<coordinator::DeleteGroup> requests;
  for (auto const group : request.groups_names) requests.push_back({0, std::string(group)});
  ask_coordinators<coordinator::DeleteGroupAnswer>(
      std::move(context), std::move(requests),
      [request](RequestContext& back, std::vector<coordinator::DeleteGroupAnswer> const& answers) {
        DeleteGroupsResponse response;
        response.results = back.arena().array<DeleteGroupsResponse::DeletableGroupResult>(answers.size());
        for (size_t i = 0; i < answers.size(); ++i) {
          auto& out = response.results[i];
          out.group_id = request.groups_names[i];
          out.error_code = answers[i].error;
          if (out.error_code == ErrorCode::none) continue;
          out.error_message = out.error_code == ErrorCode::group_id_not_found ? Str("The group id does not exist.")
                              : out.error_code == ErrorCode::non_empty_group  ? Str("The group is not empty.")
                                                                              : error_name(out.error_code);
        }
        back.reply(response);
      });
}

}  // namespace millrace::broker
