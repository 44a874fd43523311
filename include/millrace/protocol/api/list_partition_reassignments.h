#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ListPartitionReassignmentsRequest {
  static constexpr ApiKey kKey = ApiKey::list_partition_reassignments;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct ListPartitionReassignmentsTopics {
    Str name;
    Array<int32_t> partition_indexes;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partition_indexes, {"PartitionIndexes", since(0)});
    }
  };

  int32_t timeout_ms = 60000;
  Array<ListPartitionReassignmentsTopics> topics = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.timeout_ms, {"TimeoutMs", since(0)});
    v(m.topics, {"Topics", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct ListPartitionReassignmentsResponse {
  static constexpr ApiKey kKey = ApiKey::list_partition_reassignments;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct OngoingPartitionReassignment {
    int32_t partition_index{};
    Array<int32_t> replicas;
    Array<int32_t> adding_replicas;
    Array<int32_t> removing_replicas;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.replicas, {"Replicas", since(0)});
      v(m.adding_replicas, {"AddingReplicas", since(0)});
      v(m.removing_replicas, {"RemovingReplicas", since(0)});
    }
  };

  struct OngoingTopicReassignment {
    Str name;
    Array<OngoingPartitionReassignment> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<OngoingTopicReassignment> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
