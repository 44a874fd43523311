#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteGroupsRequest {
  static constexpr ApiKey kKey = ApiKey::delete_groups;
  static constexpr Versions kValid{0, 3}, kFlexible{2, kLatest};

  Array<Str> groups_names;
  static void describe(auto& m, auto& v) { v(m.groups_names, {"GroupsNames", since(0)}); }
  static MessageTable const& table();
};

struct DeleteGroupsResponse {
  static constexpr ApiKey kKey = ApiKey::delete_groups;
  static constexpr Versions kValid{0, 3}, kFlexible{2, kLatest};

  struct DeletableGroupResult {
    Str group_id;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(3), nullable_since(3), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  Array<DeletableGroupResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
