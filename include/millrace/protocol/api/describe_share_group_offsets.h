#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeShareGroupOffsetsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_share_group_offsets;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct DescribeShareGroupOffsetsRequestTopic {
    Str topic_name;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct DescribeShareGroupOffsetsRequestGroup {
    Str group_id;
    Array<DescribeShareGroupOffsetsRequestTopic> topics;
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(0)});
      v(m.topics, {"Topics", since(0), nullable_since(0)});
    }
  };

  Array<DescribeShareGroupOffsetsRequestGroup> groups;
  static void describe(auto& m, auto& v) { v(m.groups, {"Groups", since(0)}); }
  static MessageTable const& table();
};

struct DescribeShareGroupOffsetsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_share_group_offsets;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct DescribeShareGroupOffsetsResponsePartition {
    int32_t partition_index{};
    int64_t start_offset{};
    int32_t leader_epoch{};
    int64_t lag = -1;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.start_offset, {"StartOffset", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.lag, {"Lag", since(1), kIgnorable});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct DescribeShareGroupOffsetsResponseTopic {
    Str topic_name;
    Uuid topic_id;
    Array<DescribeShareGroupOffsetsResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct DescribeShareGroupOffsetsResponseGroup {
    Str group_id;
    Array<DescribeShareGroupOffsetsResponseTopic> topics;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(0)});
      v(m.topics, {"Topics", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribeShareGroupOffsetsResponseGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.groups, {"Groups", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
