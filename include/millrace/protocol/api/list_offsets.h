#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ListOffsetsRequest {
  static constexpr ApiKey kKey = ApiKey::list_offsets;
  static constexpr Versions kValid{1, 11}, kFlexible{6, kLatest};

  struct ListOffsetsPartition {
    int32_t partition_index{};
    int32_t current_leader_epoch = -1;
    int64_t timestamp{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.current_leader_epoch, {"CurrentLeaderEpoch", since(4), kIgnorable});
      v(m.timestamp, {"Timestamp", since(0)});
    }
  };

  struct ListOffsetsTopic {
    Str name;
    Array<ListOffsetsPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t replica_id{};
  int8_t isolation_level{};
  Array<ListOffsetsTopic> topics;
  int32_t timeout_ms{};
  static void describe(auto& m, auto& v) {
    v(m.replica_id, {"ReplicaId", since(0)});
    v(m.isolation_level, {"IsolationLevel", since(2)});
    v(m.topics, {"Topics", since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(10), kIgnorable});
  }
  static MessageTable const& table();
};

struct ListOffsetsResponse {
  static constexpr ApiKey kKey = ApiKey::list_offsets;
  static constexpr Versions kValid{1, 11}, kFlexible{6, kLatest};

  struct ListOffsetsPartitionResponse {
    int32_t partition_index{};
    ErrorCode error_code{};
    int64_t timestamp = -1;
    int64_t offset = -1;
    int32_t leader_epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.timestamp, {"Timestamp", since(1)});
      v(m.offset, {"Offset", since(1)});
      v(m.leader_epoch, {"LeaderEpoch", since(4)});
    }
  };

  struct ListOffsetsTopicResponse {
    Str name;
    Array<ListOffsetsPartitionResponse> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<ListOffsetsTopicResponse> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(2), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
