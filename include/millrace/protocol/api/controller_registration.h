#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ControllerRegistrationRequest {
  static constexpr ApiKey kKey = ApiKey::controller_registration;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct Listener {
    Str name;
    Str host;
    uint16_t port{};
    int16_t security_protocol{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.security_protocol, {"SecurityProtocol", since(0)});
    }
  };

  struct Feature {
    Str name;
    int16_t min_supported_version{};
    int16_t max_supported_version{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.min_supported_version, {"MinSupportedVersion", since(0)});
      v(m.max_supported_version, {"MaxSupportedVersion", since(0)});
    }
  };

  int32_t controller_id{};
  Uuid incarnation_id;
  bool zk_migration_ready{};
  Array<Listener> listeners;
  Array<Feature> features;
  static void describe(auto& m, auto& v) {
    v(m.controller_id, {"ControllerId", since(0)});
    v(m.incarnation_id, {"IncarnationId", since(0)});
    v(m.zk_migration_ready, {"ZkMigrationReady", since(0)});
    v(m.listeners, {"Listeners", since(0)});
    v(m.features, {"Features", since(0)});
  }
  static MessageTable const& table();
};

struct ControllerRegistrationResponse {
  static constexpr ApiKey kKey = ApiKey::controller_registration;
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
