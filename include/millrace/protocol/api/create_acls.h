#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct CreateAclsRequest {
  static constexpr ApiKey kKey = ApiKey::create_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct AclCreation {
    int8_t resource_type{};
    Str resource_name;
    int8_t resource_pattern_type = 3;
    Str principal;
    Str host;
    int8_t operation{};
    int8_t permission_type{};
    static void describe(auto& m, auto& v) {
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.resource_pattern_type, {"ResourcePatternType", since(1)});
      v(m.principal, {"Principal", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.operation, {"Operation", since(0)});
      v(m.permission_type, {"PermissionType", since(0)});
    }
  };

  Array<AclCreation> creations;
  static void describe(auto& m, auto& v) { v(m.creations, {"Creations", since(0)}); }
  static MessageTable const& table();
};

struct CreateAclsResponse {
  static constexpr ApiKey kKey = ApiKey::create_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct AclCreationResult {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<AclCreationResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
