#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct BrokerRegistrationRequest {
  static constexpr ApiKey kKey = ApiKey::broker_registration;
  static constexpr Versions kValid{0, 4}, kFlexible{0, kLatest};

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

  int32_t broker_id{};
  Str cluster_id;
  Uuid incarnation_id;
  Array<Listener> listeners;
  Array<Feature> features;
  std::optional<Str> rack = "";
  bool is_migrating_zk_broker{};
  Array<Uuid> log_dirs;
  int64_t previous_broker_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.cluster_id, {"ClusterId", since(0)});
    v(m.incarnation_id, {"IncarnationId", since(0)});
    v(m.listeners, {"Listeners", since(0)});
    v(m.features, {"Features", since(0)});
    v(m.rack, {"Rack", since(0), nullable_since(0)});
    v(m.is_migrating_zk_broker, {"IsMigratingZkBroker", since(1)});
    v(m.log_dirs, {"LogDirs", since(2), kIgnorable});
    v(m.previous_broker_epoch, {"PreviousBrokerEpoch", since(3), kIgnorable});
  }
  static MessageTable const& table();
};

struct BrokerRegistrationResponse {
  static constexpr ApiKey kKey = ApiKey::broker_registration;
  static constexpr Versions kValid{0, 4}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int64_t broker_epoch = -1;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
