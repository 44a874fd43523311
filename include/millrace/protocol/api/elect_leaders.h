#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ElectLeadersRequest {
  static constexpr ApiKey kKey = ApiKey::elect_leaders;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct TopicPartitions {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int8_t election_type{};
  Array<TopicPartitions> topic_partitions;
  int32_t timeout_ms = 60000;
  static void describe(auto& m, auto& v) {
    v(m.election_type, {"ElectionType", since(1)});
    v(m.topic_partitions, {"TopicPartitions", since(0), nullable_since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
  }
  static MessageTable const& table();
};

struct ElectLeadersResponse {
  static constexpr ApiKey kKey = ApiKey::elect_leaders;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct PartitionResult {
    int32_t partition_id{};
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.partition_id, {"PartitionId", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct ReplicaElectionResult {
    Str topic;
    Array<PartitionResult> partition_result;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partition_result, {"PartitionResult", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<ReplicaElectionResult> replica_election_results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(1)});
    v(m.replica_election_results, {"ReplicaElectionResults", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
