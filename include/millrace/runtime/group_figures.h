// What operators see of the groups. Copied out of the coordinators, so that no group waits for whoever looks.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"

namespace millrace::runtime {

struct FiguresRequest {
  std::optional<std::string> group_id;  // none: all
  size_t offset_count_max = 10'000;     // of committed offsets, over all groups, in the order of their names
};

struct GroupOffset {
  std::string topic;
  Uuid topic_id;  // zero: not known
  int32_t partition{};
  Offset committed;
};

struct GroupFigures {
  std::string id;
  std::string_view state;
  int64_t member_count{};
  std::vector<GroupOffset> offsets;
};

struct CoordinatorFigures {
  std::vector<GroupFigures> groups;  // by id
  int64_t coordinators{};            // partitions of __consumer_offsets that are led here
  int64_t coordinators_loading{};
  int64_t offset_count{};            // committed offsets there are, also those that were left out
  int64_t offsets_left_out{};        // for offset_count_max
  int64_t requests{};                // ever
  int64_t requests_queued{};         // now
  int64_t rebalances{};              // generations begun, ever

  void add(CoordinatorFigures other);
  // Sorts, and leaves out what is too much.
  void finish(size_t offset_count_max);
};

}  // namespace millrace::runtime
