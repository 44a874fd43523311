// EndQuorumEpoch: a leader gives its epoch up and says who should follow.
#include "millrace/protocol/api/end_quorum_epoch.h"
#include "handlers.h"
#include "raft_requests.h"

namespace millrace::broker {

void handle_end_quorum_epoch(ContextPtr context) {
  protocol::EndQuorumEpochRequest request;
  if (!context->decode(request)) return;
  raft::EndEpochRequest end;
  std::optional<runtime::RaftAddress> leader;
  end.addressing = raft_addressing(*context, request);
  if (end.addressing.is_metadata_log) {
    auto const& partition = request.topics[0].partitions[0];
    end.leader = BrokerId{partition.leader_id};
    end.epoch = LeaderEpoch{partition.leader_epoch};
    for (auto const& candidate : partition.preferred_candidates) {
      end.preferred_successors.push_back({BrokerId{candidate.candidate_id}, candidate.candidate_directory_id});
    }
    if (partition.preferred_candidates.empty()) {
      for (auto const id : partition.preferred_successors) end.preferred_successors.push_back({BrokerId{id}, {}});
    }
    if (end.addressing.is_same_cluster) leader = leader_address(request.leader_endpoints, partition.leader_id);
  }
  ask_quorum(
      std::move(context), std::move(end), std::move(leader), [](RequestContext& c, runtime::RaftAnswer const& answer) {
        reply_election<protocol::EndQuorumEpochResponse, raft::EndEpochResponse>(c, answer, [](auto&, auto const&) {});
      });
}

}  // namespace millrace::broker
