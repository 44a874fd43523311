#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ExpireDelegationTokenRequest {
  static constexpr ApiKey kKey = ApiKey::expire_delegation_token;
  static constexpr Versions kValid{1, 2}, kFlexible{2, kLatest};

  ByteView hmac;
  int64_t expiry_time_period_ms{};
  static void describe(auto& m, auto& v) {
    v(m.hmac, {"Hmac", since(0)});
    v(m.expiry_time_period_ms, {"ExpiryTimePeriodMs", since(0)});
  }
  static MessageTable const& table();
};

struct ExpireDelegationTokenResponse {
  static constexpr ApiKey kKey = ApiKey::expire_delegation_token;
  static constexpr Versions kValid{1, 2}, kFlexible{2, kLatest};

  ErrorCode error_code{};
  int64_t expiry_timestamp_ms{};
  int32_t throttle_time_ms{};
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.expiry_timestamp_ms, {"ExpiryTimestampMs", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
