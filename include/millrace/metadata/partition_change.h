// How a partition's leader and in-sync set change when a broker comes, goes, or stops without having flushed: the one
// place that turns a wish into a PartitionChangeRecord (KIP-966: eligible leader replicas).
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/metadata/image.h"
#include "millrace/metadata/records.h"

namespace millrace::metadata {

enum class Election : uint8_t {
  online,     // keep the leader if it may lead, else the first replica in sync
  preferred,  // the first replica if it may lead, else as `online`
  unclean,    // as `online`, and rather a replica that may have lost records than none
};

struct PartitionChange {
  TopicId topic_id;
  int32_t index{};
  PartitionImage const& partition;
  int32_t min_isr = 1;                                 // not above the topic's replication factor
  bool elr_enabled = true;
  Election election = Election::online;
  std::function<bool(BrokerId)> const& may_lead;       // active, not going away, its directory in service
  std::vector<BrokerId> target_isr = partition.isr;
  std::vector<BrokerId> unclean_shutdown = {};         // lost what they had not synced: out of the ELR
  std::optional<LeaderRecoveryState> recovery_state = std::nullopt;  // as the leader reports it
  std::optional<std::pair<BrokerId, DirectoryId>> directory = std::nullopt;
  Hooks& hooks = Hooks::none();
};

// Adds the record, if anything changes, and gives the partition as it will be; none when it stays as it is.
std::optional<PartitionImage> add_partition_change(RecordList& out, PartitionChange const& change, int16_t metadata_version);

}  // namespace millrace::metadata
