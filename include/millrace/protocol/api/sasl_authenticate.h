#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct SaslAuthenticateRequest {
  static constexpr ApiKey kKey = ApiKey::sasl_authenticate;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  ByteView auth_bytes;
  static void describe(auto& m, auto& v) { v(m.auth_bytes, {"AuthBytes", since(0)}); }
  static MessageTable const& table();
};

struct SaslAuthenticateResponse {
  static constexpr ApiKey kKey = ApiKey::sasl_authenticate;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  ByteView auth_bytes;
  int64_t session_lifetime_ms{};
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.auth_bytes, {"AuthBytes", since(0)});
    v(m.session_lifetime_ms, {"SessionLifetimeMs", since(1), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
