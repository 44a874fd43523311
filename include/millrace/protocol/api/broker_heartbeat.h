#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct BrokerHeartbeatRequest {
  static constexpr ApiKey kKey = ApiKey::broker_heartbeat;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  int32_t broker_id{};
  int64_t broker_epoch = -1;
  int64_t current_metadata_offset{};
  bool want_fence{};
  bool want_shut_down{};
  Array<Uuid> offline_log_dirs;
  Array<Uuid> cordoned_log_dirs = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.current_metadata_offset, {"CurrentMetadataOffset", since(0)});
    v(m.want_fence, {"WantFence", since(0)});
    v(m.want_shut_down, {"WantShutDown", since(0)});
    v(m.offline_log_dirs, {"OfflineLogDirs", since(1), tagged_since(1, 0)});
    v(m.cordoned_log_dirs, {"CordonedLogDirs", since(2), nullable_since(2), tagged_since(2, 1)});
  }
  static MessageTable const& table();
};

struct BrokerHeartbeatResponse {
  static constexpr ApiKey kKey = ApiKey::broker_heartbeat;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  bool is_caught_up{};
  bool is_fenced = true;
  bool should_shut_down{};
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.is_caught_up, {"IsCaughtUp", since(0)});
    v(m.is_fenced, {"IsFenced", since(0)});
    v(m.should_shut_down, {"ShouldShutDown", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
