#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ShareAcknowledgeRequest {
  static constexpr ApiKey kKey = ApiKey::share_acknowledge;
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

  struct AcknowledgePartition {
    int32_t partition_index{};
    Array<AcknowledgementBatch> acknowledgement_batches;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.acknowledgement_batches, {"AcknowledgementBatches", since(0)});
    }
  };

  struct AcknowledgeTopic {
    Uuid topic_id;
    Array<AcknowledgePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  std::optional<Str> group_id;
  std::optional<Str> member_id = "";
  int32_t share_session_epoch{};
  bool is_renew_ack{};
  Array<AcknowledgeTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0), nullable_since(0)});
    v(m.member_id, {"MemberId", since(0), nullable_since(0)});
    v(m.share_session_epoch, {"ShareSessionEpoch", since(0)});
    v(m.is_renew_ack, {"IsRenewAck", since(2)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct ShareAcknowledgeResponse {
  static constexpr ApiKey kKey = ApiKey::share_acknowledge;
  static constexpr Versions kValid{1, 2}, kFlexible{0, kLatest};

  struct LeaderIdAndEpoch {
    int32_t leader_id{};
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    LeaderIdAndEpoch current_leader;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.current_leader, {"CurrentLeader", since(0)});
    }
  };

  struct ShareAcknowledgeTopicResponse {
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
  Array<ShareAcknowledgeTopicResponse> responses;
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.acquisition_lock_timeout_ms, {"AcquisitionLockTimeoutMs", since(2), kIgnorable});
    v(m.responses, {"Responses", since(0)});
    v(m.node_endpoints, {"NodeEndpoints", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
