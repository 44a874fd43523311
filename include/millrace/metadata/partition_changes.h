// Counts what publications change of partitions, for metrics.
#pragma once
#include "millrace/metadata/delta.h"

namespace millrace::metadata {

struct PartitionChanges {
  int64_t isr_shrinks = 0, isr_expands = 0;  // of partitions that this node leads
  int64_t leaders = 0;                       // in the cluster: another leader than before
  int64_t unclean_leaders = 0;               // that may lack what was acknowledged

  void add(Publication const& publication, BrokerId self);
};

}  // namespace millrace::metadata
