#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeTransactionsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_transactions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Array<Str> transactional_ids;
  static void describe(auto& m, auto& v) { v(m.transactional_ids, {"TransactionalIds", since(0)}); }
  static MessageTable const& table();
};

struct DescribeTransactionsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_transactions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicData {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct TransactionState {
    ErrorCode error_code{};
    Str transactional_id;
    Str transaction_state;
    int32_t transaction_timeout_ms{};
    int64_t transaction_start_time_ms{};
    int64_t producer_id{};
    int16_t producer_epoch{};
    Array<TopicData> topics;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.transactional_id, {"TransactionalId", since(0)});
      v(m.transaction_state, {"TransactionState", since(0)});
      v(m.transaction_timeout_ms, {"TransactionTimeoutMs", since(0)});
      v(m.transaction_start_time_ms, {"TransactionStartTimeMs", since(0)});
      v(m.producer_id, {"ProducerId", since(0)});
      v(m.producer_epoch, {"ProducerEpoch", since(0)});
      v(m.topics, {"Topics", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<TransactionState> transaction_states;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.transaction_states, {"TransactionStates", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
