#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct HeartbeatRequest {
  static constexpr ApiKey kKey = ApiKey::heartbeat;
  static constexpr Versions kValid{0, 4}, kFlexible{4, kLatest};

  Str group_id;
  int32_t generation_id{};
  Str member_id;
  std::optional<Str> group_instance_id;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.generation_id, {"GenerationId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.group_instance_id, {"GroupInstanceId", since(3), nullable_since(3)});
  }
  static MessageTable const& table();
};

struct HeartbeatResponse {
  static constexpr ApiKey kKey = ApiKey::heartbeat;
  static constexpr Versions kValid{0, 4}, kFlexible{4, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
