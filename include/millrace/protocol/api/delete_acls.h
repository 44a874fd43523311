#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteAclsRequest {
  static constexpr ApiKey kKey = ApiKey::delete_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct DeleteAclsFilter {
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
  };

  Array<DeleteAclsFilter> filters;
  static void describe(auto& m, auto& v) { v(m.filters, {"Filters", since(0)}); }
  static MessageTable const& table();
};

struct DeleteAclsResponse {
  static constexpr ApiKey kKey = ApiKey::delete_acls;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct DeleteAclsMatchingAcl {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    int8_t resource_type{};
    Str resource_name;
    int8_t pattern_type = 3;
    Str principal;
    Str host;
    int8_t operation{};
    int8_t permission_type{};
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.pattern_type, {"PatternType", since(1)});
      v(m.principal, {"Principal", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.operation, {"Operation", since(0)});
      v(m.permission_type, {"PermissionType", since(0)});
    }
  };

  struct DeleteAclsFilterResult {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    Array<DeleteAclsMatchingAcl> matching_acls;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.matching_acls, {"MatchingAcls", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DeleteAclsFilterResult> filter_results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.filter_results, {"FilterResults", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
