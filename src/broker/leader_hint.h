// Who leads a partition and where it listens, as Produce and Fetch tell a client that asked the wrong broker.
#pragma once
#include "millrace/broker/context.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {

struct LeaderHint {
  BrokerId leader = kNoBroker;
  LeaderEpoch epoch{-1};
};

inline LeaderHint leader_hint(metadata::Image const& image, TopicId const& topic, int32_t partition) {
  auto const* found = image.find_partition(topic, partition);
  return found != nullptr ? LeaderHint{found->leader, found->leader_epoch} : LeaderHint{};
}

// Appends the endpoint of `leader` on the listener that the client came through, once.
template <class NodeEndpoint>
void add_endpoint(RequestContext& context, BrokerId leader, ArrayBuilder<NodeEndpoint>& endpoints,
                  std::vector<BrokerId>& known) {
  if (std::find(known.begin(), known.end(), leader) != known.end()) return;
  auto const* broker = context.image().find_broker(leader);
  auto const* endpoint = broker ? broker->find_endpoint(context.connection().listener_name) : nullptr;
  if (endpoint == nullptr) return;
  known.push_back(leader);
  NodeEndpoint out;
  out.node_id = leader.value;
  out.host = context.arena().copy(Str(endpoint->host));
  out.port = endpoint->port;
  if (broker->rack) out.rack = context.arena().copy(Str(*broker->rack));
  endpoints.add(out);
}

}  // namespace millrace::broker
