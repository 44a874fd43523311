#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AllocateProducerIdsRequest {
  static constexpr ApiKey kKey = ApiKey::allocate_producer_ids;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t broker_id{};
  int64_t broker_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
  }
  static MessageTable const& table();
};

struct AllocateProducerIdsResponse {
  static constexpr ApiKey kKey = ApiKey::allocate_producer_ids;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int64_t producer_id_start{};
  int32_t producer_id_len{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.producer_id_start, {"ProducerIdStart", since(0)});
    v(m.producer_id_len, {"ProducerIdLen", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
