#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct PushTelemetryRequest {
  static constexpr ApiKey kKey = ApiKey::push_telemetry;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Uuid client_instance_id;
  int32_t subscription_id{};
  bool terminating{};
  int8_t compression_type{};
  ByteView metrics;
  static void describe(auto& m, auto& v) {
    v(m.client_instance_id, {"ClientInstanceId", since(0)});
    v(m.subscription_id, {"SubscriptionId", since(0)});
    v(m.terminating, {"Terminating", since(0)});
    v(m.compression_type, {"CompressionType", since(0)});
    v(m.metrics, {"Metrics", since(0)});
  }
  static MessageTable const& table();
};

struct PushTelemetryResponse {
  static constexpr ApiKey kKey = ApiKey::push_telemetry;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
