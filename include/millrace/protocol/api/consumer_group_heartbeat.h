#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ConsumerGroupHeartbeatRequest {
  static constexpr ApiKey kKey = ApiKey::consumer_group_heartbeat;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct TopicPartitions {
    Uuid topic_id;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  Str member_id;
  int32_t member_epoch{};
  std::optional<Str> instance_id;
  std::optional<Str> rack_id;
  int32_t rebalance_timeout_ms = -1;
  Array<Str> subscribed_topic_names = kNullArray;
  std::optional<Str> subscribed_topic_regex;
  std::optional<Str> server_assignor;
  Array<TopicPartitions> topic_partitions = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.member_id, {"MemberId", since(0)});
    v(m.member_epoch, {"MemberEpoch", since(0)});
    v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
    v(m.rack_id, {"RackId", since(0), nullable_since(0)});
    v(m.rebalance_timeout_ms, {"RebalanceTimeoutMs", since(0)});
    v(m.subscribed_topic_names, {"SubscribedTopicNames", since(0), nullable_since(0)});
    v(m.subscribed_topic_regex, {"SubscribedTopicRegex", since(1), nullable_since(1)});
    v(m.server_assignor, {"ServerAssignor", since(0), nullable_since(0)});
    v(m.topic_partitions, {"TopicPartitions", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupHeartbeatResponse {
  static constexpr ApiKey kKey = ApiKey::consumer_group_heartbeat;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

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
