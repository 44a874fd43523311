#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct MetadataRequest {
  static constexpr ApiKey kKey = ApiKey::metadata;
  static constexpr Versions kValid{0, 13}, kFlexible{9, kLatest};

  struct MetadataRequestTopic {
    Uuid topic_id;
    std::optional<Str> name = "";
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.name, {"Name", since(0), nullable_since(10)});
    }
  };

  Array<MetadataRequestTopic> topics;
  bool allow_auto_topic_creation = true;
  bool include_cluster_authorized_operations{};
  bool include_topic_authorized_operations{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0), nullable_since(1)});
    v(m.allow_auto_topic_creation, {"AllowAutoTopicCreation", since(4)});
    v(m.include_cluster_authorized_operations, {"IncludeClusterAuthorizedOperations", between(8, 10)});
    v(m.include_topic_authorized_operations, {"IncludeTopicAuthorizedOperations", since(8)});
  }
  static MessageTable const& table();
};

struct MetadataResponse {
  static constexpr ApiKey kKey = ApiKey::metadata;
  static constexpr Versions kValid{0, 13}, kFlexible{9, kLatest};

  struct MetadataResponseBroker {
    int32_t node_id{};
    Str host;
    int32_t port{};
    std::optional<Str> rack;
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.rack, {"Rack", since(1), nullable_since(1), kIgnorable});
    }
  };

  struct MetadataResponsePartition {
    ErrorCode error_code{};
    int32_t partition_index{};
    int32_t leader_id{};
    int32_t leader_epoch = -1;
    Array<int32_t> replica_nodes;
    Array<int32_t> isr_nodes;
    Array<int32_t> offline_replicas;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(7), kIgnorable});
      v(m.replica_nodes, {"ReplicaNodes", since(0)});
      v(m.isr_nodes, {"IsrNodes", since(0)});
      v(m.offline_replicas, {"OfflineReplicas", since(5), kIgnorable});
    }
  };

  struct MetadataResponseTopic {
    ErrorCode error_code{};
    std::optional<Str> name = "";
    Uuid topic_id;
    bool is_internal{};
    Array<MetadataResponsePartition> partitions;
    int32_t topic_authorized_operations = INT32_MIN;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.name, {"Name", since(0), nullable_since(12)});
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.is_internal, {"IsInternal", since(1), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
      v(m.topic_authorized_operations, {"TopicAuthorizedOperations", since(8)});
    }
  };

  int32_t throttle_time_ms{};
  Array<MetadataResponseBroker> brokers;
  std::optional<Str> cluster_id;
  int32_t controller_id = -1;
  Array<MetadataResponseTopic> topics;
  int32_t cluster_authorized_operations = INT32_MIN;
  ErrorCode error_code{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(3), kIgnorable});
    v(m.brokers, {"Brokers", since(0)});
    v(m.cluster_id, {"ClusterId", since(2), nullable_since(2), kIgnorable});
    v(m.controller_id, {"ControllerId", since(1), kIgnorable});
    v(m.topics, {"Topics", since(0)});
    v(m.cluster_authorized_operations, {"ClusterAuthorizedOperations", between(8, 10)});
    v(m.error_code, {"ErrorCode", since(13), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
