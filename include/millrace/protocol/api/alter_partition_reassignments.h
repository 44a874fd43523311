#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterPartitionReassignmentsRequest {
  static constexpr ApiKey kKey = ApiKey::alter_partition_reassignments;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct ReassignablePartition {
    int32_t partition_index{};
    Array<int32_t> replicas = kNullArray;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.replicas, {"Replicas", since(0), nullable_since(0)});
    }
  };

  struct ReassignableTopic {
    Str name;
    Array<ReassignablePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t timeout_ms = 60000;
  bool allow_replication_factor_change = true;
  Array<ReassignableTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.timeout_ms, {"TimeoutMs", since(0)});
    v(m.allow_replication_factor_change, {"AllowReplicationFactorChange", since(1)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct AlterPartitionReassignmentsResponse {
  static constexpr ApiKey kKey = ApiKey::alter_partition_reassignments;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct ReassignablePartitionResponse {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct ReassignableTopicResponse {
    Str name;
    Array<ReassignablePartitionResponse> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  bool allow_replication_factor_change = true;
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<ReassignableTopicResponse> responses;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.allow_replication_factor_change, {"AllowReplicationFactorChange", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.responses, {"Responses", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
