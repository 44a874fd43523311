// Which replica a consumer is sent to: one in its own rack, if there is one that has what it asks for (KIP-392).
#pragma once
#include "millrace/broker/context.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::broker {

// kNoBroker: it stays with the leader, this node.
inline BrokerId nearest_replica(metadata::Image const& image, runtime::PartitionDriver const& partition, BrokerId self,
                                Str rack, Offset offset) {
  auto const is_near = [&](BrokerId id) {
    auto const* broker = image.find_broker(id);
    return broker != nullptr && !broker->is_fenced && broker->rack && *broker->rack == rack;
  };
  if (is_near(self)) return kNoBroker;
  std::optional<replication::FollowerView> best;
  for (auto const& follower : partition.followers()) {
    // One that lags would be chosen again and again, and its reader would fall behind with it.
    bool const has_offset = follower.is_in_sync && follower.end_offset >= offset && follower.log_start_offset <= offset;
    if (!has_offset || follower.log_start_offset < Offset(0) || !is_near(follower.id)) continue;
    auto const rank = [](replication::FollowerView const& f) { return std::tuple(f.end_offset, f.caught_up_at, f.id); };
    if (!best || rank(*best) < rank(follower)) best = follower;
  }
  return best ? best->id : kNoBroker;
}

}  // namespace millrace::broker
