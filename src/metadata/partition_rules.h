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

}  // namespace millrace::metadata
