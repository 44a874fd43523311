#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ListTransactionsRequest {
  static constexpr ApiKey kKey = ApiKey::list_transactions;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  Array<Str> state_filters;
  Array<int64_t> producer_id_filters;
  int64_t duration_filter = -1;
  std::optional<Str> transactional_id_pattern;
  static void describe(auto& m, auto& v) {
    v(m.state_filters, {"StateFilters", since(0)});
    v(m.producer_id_filters, {"ProducerIdFilters", since(0)});
    v(m.duration_filter, {"DurationFilter", since(1)});
    v(m.transactional_id_pattern, {"TransactionalIdPattern", since(2), nullable_since(2)});
  }
  static MessageTable const& table();
};

struct ListTransactionsResponse {
  static constexpr ApiKey kKey = ApiKey::list_transactions;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct TransactionState {
    Str transactional_id;
    int64_t producer_id{};
    Str transaction_state;
    static void describe(auto& m, auto& v) {
      v(m.transactional_id, {"TransactionalId", since(0)});
      v(m.producer_id, {"ProducerId", since(0)});
      v(m.transaction_state, {"TransactionState", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<Str> unknown_state_filters;
  Array<TransactionState> transaction_states;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.unknown_state_filters, {"UnknownStateFilters", since(0)});
    v(m.transaction_states, {"TransactionStates", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
