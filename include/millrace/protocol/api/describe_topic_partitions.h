#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeTopicPartitionsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_topic_partitions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicRequest {
    Str name;
    static void describe(auto& m, auto& v) { v(m.name, {"Name", since(0)}); }
  };

  struct Cursor {
    Str topic_name;
    int32_t partition_index{};
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partition_index, {"PartitionIndex", since(0)});
    }
  };

  Array<TopicRequest> topics;
  int32_t response_partition_limit = 2000;
  std::optional<Cursor> cursor;
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.response_partition_limit, {"ResponsePartitionLimit", since(0)});
    v(m.cursor, {"Cursor", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct DescribeTopicPartitionsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_topic_partitions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct DescribeTopicPartitionsResponsePartition {
    ErrorCode error_code{};
    int32_t partition_index{};
    int32_t leader_id{};
    int32_t leader_epoch = -1;
    Array<int32_t> replica_nodes;
    Array<int32_t> isr_nodes;
    Array<int32_t> eligible_leader_replicas = kNullArray;
    Array<int32_t> last_known_elr = kNullArray;
    Array<int32_t> offline_replicas;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0), kIgnorable});
      v(m.replica_nodes, {"ReplicaNodes", since(0)});
      v(m.isr_nodes, {"IsrNodes", since(0)});
      v(m.eligible_leader_replicas, {"EligibleLeaderReplicas", since(0), nullable_since(0)});
      v(m.last_known_elr, {"LastKnownElr", since(0), nullable_since(0)});
      v(m.offline_replicas, {"OfflineReplicas", since(0), kIgnorable});
    }
  };

  struct DescribeTopicPartitionsResponseTopic {
    ErrorCode error_code{};
    std::optional<Str> name = "";
    Uuid topic_id;
    bool is_internal{};
    Array<DescribeTopicPartitionsResponsePartition> partitions;
    int32_t topic_authorized_operations = INT32_MIN;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.name, {"Name", since(0), nullable_since(0)});
      v(m.topic_id, {"TopicId", since(0), kIgnorable});
      v(m.is_internal, {"IsInternal", since(0), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
      v(m.topic_authorized_operations, {"TopicAuthorizedOperations", since(0)});
    }
  };

  struct Cursor {
    Str topic_name;
    int32_t partition_index{};
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partition_index, {"PartitionIndex", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribeTopicPartitionsResponseTopic> topics;
  std::optional<Cursor> next_cursor;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0), kIgnorable});
    v(m.topics, {"Topics", since(0)});
    v(m.next_cursor, {"NextCursor", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
