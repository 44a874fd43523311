#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ShareGroupHeartbeatRequest {
  static constexpr ApiKey kKey = ApiKey::share_group_heartbeat;
  static constexpr Versions kValid{1, 1}, kFlexible{0, kLatest};

  Str group_id;
  Str member_id;
  int32_t member_epoch{};
  std::optional<Str> rack_id;
  Array<Str> subscribed_topic_names = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.subscribed_topic_names, {"SubscribedTopicNames", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct ShareGroupHeartbeatResponse {
  static constexpr ApiKey kKey = ApiKey::share_group_heartbeat;
  static constexpr Versions kValid{1, 1}, kFlexible{0, kLatest};

  struct TopicPartitions {
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Assignment {
    Array<TopicPartitions> topic_partitions;
    static void describe(auto& m, auto& v) { v(m.topic_partitions, {"TopicPartitions", since(0)}); }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  std::optional<Str> member_id;
  int32_t member_epoch{};
  int32_t heartbeat_interval_ms{};
  std::optional<Assignment> assignment;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.member_id, {"MemberId", since(0), nullable_since(0)});
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.heartbeat_interval_ms, {"HeartbeatIntervalMs", since(0)});
    v(m.assignment, {"Assignment", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
