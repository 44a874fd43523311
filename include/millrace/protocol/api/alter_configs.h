#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterConfigsRequest {
  static constexpr ApiKey kKey = ApiKey::alter_configs;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct AlterableConfig {
    Str name;
    std::optional<Str> value = "";
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.value, {"Value", since(0), nullable_since(0)});
    }
  };

  struct AlterConfigsResource {
    int8_t resource_type{};
    Str resource_name;
    Array<AlterableConfig> configs;
    static void describe(auto& m, auto& v) {
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.configs, {"Configs", since(0)});
    }
  };

  Array<AlterConfigsResource> resources;
  bool validate_only{};
  static void describe(auto& m, auto& v) {
    v(m.resources, {"Resources", since(0)});
    v(m.validate_only, {"ValidateOnly", since(0)});
  }
  static MessageTable const& table();
};

struct AlterConfigsResponse {
  static constexpr ApiKey kKey = ApiKey::alter_configs;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct AlterConfigsResourceResponse {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    int8_t resource_type{};
    Str resource_name;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<AlterConfigsResourceResponse> responses;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.responses, {"Responses", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
