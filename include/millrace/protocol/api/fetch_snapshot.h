#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct FetchSnapshotRequest {
  static constexpr ApiKey kKey = ApiKey::fetch_snapshot;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct SnapshotId {
    int64_t end_offset{};
    int32_t epoch{};
    static void describe(auto& m, auto& v) {
      v(m.end_offset, {"EndOffset", since(0)});
      v(m.epoch, {"Epoch", since(0)});
    }
  };

  struct PartitionSnapshot {
    int32_t partition{};
    int32_t current_leader_epoch{};
    SnapshotId snapshot_id;
    int64_t position{};
    Uuid replica_directory_id;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.current_leader_epoch, {"CurrentLeaderEpoch", since(0)});
      v(m.snapshot_id, {"SnapshotId", since(0)});
      v(m.position, {"Position", since(0)});
      v(m.replica_directory_id, {"ReplicaDirectoryId", since(1), tagged_since(1, 0), kIgnorable});
    }
  };

  struct TopicSnapshot {
    Str name;
    Array<PartitionSnapshot> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  std::optional<Str> cluster_id;
  int32_t replica_id = -1;
  int32_t max_bytes = INT32_MAX;
  Array<TopicSnapshot> topics;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0), tagged_since(0, 0)});
    v(m.replica_id, {"ReplicaId", since(0)});
    v(m.max_bytes, {"MaxBytes", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct FetchSnapshotResponse {
  static constexpr ApiKey kKey = ApiKey::fetch_snapshot;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct SnapshotId {
    int64_t end_offset{};
    int32_t epoch{};
    static void describe(auto& m, auto& v) {
      v(m.end_offset, {"EndOffset", since(0)});
      v(m.epoch, {"Epoch", since(0)});
    }
  };

  struct LeaderIdAndEpoch {
    int32_t leader_id{};
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
    }
  };

  struct PartitionSnapshot {
    int32_t index{};
    ErrorCode error_code{};
    SnapshotId snapshot_id;
    LeaderIdAndEpoch current_leader;
    int64_t size{};
    int64_t position{};
    Records unaligned_records;
    static void describe(auto& m, auto& v) {
      v(m.index, {"Index", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.snapshot_id, {"SnapshotId", since(0)});
      v(m.current_leader, {"CurrentLeader", since(0), tagged_since(0, 0)});
      v(m.size, {"Size", since(0)});
      v(m.position, {"Position", since(0)});
      v(m.unaligned_records, {"UnalignedRecords", since(0)});
    }
  };

  struct TopicSnapshot {
    Str name;
    Array<PartitionSnapshot> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct NodeEndpoint {
    int32_t node_id{};
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(1)});
      v(m.host, {"Host", since(1)});
      v(m.port, {"Port", since(1)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<TopicSnapshot> topics;
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0), kIgnorable});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.topics, {"Topics", since(0)});
    v(m.node_endpoints, {"NodeEndpoints", since(1), tagged_since(1, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
