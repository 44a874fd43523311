#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct FetchRequest {
  static constexpr ApiKey kKey = ApiKey::fetch;
  static constexpr Versions kValid{4, 18}, kFlexible{12, kLatest};

  struct ReplicaState {
    int32_t replica_id = -1;
    int64_t replica_epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.replica_id, {"ReplicaId", since(15)});
      v(m.replica_epoch, {"ReplicaEpoch", since(15)});
    }
  };

  struct FetchPartition {
    int32_t partition{};
    int32_t current_leader_epoch = -1;
    int64_t fetch_offset{};
    int32_t last_fetched_epoch = -1;
    int64_t log_start_offset = -1;
    int32_t partition_max_bytes{};
    Uuid replica_directory_id;
    int64_t high_watermark = INT64_MAX;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.current_leader_epoch, {"CurrentLeaderEpoch", since(9), kIgnorable});
      v(m.fetch_offset, {"FetchOffset", since(0)});
      v(m.last_fetched_epoch, {"LastFetchedEpoch", since(12)});
      v(m.log_start_offset, {"LogStartOffset", since(5), kIgnorable});
      v(m.partition_max_bytes, {"PartitionMaxBytes", since(0)});
      v(m.replica_directory_id, {"ReplicaDirectoryId", since(17), tagged_since(17, 0), kIgnorable});
      v(m.high_watermark, {"HighWatermark", since(18), tagged_since(18, 1), kIgnorable});
    }
  };

  struct FetchTopic {
    Str topic;
    Uuid topic_id;
    Array<FetchPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", between(0, 12), kIgnorable});
      v(m.topic_id, {"TopicId", since(13), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct ForgottenTopic {
    Str topic;
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", between(7, 12), kIgnorable});
      v(m.topic_id, {"TopicId", since(13), kIgnorable});
      v(m.partitions, {"Partitions", since(7)});
    }
  };

  std::optional<Str> cluster_id;
  int32_t replica_id = -1;
  ReplicaState replica_state;
  int32_t max_wait_ms{};
  int32_t min_bytes{};
  int32_t max_bytes = INT32_MAX;
  int8_t isolation_level{};
  int32_t session_id{};
  int32_t session_epoch = -1;
  Array<FetchTopic> topics;
  Array<ForgottenTopic> forgotten_topics_data;
  Str rack_id;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(12), nullable_since(12), tagged_since(12, 0), kIgnorable});
    v(m.replica_id, {"ReplicaId", between(0, 14)});
    v(m.replica_state, {"ReplicaState", since(15), tagged_since(15, 1)});
    v(m.max_wait_ms, {"MaxWaitMs", since(0)});
    v(m.min_bytes, {"MinBytes", since(0)});
    v(m.max_bytes, {"MaxBytes", since(3), kIgnorable});
    v(m.isolation_level, {"IsolationLevel", since(4), kIgnorable});
    v(m.session_id, {"SessionId", since(7), kIgnorable});
    v(m.session_epoch, {"SessionEpoch", since(7), kIgnorable});
    v(m.topics, {"Topics", since(0)});
    v(m.forgotten_topics_data, {"ForgottenTopicsData", since(7)});
    v(m.rack_id, {"RackId", since(11), kIgnorable});
  }
  static MessageTable const& table();
};

struct FetchResponse {
  static constexpr ApiKey kKey = ApiKey::fetch;
  static constexpr Versions kValid{4, 18}, kFlexible{12, kLatest};

  struct EpochEndOffset {
    int32_t epoch = -1;
    int64_t end_offset = -1;
    static void describe(auto& m, auto& v) {
      v(m.epoch, {"Epoch", since(12)});
      v(m.end_offset, {"EndOffset", since(12)});
    }
  };

  struct LeaderIdAndEpoch {
    int32_t leader_id = -1;
    int32_t leader_epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(12)});
      v(m.leader_epoch, {"LeaderEpoch", since(12)});
    }
  };

  struct SnapshotId {
    int64_t end_offset = -1;
    int32_t epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.end_offset, {"EndOffset", since(0)});
      v(m.epoch, {"Epoch", since(0)});
    }
  };

  struct AbortedTransaction {
    int64_t producer_id{};
    int64_t first_offset{};
    static void describe(auto& m, auto& v) {
      v(m.producer_id, {"ProducerId", since(4)});
      v(m.first_offset, {"FirstOffset", since(4)});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    int64_t high_watermark{};
    int64_t last_stable_offset = -1;
    int64_t log_start_offset = -1;
    EpochEndOffset diverging_epoch;
    LeaderIdAndEpoch current_leader;
    SnapshotId snapshot_id;
    Array<AbortedTransaction> aborted_transactions;
    int32_t preferred_read_replica = -1;
    Records records;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.high_watermark, {"HighWatermark", since(0)});
      v(m.last_stable_offset, {"LastStableOffset", since(4), kIgnorable});
      v(m.log_start_offset, {"LogStartOffset", since(5), kIgnorable});
      v(m.diverging_epoch, {"DivergingEpoch", since(12), tagged_since(12, 0)});
      v(m.current_leader, {"CurrentLeader", since(12), tagged_since(12, 1)});
      v(m.snapshot_id, {"SnapshotId", since(12), tagged_since(12, 2)});
      v(m.aborted_transactions, {"AbortedTransactions", since(4), nullable_since(4), kIgnorable});
      v(m.preferred_read_replica, {"PreferredReadReplica", since(11)});
      v(m.records, {"Records", since(0), nullable_since(0)});
    }
  };

  struct FetchableTopicResponse {
    Str topic;
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", between(0, 12), kIgnorable});
      v(m.topic_id, {"TopicId", since(13), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct NodeEndpoint {
    int32_t node_id{};
    Str host;
    int32_t port{};
    std::optional<Str> rack;
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(16)});
      v(m.host, {"Host", since(16)});
      v(m.port, {"Port", since(16)});
      v(m.rack, {"Rack", since(16), nullable_since(16)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int32_t session_id{};
  Array<FetchableTopicResponse> responses;
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(7), kIgnorable});
    v(m.session_id, {"SessionId", since(7)});
    v(m.responses, {"Responses", since(0)});
    v(m.node_endpoints, {"NodeEndpoints", since(16), tagged_since(16, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
