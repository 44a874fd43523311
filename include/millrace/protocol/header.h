// What stands before every request and response body.
#pragma once
#include "millrace/protocol/api_key.h"

namespace millrace::protocol {

struct RequestHeader {
  static constexpr Versions kValid{1, 2}, kFlexible{2, kLatest};

  int16_t request_api_key{};
  int16_t request_api_version{};
  int32_t correlation_id{};
  std::optional<Str> client_id = "";
  static void describe(auto& m, auto& v) {
    v(m.request_api_key, {"RequestApiKey", since(0)});
    v(m.request_api_version, {"RequestApiVersion", since(0)});
    v(m.correlation_id, {"CorrelationId", since(0)});
    v(m.client_id, {"ClientId", since(1), nullable_since(1), kNeverFlexible});
  }
  static MessageTable const& table();
};

struct ResponseHeader {
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  int32_t correlation_id{};
  static void describe(auto& m, auto& v) { v(m.correlation_id, {"CorrelationId", since(0)}); }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
