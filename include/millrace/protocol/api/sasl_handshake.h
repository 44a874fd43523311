#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct SaslHandshakeRequest {
  static constexpr ApiKey kKey = ApiKey::sasl_handshake;
  static constexpr Versions kValid{0, 1}, kFlexible{0, -1};

  Str mechanism;
  static void describe(auto& m, auto& v) { v(m.mechanism, {"Mechanism", since(0)}); }
  static MessageTable const& table();
};

struct SaslHandshakeResponse {
  static constexpr ApiKey kKey = ApiKey::sasl_handshake;
  static constexpr Versions kValid{0, 1}, kFlexible{0, -1};

  ErrorCode error_code{};
  Array<Str> mechanisms;
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.mechanisms, {"Mechanisms", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
