#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeGroupsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_groups;
  static constexpr Versions kValid{0, 6}, kFlexible{5, kLatest};

  Array<Str> groups;
  bool include_authorized_operations{};
  static void describe(auto& m, auto& v) {
    v(m.groups, {"Groups", since(0)});
    v(m.include_authorized_operations, {"IncludeAuthorizedOperations", since(3)});
  }
  static MessageTable const& table();
};

struct DescribeGroupsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_groups;
  static constexpr Versions kValid{0, 6}, kFlexible{5, kLatest};

  struct DescribedGroupMember {
    Str member_id;
    std::optional<Str> group_instance_id;
    Str client_id;
    Str client_host;
    ByteView member_metadata;
    ByteView member_assignment;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(0)});
      v(m.group_instance_id, {"GroupInstanceId", since(4), nullable_since(4), kIgnorable});
      v(m.client_id, {"ClientId", since(0)});
      v(m.client_host, {"ClientHost", since(0)});
      v(m.member_metadata, {"MemberMetadata", since(0)});
      v(m.member_assignment, {"MemberAssignment", since(0)});
    }
  };

  struct DescribedGroup {
    ErrorCode error_code{};
    std::optional<Str> error_message;
    Str group_id;
    Str group_state;
    Str protocol_type;
    Str protocol_data;
    Array<DescribedGroupMember> members;
    int32_t authorized_operations = INT32_MIN;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(6), nullable_since(6)});
      v(m.group_id, {"GroupId", since(0)});
      v(m.group_state, {"GroupState", since(0)});
      v(m.protocol_type, {"ProtocolType", since(0)});
      v(m.protocol_data, {"ProtocolData", since(0)});
      v(m.members, {"Members", since(0)});
      v(m.authorized_operations, {"AuthorizedOperations", since(3)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribedGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.groups, {"Groups", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
