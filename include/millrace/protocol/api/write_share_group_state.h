#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct WriteShareGroupStateRequest {
  static constexpr ApiKey kKey = ApiKey::write_share_group_state;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct StateBatch {
    int64_t first_offset{};
    int64_t last_offset{};
    int8_t delivery_state{};
    int16_t delivery_count{};
    static void describe(auto& m, auto& v) {
      v(m.first_offset, {"FirstOffset", since(0)});
      v(m.last_offset, {"LastOffset", since(0)});
      v(m.delivery_state, {"DeliveryState", since(0)});
      v(m.delivery_count, {"DeliveryCount", since(0)});
    }
  };

  struct PartitionData {
    int32_t partition{};
    int32_t state_epoch{};
    int32_t leader_epoch{};
    int64_t start_offset{};
    int32_t delivery_complete_count = -1;
    Array<StateBatch> state_batches;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.state_epoch, {"StateEpoch", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.start_offset, {"StartOffset", since(0)});
      v(m.delivery_complete_count, {"DeliveryCompleteCount", since(1), kIgnorable});
      v(m.state_batches, {"StateBatches", since(0)});
    }
  };

  struct WriteStateData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  Array<WriteStateData> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct WriteShareGroupStateResponse {
  static constexpr ApiKey kKey = ApiKey::write_share_group_state;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct PartitionResult {
    int32_t partition{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct WriteStateResult {
    Uuid topic_id;
    Array<PartitionResult> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<WriteStateResult> results;
  static void describe(auto& m, auto& v) { v(m.results, {"Results", since(0)}); }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
