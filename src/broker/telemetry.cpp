// GetTelemetrySubscriptions and PushTelemetry: nobody here wants metrics of clients, so no subscription asks for any.
#include "handlers.h"
#include "millrace/protocol/api/get_telemetry_subscriptions.h"
#include "millrace/protocol/api/push_telemetry.h"

namespace millrace::broker {
namespace {

constexpr int32_t kPushIntervalMs = 300'000;
constexpr int32_t kTelemetryBytesMax = 1024 * 1024;  // telemetry.max.bytes

// The same for a client whenever it asks.
int32_t subscription_of(Uuid const& client) {
  return static_cast<int32_t>(std::hash<std::string_view>{}(as_text(std::as_bytes(std::span(client.bytes)))) &
                              0x7fffffff);
}

}  // namespace

void handle_get_telemetry_subscriptions(ContextPtr context) {
  protocol::GetTelemetrySubscriptionsRequest request;
  if (!context->decode(request)) return;
  constexpr int8_t kCodecs[] = {4, 3, 1, 2};  // zstd, lz4, gzip, snappy
  protocol::GetTelemetrySubscriptionsResponse response;
  response.client_instance_id =
      request.client_instance_id.is_zero() ? context->services().env.random_uuid() : request.client_instance_id;
  response.subscription_id = subscription_of(response.client_instance_id);
  response.accepted_compression_types = context->arena().copy(std::span<int8_t const>(kCodecs));
  response.push_interval_ms = kPushIntervalMs;
  response.telemetry_max_bytes = kTelemetryBytesMax;
  response.delta_temporality = true;
  context->reply(response);
}

void handle_push_telemetry(ContextPtr context) {
  protocol::PushTelemetryRequest request;
  if (!context->decode(request)) return;
  protocol::PushTelemetryResponse response;
  if (request.client_instance_id.is_zero())
    response.error_code = ErrorCode::invalid_request;
  else if (request.subscription_id != subscription_of(request.client_instance_id)) {
    response.error_code = ErrorCode::unknown_subscription_id;
  } else if (request.metrics.size() > static_cast<size_t>(kTelemetryBytesMax)) {
    response.error_code = ErrorCode::telemetry_too_large;
  }
  context->reply(response);
}

}  // namespace millrace::broker
