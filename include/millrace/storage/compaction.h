// One pass of compaction over one log, as Kafka makes it: of each key the newest record stays, tombstones go once their
// time is over, batches keep their base offsets and last sequences, the active segment is not touched. The work comes
// in steps for a pool; what a step wrote joins the log by PartitionLog::install(). docs/log-format.md tells the files.
#pragma once
#include <cstdint>
#include <memory>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/bytes/hash.h"
#include "millrace/storage/partition_log.h"

namespace millrace::storage {

// Whether a log is worth a pass.
struct CompactionNeed {
  int64_t clean_bytes{};
  int64_t dirty_bytes{};    // closed, and never looked at
  bool is_overdue = false;  // its oldest dirty record is older than max.compaction.lag.ms

  double dirty_ratio() const {
    auto const all = clean_bytes + dirty_bytes;
    return all == 0 ? 0 : static_cast<double>(dirty_bytes) / static_cast<double>(all);
  }
  bool is_due(LogConfig const& config) const {
    return dirty_bytes > 0 && (is_overdue || dirty_ratio() > config.cleanable_dirty_ratio_min);
  }
};

struct CompactionRules {
  int64_t key_map_bytes_max = 128_MiB;  // log.cleaner.dedupe.buffer.size
  SipKey secret{};                      // of this process; for hashes of keys
};

struct CompactionStats {
  int64_t bytes_read{};
  int64_t bytes_written{};
  int64_t bytes_before{};  // of the segments that were replaced ...
  int64_t bytes_after{};   // ... and of what replaced them
  size_t key_count{};
  int64_t key_map_bytes{};
};

class Compaction {
 public:
  ~Compaction();
  Compaction(Compaction const&) = delete;
  Compaction& operator=(Compaction const&) = delete;

  enum class Next : uint8_t { step, install, done };
  // *blocks* Any thread, one call at a time, without the log's runner. Reads about `bytes_max` bytes and tells what
  // comes next. cancelled: the log was cut or deleted meanwhile; corrupt: a batch fails its check, and nothing was
  // changed; any error ends the pass, and drop() follows.
  Result<Next> step(int64_t bytes_max);
  // *blocks* Removes what was written and not installed.
  void drop();
  CompactionStats const& stats() const;
  PartitionLog& log() const;

 private:
  friend class PartitionLog;
  struct Body;
  explicit Compaction(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace millrace::storage
