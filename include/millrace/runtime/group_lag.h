// How far groups are behind: in records, and in time since the first record that a group has not committed was appended
// here. Remembers when each group last made progress, which is what tells a stuck one from a slow one.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/runtime/group_figures.h"

namespace millrace::runtime {

// The partitions' side of it. One call after the other.
class LagSource {
 public:
  struct Marks {
    Offset log_start;
    Offset high_watermark;
  };
  virtual ~LagSource() = default;
  // None: no such partition on this node, or its log is not open. What follows is asked of the partition found last.
  virtual std::optional<Marks> find(GroupOffset const& offset) = 0;
  virtual std::optional<int64_t> append_time_ms(Offset offset) = 0;
};

struct PartitionLag {
  std::string topic;
  int32_t partition{};
  Offset committed;
  std::optional<Offset> end;  // the high watermark; none: the log is not here, and nothing below is known
  int64_t lag_records{};
  int64_t lag_ms{};
  bool is_stuck = false;  // for so long there was no commit that moved, while the lag grew
};

struct GroupLag {
  std::string id;
  std::string_view state;
  int64_t member_count{};
  std::vector<PartitionLag> partitions;
};

// Not thread-safe.
class LagTracker {
 public:
  explicit LagTracker(Duration stuck_after) : stuck_after_(stuck_after) {}

  // `is_complete`: what is not among `groups` has gone, and is forgotten.
  std::vector<GroupLag> update(std::vector<GroupFigures> const& groups, bool is_complete, LagSource& source, Mono now,
                               Wall wall);

 private:
  struct History {
    Offset committed;
    Mono progress_at;
    int64_t lag_then{};
    Offset timed{-1};  // whose append time is known
    int64_t append_time_ms{};
    uint64_t seen{};   // in this update
  };

  Duration const stuck_after_;
  uint64_t update_ = 0;
  std::unordered_map<std::string, History> history_;
  std::string key_;
};

}  // namespace millrace::runtime
