#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterPartitionRequest {
  static constexpr ApiKey kKey = ApiKey::alter_partition;
  static constexpr Versions kValid{2, 3}, kFlexible{0, kLatest};

  struct BrokerState {
    int32_t broker_id{};
    int64_t broker_epoch = -1;
    static void describe(auto& m, auto& v) {
      v(m.broker_id, {"BrokerId", since(3)});
      v(m.broker_epoch, {"BrokerEpoch", since(3)});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    int32_t leader_epoch{};
    Array<int32_t> new_isr;
    Array<BrokerState> new_isr_with_epochs;
    int8_t leader_recovery_state{};
    int32_t partition_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.new_isr, {"NewIsr", between(0, 2)});
      v(m.new_isr_with_epochs, {"NewIsrWithEpochs", since(3)});
      v(m.leader_recovery_state, {"LeaderRecoveryState", since(1)});
      v(m.partition_epoch, {"PartitionEpoch", since(0)});
    }
  };

  struct TopicData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(2), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t broker_id{};
  int64_t broker_epoch = -1;
  Array<TopicData> topics;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct AlterPartitionResponse {
  static constexpr ApiKey kKey = ApiKey::alter_partition;
  static constexpr Versions kValid{2, 3}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    int32_t leader_id{};
    int32_t leader_epoch{};
    Array<int32_t> isr;
    int8_t leader_recovery_state{};
    int32_t partition_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.isr, {"Isr", since(0)});
      v(m.leader_recovery_state, {"LeaderRecoveryState", since(1), kIgnorable});
      v(m.partition_epoch, {"PartitionEpoch", since(0)});
    }
  };

  struct TopicData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(2), kIgnorable});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<TopicData> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
