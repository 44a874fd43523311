#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ShareFetchRequest {
  static constexpr ApiKey kKey = ApiKey::share_fetch;
  static constexpr Versions kValid{1, 2}, kFlexible{0, kLatest};

  struct AcknowledgementBatch {
    int64_t first_offset{};
    int64_t last_offset{};
    Array<int8_t> acknowledge_types;
    static void describe(auto& m, auto& v) {
      v(m.first_offset, {"FirstOffset", since(0)});
      v(m.last_offset, {"LastOffset", since(0)});
      v(m.acknowledge_types, {"AcknowledgeTypes", since(0)});
    }
  };

  struct FetchPartition {
    int32_t partition_index{};
    int32_t partition_max_bytes{};
    Array<AcknowledgementBatch> acknowledgement_batches;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.partition_max_bytes, {"PartitionMaxBytes", between(0, 0)});
      v(m.acknowledgement_batches, {"AcknowledgementBatches", since(0)});
    }
  };

  struct FetchTopic {
    Uuid topic_id;
    Array<FetchPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct ForgottenTopic {
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  std::optional<Str> group_id;
  std::optional<Str> member_id = "";
  int32_t share_session_epoch{};
  int32_t max_wait_ms{};
  int32_t min_bytes{};
  int32_t max_bytes = INT32_MAX;
  int32_t max_records{};
  int32_t batch_size{};
  int8_t share_acquire_mode{};
  bool is_renew_ack{};
  Array<FetchTopic> topics;
  Array<ForgottenTopic> forgotten_topics_data;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0), nullable_since(0)});
    v(m.member_id, {"MemberId", since(0), nullable_since(0)});
    v(m.share_session_epoch, {"ShareSessionEpoch", since(0)});
    v(m.max_wait_ms, {"MaxWaitMs", since(0)});
    v(m.min_bytes, {"MinBytes", since(0)});
    v(m.max_bytes, {"MaxBytes", since(0)});
    v(m.max_records, {"MaxRecords", since(1)});
    v(m.batch_size, {"BatchSize", since(1)});
    v(m.share_acquire_mode, {"ShareAcquireMode", since(2), kIgnorable});
    v(m.is_renew_ack, {"IsRenewAck", since(2)});
    v(m.topics, {"Topics", since(0)});
    v(m.forgotten_topics_data, {"ForgottenTopicsData", since(0)});
  }
  static MessageTable const& table();
};

struct ShareFetchResponse {
  static constexpr ApiKey kKey = ApiKey::share_fetch;
  static constexpr Versions kValid{1, 2}, kFlexible{0, kLatest};

  struct LeaderIdAndEpoch {
    int32_t leader_id{};
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
    }
  };

  struct AcquiredRecords {
    int64_t first_offset{};
    int64_t last_offset{};
    int16_t delivery_count{};
    static void describe(auto& m, auto& v) {
      v(m.first_offset, {"FirstOffset", since(0)});
      v(m.last_offset, {"LastOffset", since(0)});
      v(m.delivery_count, {"DeliveryCount", since(0)});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    ErrorCode acknowledge_error_code{};
    std::optional<Str> acknowledge_error_message;
    LeaderIdAndEpoch current_leader;
    Records records;
    Array<AcquiredRecords> acquired_records;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.acknowledge_error_code, {"AcknowledgeErrorCode", since(0)});
      v(m.acknowledge_error_message, {"AcknowledgeErrorMessage", since(0), nullable_since(0)});
      v(m.current_leader, {"CurrentLeader", since(0)});
      v(m.records, {"Records", since(0), nullable_between(0, 0)});
      v(m.acquired_records, {"AcquiredRecords", since(0)});
    }
  };

  struct ShareFetchableTopicResponse {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct NodeEndpoint {
    int32_t node_id{};
    Str host;
    int32_t port{};
    std::optional<Str> rack;
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.rack, {"Rack", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  int32_t acquisition_lock_timeout_ms{};
  Array<ShareFetchableTopicResponse> responses;
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.acquisition_lock_timeout_ms, {"AcquisitionLockTimeoutMs", since(1)});
    v(m.responses, {"Responses", since(0)});
    v(m.node_endpoints, {"NodeEndpoints", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
