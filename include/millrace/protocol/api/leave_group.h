#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct LeaveGroupRequest {
  static constexpr ApiKey kKey = ApiKey::leave_group;
  static constexpr Versions kValid{0, 5}, kFlexible{4, kLatest};

  struct MemberIdentity {
    Str member_id;
    std::optional<Str> group_instance_id;
    std::optional<Str> reason;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(3)});
      v(m.group_instance_id, {"GroupInstanceId", since(3), nullable_since(3)});
      v(m.reason, {"Reason", since(5), nullable_since(5), kIgnorable});
    }
  };

  Str group_id;
  Str member_id;
  Array<MemberIdentity> members;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.member_id, {"MemberId", between(0, 2)});
    v(m.members, {"Members", since(3)});
  }
  static MessageTable const& table();
};

struct LeaveGroupResponse {
  static constexpr ApiKey kKey = ApiKey::leave_group;
  static constexpr Versions kValid{0, 5}, kFlexible{4, kLatest};

  struct MemberResponse {
    Str member_id;
    std::optional<Str> group_instance_id = "";
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(3)});
      v(m.group_instance_id, {"GroupInstanceId", since(3), nullable_since(3)});
      v(m.error_code, {"ErrorCode", since(3)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<MemberResponse> members;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.members, {"Members", since(3)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
