#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct JoinGroupRequest {
  static constexpr ApiKey kKey = ApiKey::join_group;
  static constexpr Versions kValid{0, 9}, kFlexible{6, kLatest};

  struct JoinGroupRequestProtocol {
    Str name;
    ByteView metadata;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.metadata, {"Metadata", since(0)});
    }
  };

  Str group_id;
  int32_t session_timeout_ms{};
  int32_t rebalance_timeout_ms = -1;
  Str member_id;
  std::optional<Str> group_instance_id;
  Str protocol_type;
  Array<JoinGroupRequestProtocol> protocols;
  std::optional<Str> reason;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.session_timeout_ms, {"SessionTimeoutMs", since(0)});
    v(m.rebalance_timeout_ms, {"RebalanceTimeoutMs", since(1), kIgnorable});
    v(m.member_id, {"MemberId", since(0)});
    v(m.group_instance_id, {"GroupInstanceId", since(5), nullable_since(5)});
    v(m.protocol_type, {"ProtocolType", since(0)});
    v(m.protocols, {"Protocols", since(0)});
    v(m.reason, {"Reason", since(8), nullable_since(8), kIgnorable});
  }
  static MessageTable const& table();
};

struct JoinGroupResponse {
  static constexpr ApiKey kKey = ApiKey::join_group;
  static constexpr Versions kValid{0, 9}, kFlexible{6, kLatest};

  struct JoinGroupResponseMember {
    Str member_id;
    std::optional<Str> group_instance_id;
    ByteView metadata;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(0)});
      v(m.group_instance_id, {"GroupInstanceId", since(5), nullable_since(5), kIgnorable});
      v(m.metadata, {"Metadata", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  int32_t generation_id = -1;
  std::optional<Str> protocol_type;
  std::optional<Str> protocol_name = "";
  Str leader;
  bool skip_assignment{};
  Str member_id;
  Array<JoinGroupResponseMember> members;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(2), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.generation_id, {"GenerationId", since(0)});
    v(m.protocol_type, {"ProtocolType", since(7), nullable_since(7), kIgnorable});
    v(m.protocol_name, {"ProtocolName", since(0), nullable_since(7)});
    v(m.leader, {"Leader", since(0)});
    v(m.skip_assignment, {"SkipAssignment", since(9)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.members, {"Members", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
