#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AddOffsetsToTxnRequest {
  static constexpr ApiKey kKey = ApiKey::add_offsets_to_txn;
  static constexpr Versions kValid{0, 4}, kFlexible{3, kLatest};

  Str transactional_id;
  int64_t producer_id{};
  int16_t producer_epoch{};
  Str group_id;
  static void describe(auto& m, auto& v) {
    v(m.transactional_id, {"TransactionalId", since(0)});
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.producer_epoch, {"ProducerEpoch", since(0)});
    v(m.group_id, {"GroupId", since(0)});
  }
  static MessageTable const& table();
};

struct AddOffsetsToTxnResponse {
  static constexpr ApiKey kKey = ApiKey::add_offsets_to_txn;
  static constexpr Versions kValid{0, 4}, kFlexible{3, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
