// What one partition's log is told by its topic configuration. Plain values: the driver replaces them when the
// configuration changes.
#pragma once
#include <cstdint>
#include <limits>

#include "millrace/base/units.h"

namespace millrace::storage {

struct LogConfig {
  int64_t segment_bytes = 1_GiB;                        // segment.bytes
  int64_t segment_age_ms_max = 7LL * 24 * 3600 * 1000;  // segment.ms, by record time
  int64_t segment_jitter_ms_max = 0;                    // segment.jitter.ms
  int64_t index_bytes_max = 10_MiB;                     // segment.index.bytes
  int64_t index_interval_bytes = 4096;                  // index.interval.bytes
  int64_t retention_bytes = -1;                         // retention.bytes, -1: no limit
  int64_t retention_ms = 7LL * 24 * 3600 * 1000;        // retention.ms, -1: no limit
  bool is_deleting = true;                              // cleanup.policy holds `delete`
  bool is_compacting = false;                           // cleanup.policy holds `compact`
  int64_t delete_retention_ms = 24LL * 3600 * 1000;     // delete.retention.ms
  int64_t compaction_lag_ms_min = 0;                    // min.compaction.lag.ms
  int64_t compaction_lag_ms_max = std::numeric_limits<int64_t>::max();  // max.compaction.lag.ms
  double cleanable_dirty_ratio_min = 0.5;               // min.cleanable.dirty.ratio
  int64_t producer_expiry_ms = 24LL * 3600 * 1000;      // producer.id.expiration.ms (node-wide)
};

}  // namespace millrace::storage
