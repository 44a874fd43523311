#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct FindCoordinatorRequest {
  static constexpr ApiKey kKey = ApiKey::find_coordinator;
  static constexpr Versions kValid{0, 6}, kFlexible{3, kLatest};

  Str key;
  int8_t key_type{};
  Array<Str> coordinator_keys;
  static void describe(auto& m, auto& v) {
    v(m.key, {"Key", between(0, 3)});
    v(m.key_type, {"KeyType", since(1)});
    v(m.coordinator_keys, {"CoordinatorKeys", since(4)});
  }
  static MessageTable const& table();
};

struct FindCoordinatorResponse {
  static constexpr ApiKey kKey = ApiKey::find_coordinator;
  static constexpr Versions kValid{0, 6}, kFlexible{3, kLatest};

  struct Coordinator {
    Str key;
    int32_t node_id{};
    Str host;
    int32_t port{};
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(4)});
      v(m.node_id, {"NodeId", since(4)});
      v(m.host, {"Host", since(4)});
      v(m.port, {"Port", since(4)});
      v(m.error_code, {"ErrorCode", since(4)});
      v(m.error_message, {"ErrorMessage", since(4), nullable_since(4), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  int32_t node_id{};
  Str host;
  int32_t port{};
  Array<Coordinator> coordinators;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", between(0, 3)});
    v(m.error_message, {"ErrorMessage", between(1, 3), nullable_between(1, 3), kIgnorable});
    v(m.node_id, {"NodeId", between(0, 3)});
    v(m.host, {"Host", between(0, 3)});
    v(m.port, {"Port", between(0, 3)});
    v(m.coordinators, {"Coordinators", since(4)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
