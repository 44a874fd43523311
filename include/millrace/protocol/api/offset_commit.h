#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct OffsetCommitRequest {
  static constexpr ApiKey kKey = ApiKey::offset_commit;
  static constexpr Versions kValid{2, 10}, kFlexible{8, kLatest};

  struct OffsetCommitRequestPartition {
    int32_t partition_index{};
    int64_t committed_offset{};
    int32_t committed_leader_epoch = -1;
    std::optional<Str> committed_metadata = "";
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.committed_offset, {"CommittedOffset", since(0)});
      v(m.committed_leader_epoch, {"CommittedLeaderEpoch", since(6), kIgnorable});
      v(m.committed_metadata, {"CommittedMetadata", since(0), nullable_since(0)});
    }
  };

  struct OffsetCommitRequestTopic {
    Str name;
    Uuid topic_id;
    Array<OffsetCommitRequestPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 9), kIgnorable});
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  int32_t generation_id_or_member_epoch = -1;
  Str member_id;
  std::optional<Str> group_instance_id;
  int64_t retention_time_ms = -1;
  Array<OffsetCommitRequestTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.generation_id_or_member_epoch, {"GenerationIdOrMemberEpoch", since(1), kIgnorable});
    v(m.member_id, {"MemberId", since(1), kIgnorable});
    v(m.group_instance_id, {"GroupInstanceId", since(7), nullable_since(7)});
    v(m.retention_time_ms, {"RetentionTimeMs", between(2, 4), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct OffsetCommitResponse {
  static constexpr ApiKey kKey = ApiKey::offset_commit;
  static constexpr Versions kValid{2, 10}, kFlexible{8, kLatest};

  struct OffsetCommitResponsePartition {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct OffsetCommitResponseTopic {
    Str name;
    Uuid topic_id;
    Array<OffsetCommitResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 9), kIgnorable});
      v(m.topic_id, {"TopicId", since(10), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<OffsetCommitResponseTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(3), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
