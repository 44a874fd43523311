// Records of __share_group_state.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct ShareSnapshotKey {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Uuid topic_id;
  int32_t partition{};
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.topic_id, {"TopicId", between(0, 0)});
    v(m.partition, {"Partition", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ShareSnapshotValue {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

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

  int32_t snapshot_epoch{};
  int32_t state_epoch{};
  int32_t leader_epoch{};
  int64_t start_offset{};
  int32_t delivery_complete_count = -1;
  int64_t create_timestamp{};
  int64_t write_timestamp{};
  Array<StateBatch> state_batches;
  static void describe(auto& m, auto& v) {
    v(m.snapshot_epoch, {"SnapshotEpoch", since(0)});
    v(m.state_epoch, {"StateEpoch", since(0)});
    v(m.leader_epoch, {"LeaderEpoch", since(0)});
    v(m.start_offset, {"StartOffset", since(0)});
    v(m.delivery_complete_count, {"DeliveryCompleteCount", since(0), tagged_since(0, 0)});
    v(m.create_timestamp, {"CreateTimestamp", since(0)});
    v(m.write_timestamp, {"WriteTimestamp", since(0)});
    v(m.state_batches, {"StateBatches", since(0)});
  }
  static MessageTable const& table();
};

struct ShareUpdateKey {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  Str group_id;
  Uuid topic_id;
  int32_t partition{};
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", between(0, 0)});
    v(m.topic_id, {"TopicId", between(0, 0)});
    v(m.partition, {"Partition", between(0, 0)});
  }
  static MessageTable const& table();
};

struct ShareUpdateValue {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

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

  int32_t snapshot_epoch{};
  int32_t leader_epoch{};
  int64_t start_offset{};
  int32_t delivery_complete_count = -1;
  Array<StateBatch> state_batches;
  static void describe(auto& m, auto& v) {
    v(m.snapshot_epoch, {"SnapshotEpoch", since(0)});
    v(m.leader_epoch, {"LeaderEpoch", since(0)});
    v(m.start_offset, {"StartOffset", since(0)});
    v(m.delivery_complete_count, {"DeliveryCompleteCount", since(0), tagged_since(0, 0)});
    v(m.state_batches, {"StateBatches", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
