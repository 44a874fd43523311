// What requests that create and delete partitions have in common: the quota that they count against.
#pragma once
#include "millrace/broker/context.h"
#include "millrace/metadata/controller_api.h"

namespace millrace::broker {

// Of versions before `first_strict_version` Kafka does what is above the quota and makes the client wait; later ones know the
// error THROTTLING_QUOTA_EXCEEDED.
inline metadata::MutationAsker mutation_asker(RequestContext const& context, int16_t first_strict_version) {
  return {std::string(context.user()), std::string(context.client_id()), context.version() >= first_strict_version};
}

// Answers, and keeps the client waiting until its quota allows another change.
template <class Response>
void reply_throttled(RequestContext& context, Response& response, Mono throttled_until) {
  auto const wait = std::max(Duration::zero(), throttled_until - context.thread().reactor.now());
  response.throttle_time_ms = static_cast<int32_t>(std::min<int64_t>(to_ms(wait), INT32_MAX));
  context.reply(response, wait);
}

}  // namespace millrace::broker
