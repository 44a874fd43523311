#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ProduceRequest {
  static constexpr ApiKey kKey = ApiKey::produce;
  static constexpr Versions kValid{3, 13}, kFlexible{9, kLatest};

  struct PartitionProduceData {
    int32_t index{};
    Records records;
    static void describe(auto& m, auto& v) {
      v(m.index, {"Index", since(0)});
      v(m.records, {"Records", since(0), nullable_since(0)});
    }
  };

  struct TopicProduceData {
    Str name;
    Uuid topic_id;
    Array<PartitionProduceData> partition_data;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 12), kIgnorable});
      v(m.topic_id, {"TopicId", since(13), kIgnorable});
      v(m.partition_data, {"PartitionData", since(0)});
    }
  };

  std::optional<Str> transactional_id;
  int16_t acks{};
  int32_t timeout_ms{};
  Array<TopicProduceData> topic_data;
  static void describe(auto& m, auto& v) {
    v(m.transactional_id, {"TransactionalId", since(3), nullable_since(3)});
    v(m.acks, {"Acks", since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
    v(m.topic_data, {"TopicData", since(0)});
  }
  static MessageTable const& table();
};

struct ProduceResponse {
  static constexpr ApiKey kKey = ApiKey::produce;
  static constexpr Versions kValid{3, 13}, kFlexible{9, kLatest};

  struct BatchIndexAndErrorMessage {
    int32_t batch_index{};
    std::optional<Str> batch_index_error_message;
    static void describe(auto& m, auto& v) {
      v(m.batch_index, {"BatchIndex", since(8)});
      v(m.batch_index_error_message, {"BatchIndexErrorMessage", since(8), nullable_since(8)});
    }
  };

  struct LeaderIdAndEpoch {
    int32_t leader_id = -1;
    int32_t leader_epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(10)});
      v(m.leader_epoch, {"LeaderEpoch", since(10)});
    }
  };

  struct PartitionProduceResponse {
    int32_t index{};
    ErrorCode error_code{};
    int64_t base_offset{};
    int64_t log_append_time_ms = -1;
    int64_t log_start_offset = -1;
    Array<BatchIndexAndErrorMessage> record_errors;
    std::optional<Str> error_message;
    LeaderIdAndEpoch current_leader;
    static void describe(auto& m, auto& v) {
      v(m.index, {"Index", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.base_offset, {"BaseOffset", since(0)});
      v(m.log_append_time_ms, {"LogAppendTimeMs", since(2), kIgnorable});
      v(m.log_start_offset, {"LogStartOffset", since(5), kIgnorable});
      v(m.record_errors, {"RecordErrors", since(8), kIgnorable});
      v(m.error_message, {"ErrorMessage", since(8), nullable_since(8), kIgnorable});
      v(m.current_leader, {"CurrentLeader", since(10), tagged_since(10, 0)});
    }
  };

  struct TopicProduceResponse {
    Str name;
    Uuid topic_id;
    Array<PartitionProduceResponse> partition_responses;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 12), kIgnorable});
      v(m.topic_id, {"TopicId", since(13), kIgnorable});
      v(m.partition_responses, {"PartitionResponses", since(0)});
    }
  };

  struct NodeEndpoint {
    int32_t node_id{};
    Str host;
    int32_t port{};
    std::optional<Str> rack;
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(10)});
      v(m.host, {"Host", since(10)});
      v(m.port, {"Port", since(10)});
      v(m.rack, {"Rack", since(10), nullable_since(10)});
    }
  };

  Array<TopicProduceResponse> responses;
  int32_t throttle_time_ms{};
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.responses, {"Responses", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.node_endpoints, {"NodeEndpoints", since(10), tagged_since(10, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
