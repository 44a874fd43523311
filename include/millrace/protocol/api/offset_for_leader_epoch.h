#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct OffsetForLeaderEpochRequest {
  static constexpr ApiKey kKey = ApiKey::offset_for_leader_epoch;
  static constexpr Versions kValid{2, 4}, kFlexible{4, kLatest};

  struct OffsetForLeaderPartition {
    int32_t partition{};
    int32_t current_leader_epoch = -1;
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.current_leader_epoch, {"CurrentLeaderEpoch", since(2), kIgnorable});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
    }
  };

  struct OffsetForLeaderTopic {
    Str topic;
    Array<OffsetForLeaderPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t replica_id = -2;
  Array<OffsetForLeaderTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.replica_id, {"ReplicaId", since(3), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct OffsetForLeaderEpochResponse {
  static constexpr ApiKey kKey = ApiKey::offset_for_leader_epoch;
  static constexpr Versions kValid{2, 4}, kFlexible{4, kLatest};

  struct EpochEndOffset {
    ErrorCode error_code{};
    int32_t partition{};
    int32_t leader_epoch = -1;
    int64_t end_offset = -1;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.partition, {"Partition", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(1), kIgnorable});
      v(m.end_offset, {"EndOffset", since(0)});
    }
  };

  struct OffsetForLeaderTopicResult {
    Str topic;
    Array<EpochEndOffset> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<OffsetForLeaderTopicResult> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(2), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
