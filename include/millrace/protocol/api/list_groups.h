#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ListGroupsRequest {
  static constexpr ApiKey kKey = ApiKey::list_groups;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  Array<Str> states_filter;
  Array<Str> types_filter;
  static void describe(auto& m, auto& v) {
    v(m.states_filter, {"StatesFilter", since(4)});
    v(m.types_filter, {"TypesFilter", since(5)});
  }
  static MessageTable const& table();
};

struct ListGroupsResponse {
  static constexpr ApiKey kKey = ApiKey::list_groups;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  struct ListedGroup {
    Str group_id;
    Str protocol_type;
    Str group_state;
    Str group_type;
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(0)});
      v(m.protocol_type, {"ProtocolType", since(0)});
      v(m.group_state, {"GroupState", since(4), kIgnorable});
      v(m.group_type, {"GroupType", since(5), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<ListedGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.groups, {"Groups", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
