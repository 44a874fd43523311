#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct InitProducerIdRequest {
  static constexpr ApiKey kKey = ApiKey::init_producer_id;
  static constexpr Versions kValid{0, 6}, kFlexible{2, kLatest};

  std::optional<Str> transactional_id = "";
  int32_t transaction_timeout_ms{};
  int64_t producer_id = -1;
  int16_t producer_epoch = -1;
  bool enable2_pc{};
  bool keep_prepared_txn{};
  static void describe(auto& m, auto& v) {
    v(m.transactional_id, {"TransactionalId", since(0), nullable_since(0)});
    v(m.transaction_timeout_ms, {"TransactionTimeoutMs", since(0)});
    v(m.producer_id, {"ProducerId", since(3)});
    v(m.producer_epoch, {"ProducerEpoch", since(3)});
    v(m.enable2_pc, {"Enable2Pc", since(6)});
    v(m.keep_prepared_txn, {"KeepPreparedTxn", since(6)});
  }
  static MessageTable const& table();
};

struct InitProducerIdResponse {
  static constexpr ApiKey kKey = ApiKey::init_producer_id;
  static constexpr Versions kValid{0, 6}, kFlexible{2, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int64_t producer_id = -1;
  int16_t producer_epoch{};
  int64_t ongoing_txn_producer_id = -1;
  int16_t ongoing_txn_producer_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.producer_epoch, {"ProducerEpoch", since(0)});
    v(m.ongoing_txn_producer_id, {"OngoingTxnProducerId", since(6)});
    v(m.ongoing_txn_producer_epoch, {"OngoingTxnProducerEpoch", since(6)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
