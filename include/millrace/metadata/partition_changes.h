// Counts what publications change of partitions, for metrics, and names the elections that an operator must hear of.
#pragma once
#include <string>
#include <vector>

#include "millrace/metadata/delta.h"

namespace millrace::metadata {

// Nobody was left who was known to have everything that was acknowledged.
struct UncleanElection {
  std::string topic;
  int32_t partition{};
  BrokerId leader;
  LeaderEpoch epoch;
  bool is_last_known = false;  // it led last (KIP-966); else unclean elections are allowed, or somebody asked for one
  friend bool operator==(UncleanElection const&, UncleanElection const&) = default;
};

struct PartitionChanges {
  int64_t isr_shrinks = 0, isr_expands = 0;  // of partitions that this node leads
  int64_t leaders = 0;                       // in the cluster: another leader than before
  int64_t unclean_leaders = 0;               // that may lack what was acknowledged

  // Returns the unclean elections among them.
  std::vector<UncleanElection> add(Publication const& publication, BrokerId self);
};

}  // namespace millrace::metadata
