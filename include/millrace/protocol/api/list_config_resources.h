#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ListConfigResourcesRequest {
  static constexpr ApiKey kKey = ApiKey::list_config_resources;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  Array<int8_t> resource_types;
  static void describe(auto& m, auto& v) { v(m.resource_types, {"ResourceTypes", since(1)}); }
  static MessageTable const& table();
};

struct ListConfigResourcesResponse {
  static constexpr ApiKey kKey = ApiKey::list_config_resources;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct ConfigResource {
    Str resource_name;
    int8_t resource_type = 16;
    static void describe(auto& m, auto& v) {
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.resource_type, {"ResourceType", since(1), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<ConfigResource> config_resources;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.config_resources, {"ConfigResources", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
