#include "cluster_view.h"

#include <algorithm>

namespace millrace::broker {

std::optional<Node> find_node(RequestContext& context, metadata::BrokerImage const& broker) {
  auto const& connection = context.connection();
  auto const* endpoint = broker.find_endpoint(connection.listener_name);
  auto const& config = context.services().config;
  Node node{broker.id, {}, 0, broker.rack ? std::optional<Str>(*broker.rack) : std::nullopt, broker.is_fenced};
  if (broker.id == config.node_id) {
    auto const listener = std::find_if(config.listeners.begin(), config.listeners.end(),
                                       [&](AdvertisedListener const& l) { return l.name == connection.listener_name; });
    if (listener != config.listeners.end() && listener->host.empty()) {
      node.host = context.arena().copy(Str(connection.local.ip));
      node.port = connection.local.port;
      return node;
    }
  }
  if (endpoint == nullptr) return std::nullopt;
  node.host = endpoint->host;
  node.port = endpoint->port;
  return node;
}

std::vector<Node> reachable_nodes(RequestContext& context, bool with_fenced) {
  std::vector<Node> out;
  context.image().brokers.for_each([&](BrokerId, auto const& broker) {
    if (broker->is_fenced && !with_fenced) return;
    if (auto node = find_node(context, *broker)) out.push_back(*node);
  });
  return out;
}

BrokerId any_active_broker(RequestContext& context) {
  auto const self = context.services().config.node_id;
  auto found = kNoBroker;
  context.image().brokers.for_each([&](BrokerId id, auto const& broker) {
    if (broker->is_fenced) return true;
    if (found == kNoBroker || id == self) found = id;
    return found != self;
  });
  return found;
}

Array<int32_t> broker_ids(RequestContext& context, std::vector<BrokerId> const& ids) {
  auto out = context.arena().array<int32_t>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) out[i] = ids[i].value;
  return out;
}

}  // namespace millrace::broker
