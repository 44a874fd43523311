#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct SyncGroupRequest {
  static constexpr ApiKey kKey = ApiKey::sync_group;
  static constexpr Versions kValid{0, 5}, kFlexible{4, kLatest};

  struct SyncGroupRequestAssignment {
    Str member_id;
    ByteView assignment;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(0)});
      v(m.assignment, {"Assignment", since(0)});
    }
  };

  Str group_id;
  int32_t generation_id{};
  Str member_id;
  std::optional<Str> group_instance_id;
  std::optional<Str> protocol_type;
  std::optional<Str> protocol_name;
  Array<SyncGroupRequestAssignment> assignments;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.generation_id, {"GenerationId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.group_instance_id, {"GroupInstanceId", since(3), nullable_since(3)});
    v(m.protocol_type, {"ProtocolType", since(5), nullable_since(5), kIgnorable});
    v(m.protocol_name, {"ProtocolName", since(5), nullable_since(5), kIgnorable});
    v(m.assignments, {"Assignments", since(0)});
  }
  static MessageTable const& table();
};

struct SyncGroupResponse {
  static constexpr ApiKey kKey = ApiKey::sync_group;
  static constexpr Versions kValid{0, 5}, kFlexible{4, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> protocol_type;
  std::optional<Str> protocol_name;
  ByteView assignment;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.protocol_type, {"ProtocolType", since(5), nullable_since(5), kIgnorable});
    v(m.protocol_name, {"ProtocolName", since(5), nullable_since(5), kIgnorable});
    v(m.assignment, {"Assignment", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
