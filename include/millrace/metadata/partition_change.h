// How a partition's leader and in-sync set change when a broker comes, goes, or stops without having flushed: the one
// place that turns a wish into a PartitionChangeRecord (KIP-966: eligible leader replicas).
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "millrace/metadata/image.h"
#include "millrace/metadata/records.h"

namespace millrace::metadata {

struct PartitionChange {
  TopicId topic_id;
  int32_t index{};
  PartitionImage const* partition{};
  int32_t min_isr = 1;
  bool elr_enabled = true;
  bool allow_unclean = false;                              // unclean.leader.election.enable of the topic
  std::function<bool(BrokerId)> is_acceptable_leader;      // active, and not going away
  std::vector<BrokerId> target_isr;                        // defaults to the present one
  std::vector<BrokerId> unclean_shutdown;                  // lost what they had not synced: out of ISR and ELR
};

// Adds the record, if anything changes. Returns whether it did.
bool add_partition_change(RecordList& out, PartitionChange change, int16_t metadata_version);

}  // namespace millrace::metadata
