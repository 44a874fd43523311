#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct OffsetFetchRequest {
  static constexpr ApiKey kKey = ApiKey::offset_fetch;
  static constexpr Versions kValid{1, 10}, kFlexible{6, kLatest};

  struct OffsetFetchRequestTopic {
    Str name;
    Array<int32_t> partition_indexes;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 7)});
      v(m.partition_indexes, {"PartitionIndexes", between(0, 7)});
    }
  };

  struct OffsetFetchRequestTopics {
    Str name;
    Uuid topic_id;
    Array<int32_t> partition_indexes;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(8, 9), kIgnorable});
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.partition_indexes, {"PartitionIndexes", since(8)});
    }
  };

  struct OffsetFetchRequestGroup {
    Str group_id;
    std::optional<Str> member_id;
    int32_t member_epoch = -1;
    Array<OffsetFetchRequestTopics> topics;
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(8)});
      v(m.member_id, {"MemberId", since(9), nullable_since(9), kIgnorable});
      v(m.member_epoch, {"MemberEpoch", since(9), kIgnorable});
      v(m.topics, {"Topics", since(8), nullable_since(8)});
    }
  };

  Str group_id;
  Array<OffsetFetchRequestTopic> topics;
  Array<OffsetFetchRequestGroup> groups;
  bool require_stable{};
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 7)});
    v(m.topics, {"Topics", between(0, 7), nullable_between(2, 7)});
    v(m.groups, {"Groups", since(8)});
    v(m.require_stable, {"RequireStable", since(7)});
  }
  static MessageTable const& table();
};

struct OffsetFetchResponse {
  static constexpr ApiKey kKey = ApiKey::offset_fetch;
  static constexpr Versions kValid{1, 10}, kFlexible{6, kLatest};

  struct OffsetFetchResponsePartition {
    int32_t partition_index{};
    int64_t committed_offset{};
    int32_t committed_leader_epoch = -1;
    std::optional<Str> metadata = "";
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", between(0, 7)});
      v(m.committed_offset, {"CommittedOffset", between(0, 7)});
      v(m.committed_leader_epoch, {"CommittedLeaderEpoch", between(5, 7), kIgnorable});
      v(m.metadata, {"Metadata", between(0, 7), nullable_between(0, 7)});
      v(m.error_code, {"ErrorCode", between(0, 7)});
    }
  };

  struct OffsetFetchResponseTopic {
    Str name;
    Array<OffsetFetchResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 7)});
      v(m.partitions, {"Partitions", between(0, 7)});
    }
  };

  struct OffsetFetchResponsePartitions {
    int32_t partition_index{};
    int64_t committed_offset{};
    int32_t committed_leader_epoch = -1;
    std::optional<Str> metadata = "";
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(8)});
      v(m.committed_offset, {"CommittedOffset", since(8)});
      v(m.committed_leader_epoch, {"CommittedLeaderEpoch", since(8), kIgnorable});
      v(m.metadata, {"Metadata", since(8), nullable_since(8)});
      v(m.error_code, {"ErrorCode", since(8)});
    }
  };

  struct OffsetFetchResponseTopics {
    Str name;
    Uuid topic_id;
    Array<OffsetFetchResponsePartitions> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(8, 9), kIgnorable});
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.partitions, {"Partitions", since(8)});
    }
  };

  struct OffsetFetchResponseGroup {
    Str group_id;
    Array<OffsetFetchResponseTopics> topics;
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.group_id, {"GroupId", since(8)});
      v(m.topics, {"Topics", since(8)});
      v(m.error_code, {"ErrorCode", since(8)});
    }
  };

  int32_t throttle_time_ms{};
  Array<OffsetFetchResponseTopic> topics;
  ErrorCode error_code{};
  Array<OffsetFetchResponseGroup> groups;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(3), kIgnorable});
    v(m.topics, {"Topics", between(0, 7)});
    v(m.error_code, {"ErrorCode", between(2, 7), kIgnorable});
    v(m.groups, {"Groups", since(8)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
