// Records of __transaction_state.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct TransactionLogKey {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str transactional_id;
  static void describe(auto& m, auto& v) { v(m.transactional_id, {"TransactionalId", between(0, 0)}); }
  static MessageTable const& table();
};

struct TransactionLogValue {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct PartitionsSchema {
    Str topic;
    Array<int32_t> partition_ids;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partition_ids, {"PartitionIds", since(0)});
    }
  };

  int64_t producer_id{};
  int64_t previous_producer_id = -1;
  int64_t next_producer_id = -1;
  int16_t producer_epoch{};
  int16_t next_producer_epoch = -1;
  int32_t transaction_timeout_ms{};
  int8_t transaction_status{};
  Array<PartitionsSchema> transaction_partitions;
  int64_t transaction_last_update_timestamp_ms{};
  int64_t transaction_start_timestamp_ms{};
  int16_t client_transaction_version{};
  static void describe(auto& m, auto& v) {
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.previous_producer_id, {"PreviousProducerId", since(1), tagged_since(1, 0)});
    v(m.next_producer_id, {"NextProducerId", since(1), tagged_since(1, 1)});
    v(m.producer_epoch, {"ProducerEpoch", since(0)});
    v(m.next_producer_epoch, {"NextProducerEpoch", since(1), tagged_since(1, 3)});
    v(m.transaction_timeout_ms, {"TransactionTimeoutMs", since(0)});
    v(m.transaction_status, {"TransactionStatus", since(0)});
    v(m.transaction_partitions, {"TransactionPartitions", since(0), nullable_since(0)});
    v(m.transaction_last_update_timestamp_ms, {"TransactionLastUpdateTimestampMs", since(0)});
    v(m.transaction_start_timestamp_ms, {"TransactionStartTimestampMs", since(0)});
    v(m.client_transaction_version, {"ClientTransactionVersion", since(1), tagged_since(1, 2)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
