#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct EndTxnRequest {
  static constexpr ApiKey kKey = ApiKey::end_txn;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  Str transactional_id;
  int64_t producer_id{};
  int16_t producer_epoch{};
  bool committed{};
  static void describe(auto& m, auto& v) {
    v(m.transactional_id, {"TransactionalId", since(0)});
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.producer_epoch, {"ProducerEpoch", since(0)});
    v(m.committed, {"Committed", since(0)});
  }
  static MessageTable const& table();
};

struct EndTxnResponse {
  static constexpr ApiKey kKey = ApiKey::end_txn;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int64_t producer_id = -1;
  int16_t producer_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.producer_id, {"ProducerId", since(5), kIgnorable});
    v(m.producer_epoch, {"ProducerEpoch", since(5), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
