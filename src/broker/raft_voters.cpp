// AddRaftVoter, RemoveRaftVoter and UpdateRaftVoter: the voters stay who they are. A voter that says where it is reached and
// what it supports is taken at its word while that is what is known of it.
#include "handlers.h"
#include "millrace/protocol/api/add_raft_voter.h"
#include "millrace/protocol/api/remove_raft_voter.h"
#include "millrace/protocol/api/update_raft_voter.h"
#include "millrace/runtime/controller_client.h"

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

ErrorCode check_update(protocol::UpdateRaftVoterRequest const& request, runtime::QuorumDescription const& quorum,
                       std::string const& cluster_id) {
  if (request.cluster_id && *request.cluster_id != cluster_id) return ErrorCode::inconsistent_cluster_id;
  if (request.current_leader_epoch < quorum.epoch.value) return ErrorCode::fenced_leader_epoch;
  if (request.current_leader_epoch > quorum.epoch.value) return ErrorCode::unknown_leader_epoch;
  if (!quorum.is_leader) return ErrorCode::not_leader_or_follower;
  // A static quorum stands in the configuration of each node: there is nothing to write down.
  if (quorum.kraft_version == 0) return ErrorCode::none;
  auto const voter = std::find_if(quorum.nodes.begin(), quorum.nodes.end(), [&](raft::Voter const& v) {
    return v.key.id == BrokerId{request.voter_id} && v.key.directory == request.voter_directory_id;
  });
  if (voter == quorum.nodes.end()) return ErrorCode::voter_not_found;
  bool const is_same = std::equal(request.listeners.begin(), request.listeners.end(), voter->endpoints.begin(),
                                  voter->endpoints.end(), [](auto const& told, raft::VoterEndpoint const& known) {
                                    return told.name == known.listener && told.host == known.host && told.port == known.port;
                                  });
  return is_same ? ErrorCode::none : ErrorCode::unsupported_version;
}

}  // namespace

void handle_update_raft_voter(ContextPtr context) {
  protocol::UpdateRaftVoterRequest request;
  if (!context->decode(request)) return;
  auto const quorum = context->services().controller.describe_quorum();
  protocol::UpdateRaftVoterResponse response;
  response.error_code = check_update(request, quorum, context->services().config.cluster_id);
  response.current_leader.leader_id = quorum.leader.value;
  response.current_leader.leader_epoch = quorum.epoch.value;
  for (auto const& node : quorum.nodes) {
    if (node.key.id != quorum.leader || node.endpoints.empty()) continue;
    response.current_leader.host = context->arena().copy(Str(node.endpoints.front().host));
    response.current_leader.port = node.endpoints.front().port;
  }
  context->reply(response);
}

void handle_add_raft_voter(ContextPtr context) {
  refuse<protocol::AddRaftVoterRequest, protocol::AddRaftVoterResponse>(std::move(context));
}
void handle_remove_raft_voter(ContextPtr context) {
  refuse<protocol::RemoveRaftVoterRequest, protocol::RemoveRaftVoterResponse>(std::move(context));
}

}  // namespace millrace::broker
