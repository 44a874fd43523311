#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct TxnOffsetCommitRequest {
  static constexpr ApiKey kKey = ApiKey::txn_offset_commit;
  static constexpr Versions kValid{0, 6}, kFlexible{3, kLatest};

  struct TxnOffsetCommitRequestPartition {
    int32_t partition_index{};
    int64_t committed_offset{};
    int32_t committed_leader_epoch = -1;
    std::optional<Str> committed_metadata = "";
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.committed_offset, {"CommittedOffset", since(0)});
      v(m.committed_leader_epoch, {"CommittedLeaderEpoch", since(2), kIgnorable});
      v(m.committed_metadata, {"CommittedMetadata", since(0), nullable_since(0)});
    }
  };

  struct TxnOffsetCommitRequestTopic {
    Str name;
    Uuid topic_id;
    Array<TxnOffsetCommitRequestPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 5), kIgnorable});
      v(m.topic_id, {"TopicId", since(6), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str transactional_id;
  Str group_id;
  int64_t producer_id{};
  int16_t producer_epoch{};
  int32_t generation_id_or_member_epoch = -1;
  Str member_id;
  std::optional<Str> group_instance_id;
  Array<TxnOffsetCommitRequestTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.transactional_id, {"TransactionalId", since(0)});
    v(m.group_id, {"GroupId", since(0)});
    v(m.producer_id, {"ProducerId", since(0)});
    v(m.producer_epoch, {"ProducerEpoch", since(0)});
    v(m.generation_id_or_member_epoch, {"GenerationIdOrMemberEpoch", since(3)});
    v(m.member_id, {"MemberId", since(3)});
    v(m.group_instance_id, {"GroupInstanceId", since(3), nullable_since(3)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct TxnOffsetCommitResponse {
  static constexpr ApiKey kKey = ApiKey::txn_offset_commit;
  static constexpr Versions kValid{0, 6}, kFlexible{3, kLatest};

  struct TxnOffsetCommitResponsePartition {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct TxnOffsetCommitResponseTopic {
    Str name;
    Uuid topic_id;
    Array<TxnOffsetCommitResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", between(0, 5), kIgnorable});
      v(m.topic_id, {"TopicId", since(6), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<TxnOffsetCommitResponseTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
