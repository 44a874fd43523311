#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct EnvelopeRequest {
  static constexpr ApiKey kKey = ApiKey::envelope;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  ByteView request_data;
  std::optional<ByteView> request_principal = ByteView{};
  ByteView client_host_address;
  static void describe(auto& m, auto& v) {
    v(m.request_data, {"RequestData", since(0)});
    v(m.request_principal, {"RequestPrincipal", since(0), nullable_since(0)});
    v(m.client_host_address, {"ClientHostAddress", since(0)});
  }
  static MessageTable const& table();
};

struct EnvelopeResponse {
  static constexpr ApiKey kKey = ApiKey::envelope;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  std::optional<ByteView> response_data;
  ErrorCode error_code{};
  static void describe(auto& m, auto& v) {
    v(m.response_data, {"ResponseData", since(0), nullable_since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
