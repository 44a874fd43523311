// Records of __remote_log_metadata.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct RemoteLogSegmentMetadataRecord {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicIdPartitionEntry {
    Str name;
    Uuid id;
    int32_t partition{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.id, {"Id", since(0)});
      v(m.partition, {"Partition", since(0)});
    }
  };

  struct RemoteLogSegmentIdEntry {
    TopicIdPartitionEntry topic_id_partition;
    Uuid id;
    static void describe(auto& m, auto& v) {
      v(m.topic_id_partition, {"TopicIdPartition", since(0)});
      v(m.id, {"Id", since(0)});
    }
  };

  struct SegmentLeaderEpochEntry {
    int32_t leader_epoch{};
    int64_t offset{};
    static void describe(auto& m, auto& v) {
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.offset, {"Offset", since(0)});
    }
  };

  RemoteLogSegmentIdEntry remote_log_segment_id;
  int64_t start_offset{};
  int64_t end_offset{};
  int32_t broker_id{};
  int64_t max_timestamp_ms{};
  int64_t event_timestamp_ms{};
  Array<SegmentLeaderEpochEntry> segment_leader_epochs;
  int32_t segment_size_in_bytes{};
  std::optional<ByteView> custom_metadata;
  int8_t remote_log_segment_state{};
  bool txn_index_empty{};
  static void describe(auto& m, auto& v) {
    v(m.remote_log_segment_id, {"RemoteLogSegmentId", since(0)});
    v(m.start_offset, {"StartOffset", since(0)});
    v(m.end_offset, {"EndOffset", since(0)});
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.max_timestamp_ms, {"MaxTimestampMs", since(0)});
    v(m.event_timestamp_ms, {"EventTimestampMs", since(0)});
    v(m.segment_leader_epochs, {"SegmentLeaderEpochs", since(0)});
    v(m.segment_size_in_bytes, {"SegmentSizeInBytes", since(0)});
    v(m.custom_metadata, {"CustomMetadata", since(0), nullable_since(0)});
    v(m.remote_log_segment_state, {"RemoteLogSegmentState", since(0)});
    v(m.txn_index_empty, {"TxnIndexEmpty", since(0), tagged_since(0, 0)});
  }
  static MessageTable const& table();
};

struct RemoteLogSegmentMetadataUpdateRecord {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicIdPartitionEntry {
    Str name;
    Uuid id;
    int32_t partition{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.id, {"Id", since(0)});
      v(m.partition, {"Partition", since(0)});
    }
  };

  struct RemoteLogSegmentIdEntry {
    TopicIdPartitionEntry topic_id_partition;
    Uuid id;
    static void describe(auto& m, auto& v) {
      v(m.topic_id_partition, {"TopicIdPartition", since(0)});
      v(m.id, {"Id", since(0)});
    }
  };

  RemoteLogSegmentIdEntry remote_log_segment_id;
  int32_t broker_id{};
  int64_t event_timestamp_ms{};
  std::optional<ByteView> custom_metadata;
  int8_t remote_log_segment_state{};
  static void describe(auto& m, auto& v) {
    v(m.remote_log_segment_id, {"RemoteLogSegmentId", since(0)});
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.event_timestamp_ms, {"EventTimestampMs", since(0)});
    v(m.custom_metadata, {"CustomMetadata", since(0), nullable_since(0)});
    v(m.remote_log_segment_state, {"RemoteLogSegmentState", since(0)});
  }
  static MessageTable const& table();
};

struct RemotePartitionDeleteMetadataRecord {
  static constexpr int16_t kKey = 2;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct TopicIdPartitionEntry {
    Str name;
    Uuid id;
    int32_t partition{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.id, {"Id", since(0)});
      v(m.partition, {"Partition", since(0)});
    }
  };

  TopicIdPartitionEntry topic_id_partition;
  int32_t broker_id{};
  int64_t event_timestamp_ms{};
  int8_t remote_partition_delete_state{};
  static void describe(auto& m, auto& v) {
    v(m.topic_id_partition, {"TopicIdPartition", since(0)});
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.event_timestamp_ms, {"EventTimestampMs", since(0)});
    v(m.remote_partition_delete_state, {"RemotePartitionDeleteState", since(0)});
  }
  static MessageTable const& table();
};

struct RemoteLogSegmentMetadataSnapshotRecord {
  static constexpr int16_t kKey = 3;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct SegmentLeaderEpochEntry {
    int32_t leader_epoch{};
    int64_t offset{};
    static void describe(auto& m, auto& v) {
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.offset, {"Offset", since(0)});
    }
  };

  Uuid segment_id;
  int64_t start_offset{};
  int64_t end_offset{};
  int32_t broker_id{};
  int64_t max_timestamp_ms{};
  int64_t event_timestamp_ms{};
  Array<SegmentLeaderEpochEntry> segment_leader_epochs;
  int32_t segment_size_in_bytes{};
  std::optional<ByteView> custom_metadata;
  int8_t remote_log_segment_state{};
  bool txn_index_empty{};
  static void describe(auto& m, auto& v) {
    v(m.segment_id, {"SegmentId", since(0)});
    v(m.start_offset, {"StartOffset", since(0)});
    v(m.end_offset, {"EndOffset", since(0)});
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.max_timestamp_ms, {"MaxTimestampMs", since(0)});
    v(m.event_timestamp_ms, {"EventTimestampMs", since(0)});
    v(m.segment_leader_epochs, {"SegmentLeaderEpochs", since(0)});
    v(m.segment_size_in_bytes, {"SegmentSizeInBytes", since(0)});
    v(m.custom_metadata, {"CustomMetadata", since(0), nullable_since(0)});
    v(m.remote_log_segment_state, {"RemoteLogSegmentState", since(0)});
    v(m.txn_index_empty, {"TxnIndexEmpty", since(0), tagged_since(0, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
