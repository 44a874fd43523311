#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeProducersRequest {
  static constexpr ApiKey kKey = ApiKey::describe_producers;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicRequest {
    Str name;
    Array<int32_t> partition_indexes;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partition_indexes, {"PartitionIndexes", since(0)});
    }
  };

  Array<TopicRequest> topics;
  static void describe(auto& m, auto& v) { v(m.topics, {"Topics", since(0)}); }
  static MessageTable const& table();
};

struct DescribeProducersResponse {
  static constexpr ApiKey kKey = ApiKey::describe_producers;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct ProducerState {
    int64_t producer_id{};
    int32_t producer_epoch{};
    int32_t last_sequence = -1;
    int64_t last_timestamp = -1;
    int32_t coordinator_epoch{};
    int64_t current_txn_start_offset = -1;
    static void describe(auto& m, auto& v) {
      v(m.producer_id, {"ProducerId", since(0)});
      v(m.producer_epoch, {"ProducerEpoch", since(0)});
      v(m.last_sequence, {"LastSequence", since(0)});
      v(m.last_timestamp, {"LastTimestamp", since(0)});
      v(m.coordinator_epoch, {"CoordinatorEpoch", since(0)});
      v(m.current_txn_start_offset, {"CurrentTxnStartOffset", since(0)});
    }
  };

  struct PartitionResponse {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    Array<ProducerState> active_producers;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.active_producers, {"ActiveProducers", since(0)});
    }
  };

  struct TopicResponse {
    Str name;
    Array<PartitionResponse> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<TopicResponse> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
