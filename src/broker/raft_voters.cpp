// AddRaftVoter and RemoveRaftVoter: the quorum is this node alone, and stays so.
#include "handlers.h"
#include "millrace/protocol/api/add_raft_voter.h"
#include "millrace/protocol/api/remove_raft_voter.h"

namespace millrace::broker {
namespace {

template <class Request, class Response>
void refuse(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  auto const& own = context->services().config.cluster_id;
  Response response;
  std::string message = "The voters of the metadata quorum cannot be changed by this version.";
  response.error_code = ErrorCode::unsupported_version;
  if (request.cluster_id && *request.cluster_id != own) {
    response.error_code = ErrorCode::inconsistent_cluster_id;
    message = fmt::format("The cluster is {}, not {}.", own, *request.cluster_id);
  }
  response.error_message = message;
  context->reply(response);
}

}  // namespace

void handle_add_raft_voter(ContextPtr context) {
  refuse<protocol::AddRaftVoterRequest, protocol::AddRaftVoterResponse>(std::move(context));
}
void handle_remove_raft_voter(ContextPtr context) {
  refuse<protocol::RemoveRaftVoterRequest, protocol::RemoveRaftVoterResponse>(std::move(context));
}

}  // namespace millrace::broker
