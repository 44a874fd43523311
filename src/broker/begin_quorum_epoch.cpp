// BeginQuorumEpoch: the leader of an epoch makes itself known.
#include "millrace/protocol/api/begin_quorum_epoch.h"
#include "handlers.h"
#include "raft_requests.h"

namespace millrace::broker {

void handle_begin_quorum_epoch(ContextPtr context) {
  protocol::BeginQuorumEpochRequest request;
  if (!context->decode(request)) return;
  raft::BeginEpochRequest begin;
  std::optional<runtime::RaftAddress> leader;
  begin.addressing = raft_addressing(*context, request);
  if (begin.addressing.is_metadata_log) {
    auto const& partition = request.topics[0].partitions[0];
    begin.voter = {BrokerId{request.voter_id}, partition.voter_directory_id};
    begin.leader = BrokerId{partition.leader_id};
    begin.epoch = LeaderEpoch{partition.leader_epoch};
    if (begin.addressing.is_same_cluster) leader = leader_address(request.leader_endpoints, partition.leader_id);
  }
  ask_quorum(std::move(context), std::move(begin), std::move(leader),
             [](RequestContext& c, runtime::RaftAnswer const& answer) {
               reply_election<protocol::BeginQuorumEpochResponse, raft::BeginEpochResponse>(c, answer,
                                                                                            [](auto&, auto const&) {});
             });
}

}  // namespace millrace::broker
