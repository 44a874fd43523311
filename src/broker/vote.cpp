// Vote: a voter asks for this node's vote in a new epoch, or whether it would get it (pre-vote).
#include "millrace/protocol/api/vote.h"
#include "handlers.h"
#include "raft_requests.h"

namespace millrace::broker {

void handle_vote(ContextPtr context) {
  protocol::VoteRequest request;
  if (!context->decode(request)) return;
  raft::VoteRequest vote;
  vote.addressing = raft_addressing(*context, request);
  if (vote.addressing.is_metadata_log) {
    auto const& partition = request.topics[0].partitions[0];
    vote.candidate = {BrokerId{partition.replica_id}, partition.replica_directory_id};
    vote.voter = {BrokerId{request.voter_id}, partition.voter_directory_id};
    vote.epoch = LeaderEpoch{partition.replica_epoch};
    vote.last = {Offset{partition.last_offset}, LeaderEpoch{partition.last_offset_epoch}};
    vote.is_pre_vote = partition.pre_vote;
  }
  ask_quorum(std::move(context), std::move(vote), std::nullopt,
             [](RequestContext& c, runtime::RaftAnswer const& answer) {
               reply_election<protocol::VoteResponse, raft::VoteResponse>(
                   c, answer, [](auto& partition, auto const& out) { partition.vote_granted = out.is_granted; });
             });
}

}  // namespace millrace::broker
