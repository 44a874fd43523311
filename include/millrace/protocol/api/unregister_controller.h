#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct UnregisterControllerRequest {
  static constexpr ApiKey kKey = ApiKey::unregister_controller;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t controller_id{};
  static void describe(auto& m, auto& v) { v(m.controller_id, {"ControllerId", since(0)}); }
  static MessageTable const& table();
};

struct UnregisterControllerResponse {
  static constexpr ApiKey kKey = ApiKey::unregister_controller;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
