#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct GetTelemetrySubscriptionsRequest {
  static constexpr ApiKey kKey = ApiKey::get_telemetry_subscriptions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Uuid client_instance_id;
  static void describe(auto& m, auto& v) { v(m.client_instance_id, {"ClientInstanceId", since(0)}); }
  static MessageTable const& table();
};

struct GetTelemetrySubscriptionsResponse {
  static constexpr ApiKey kKey = ApiKey::get_telemetry_subscriptions;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Uuid client_instance_id;
  int32_t subscription_id{};
  Array<int8_t> accepted_compression_types;
  int32_t push_interval_ms{};
  int32_t telemetry_max_bytes{};
  bool delta_temporality{};
  Array<Str> requested_metrics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.client_instance_id, {"ClientInstanceId", since(0)});
    v(m.subscription_id, {"SubscriptionId", since(0)});
    v(m.accepted_compression_types, {"AcceptedCompressionTypes", since(0)});
    v(m.push_interval_ms, {"PushIntervalMs", since(0)});
    v(m.telemetry_max_bytes, {"TelemetryMaxBytes", since(0)});
    v(m.delta_temporality, {"DeltaTemporality", since(0)});
    v(m.requested_metrics, {"RequestedMetrics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
