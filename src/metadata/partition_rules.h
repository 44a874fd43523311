// What elections and in-sync sets go by, as of one image.
#pragma once
#include "millrace/metadata/controller.h"
#include "millrace/metadata/partition_change.h"

namespace millrace::metadata {

struct TopicRules {
  int32_t min_isr = 1;           // not above the topic's replication factor
  bool allows_unclean = false;   // unclean.leader.election.enable
};
TopicRules topic_rules(Image const& tip, ControllerConfig const& config, TopicImage const& topic);

// Registered under just this epoch.
bool is_current_broker(Image const& tip, BrokerId id, int64_t epoch);

// Active, and the replica's directory is in service.
bool may_lead(Image const& tip, PartitionImage const& partition, BrokerId id);

// Takes `broker` out of the partition's sets, and assigns its replica to `directory` if one is given.
void add_replica_removal(RecordList& out, Image const& tip, ControllerConfig const& config, TopicRules const& rules,
                         TopicImage const& topic, int32_t index, PartitionImage const& partition, BrokerId broker,
                         std::optional<DirectoryId> directory);

// Topics that may have a replica on `broker`; `visit(topic)` ends the walk with false, which is then returned.
template <class F>
bool for_each_topic_on(Image const& tip, BrokerId broker, F visit) {
  auto const* topics = tip.topics_by_broker.find(broker);
  return topics == nullptr || topics->for_each([&](TopicId const& id, bool) { return visit(*tip.find_topic(id)); });
}

}  // namespace millrace::metadata
