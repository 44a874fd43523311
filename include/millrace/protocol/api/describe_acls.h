#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeAclsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  int8_t resource_type_filter{};
  std::optional<Str> resource_name_filter = "";
  int8_t pattern_type_filter = 3;
  std::optional<Str> principal_filter = "";
  std::optional<Str> host_filter = "";
  int8_t operation{};
  int8_t permission_type{};
  static void describe(auto& m, auto& v) {
    v(m.resource_type_filter, {"ResourceTypeFilter", since(0)});
    v(m.resource_name_filter, {"ResourceNameFilter", since(0), nullable_since(0)});
    v(m.pattern_type_filter, {"PatternTypeFilter", since(1)});
    v(m.principal_filter, {"PrincipalFilter", since(0), nullable_since(0)});
    v(m.host_filter, {"HostFilter", since(0), nullable_since(0)});
    v(m.operation, {"Operation", since(0)});
    v(m.permission_type, {"PermissionType", since(0)});
  }
  static MessageTable const& table();
};

struct DescribeAclsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct AclDescription {
    Str principal;
    Str host;
    int8_t operation{};
    int8_t permission_type{};
    static void describe(auto& m, auto& v) {
      v(m.principal, {"Principal", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.operation, {"Operation", since(0)});
      v(m.permission_type, {"PermissionType", since(0)});
    }
  };

  struct DescribeAclsResource {
    int8_t resource_type{};
    Str resource_name;
    int8_t pattern_type = 3;
    Array<AclDescription> acls;
    static void describe(auto& m, auto& v) {
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.pattern_type, {"PatternType", since(1)});
      v(m.acls, {"Acls", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<DescribeAclsResource> resources;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.resources, {"Resources", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
