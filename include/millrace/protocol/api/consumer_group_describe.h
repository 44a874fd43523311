#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ConsumerGroupDescribeRequest {
  static constexpr ApiKey kKey = ApiKey::consumer_group_describe;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  Array<Str> group_ids;
  bool include_authorized_operations{};
  static void describe(auto& m, auto& v) {
    v(m.group_ids, {"GroupIds", since(0)});
    v(m.include_authorized_operations, {"IncludeAuthorizedOperations", since(0)});
  }
  static MessageTable const& table();
};

struct ConsumerGroupDescribeResponse {
  static constexpr ApiKey kKey = ApiKey::consumer_group_describe;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct TopicPartitions {
    Uuid topic_id;
    Str topic_name;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Assignment {
    Array<TopicPartitions> topic_partitions;
    static void describe(auto& m, auto& v) { v(m.topic_partitions, {"TopicPartitions", since(0)}); }
  };

  struct Member {
    Str member_id;
    std::optional<Str> instance_id;
    std::optional<Str> rack_id;
    int32_t member_epoch{};
    Str client_id;
    Str client_host;
    Array<Str> subscribed_topic_names;
    std::optional<Str> subscribed_topic_regex;
    Assignment assignment;
    Assignment target_assignment;
    int8_t member_type = -1;
    static void describe(auto& m, auto& v) {
      v(m.member_id, {"MemberId", since(0)});
      v(m.instance_id, {"InstanceId", since(0), nullable_since(0)});
      v(m.rack_id, {"RackId", since(0), nullable_since(0)});
      v(m.member_epoch, {"MemberEpoch", since(0)});
      v(m.client_id, {"ClientId", since(0)});
      v(m.client_host, {"ClientHost", since(0)});
      v(m.subscribed_topic_names, {"SubscribedTopicNames", since(0)});
      v(m.subscribed_topic_regex, {"SubscribedTopicRegex", since(0), nullable_since(0)});
      v(m.assignment, {"Assignment", since(0)});
      v(m.target_assignment, {"TargetAssignment", since(0)});
      v(m.member_type, {"MemberType", since(1), kIgnorable});
    }
  };

  struct DescribedGroup {
    ErrorCode error_code{};
    std::optional<Str> error_message;
    Str group_id;
    Str group_state;
    int32_t group_epoch{};
    int32_t assignment_epoch{};
    Str assignor_name;
    Array<Member> members;
    int32_t authorized_operations = INT32_MIN;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.group_id, {"GroupId", since(0)});
      v(m.group_state, {"GroupState", since(0)});
      v(m.group_epoch, {"GroupEpoch", since(0)});
      v(m.assignment_epoch, {"AssignmentEpoch", since(0)});
      v(m.assignor_name, {"AssignorName", since(0)});
      v(m.members, {"Members", since(0)});
      v(m.authorized_operations, {"AuthorizedOperations", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribedGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.groups, {"Groups", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
