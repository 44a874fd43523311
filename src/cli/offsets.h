// Offsets of partitions by ListOffsets: one request to each leader.
#pragma once
#include <map>

#include "cluster.h"
#include "millrace/base/ids.h"

namespace millrace::cli {

// What ListOffsets takes in place of a time.
inline constexpr int64_t kLatestTimestamp = -1;
inline constexpr int64_t kEarliestTimestamp = -2;
inline constexpr int64_t kMaxTimestamp = -3;
inline constexpr int64_t kEarliestLocalTimestamp = -4;
inline constexpr int64_t kLatestTieredTimestamp = -5;
inline constexpr int64_t kEarliestPendingUploadTimestamp = -6;

struct FoundOffset {
  int64_t offset = -1;     // -1: there is none
  int64_t timestamp = -1;  // of the record there, when it was looked for by time
  int32_t leader_epoch = -1;
  ErrorCode error{};
};

// Answers for all partitions of `timestamps`, some of them with an error. Leaders that move are asked again for a
// while. unsupported: a server is too old for a timestamp.
Result<std::map<TopicPartition, FoundOffset>> list_offsets(Cluster& cluster,
                                                           std::map<TopicPartition, int64_t> const& timestamps,
                                                           bool read_committed = false);
// The same timestamp for all.
Result<std::map<TopicPartition, FoundOffset>> list_offsets(Cluster& cluster,
                                                           std::vector<TopicPartition> const& partitions,
                                                           int64_t timestamp, bool read_committed = false);

// Every partition of `topics` (of all without them, the cluster's own excepted). not_found: one does not exist.
Result<std::vector<TopicPartition>> partitions_of(Cluster& cluster, std::vector<std::string> const& topics);

// `TOPIC`, all its partitions, or `TOPIC:0,1`. invalid: malformed, or there is no such partition.
Result<std::vector<TopicPartition>> parse_partitions(Cluster& cluster, std::vector<std::string> const& texts);

}  // namespace millrace::cli
