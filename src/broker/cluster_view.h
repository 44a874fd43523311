// The cluster as one client sees it: through the listener that it came in by.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "millrace/broker/context.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {

struct Node {
  BrokerId id;
  Str host;  // of the image, the configuration or the context's arena
  uint16_t port{};
  std::optional<Str> rack;
  bool is_fenced = false;
};

// Where this client reaches `broker`. This node, when its listener has no advertised host, is where the client
// connected to. Null: the broker has no such listener.
std::optional<Node> find_node(RequestContext& context, metadata::BrokerImage const& broker);

// All brokers that this client can reach, by id.
std::vector<Node> reachable_nodes(RequestContext& context, bool with_fenced);

// A broker that clients may send controller requests to, since every broker takes them; this node if it is active.
BrokerId any_active_broker(RequestContext& context);

// Everything is allowed as long as there is no authoriser.
inline constexpr int32_t kClusterOperations = 0x1fa0;
inline constexpr int32_t kTopicOperations = 0xdf8;

// ids in the arena.
Array<int32_t> broker_ids(RequestContext& context, std::vector<BrokerId> const& ids);

}  // namespace millrace::broker
