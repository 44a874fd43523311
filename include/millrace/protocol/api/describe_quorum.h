#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeQuorumRequest {
  static constexpr ApiKey kKey = ApiKey::describe_quorum;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    static void describe(auto& m, auto& v) { v(m.partition_index, {"PartitionIndex", since(0)}); }
  };

  struct TopicData {
    Str topic_name;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<TopicData> topics;
  static void describe(auto& m, auto& v) { v(m.topics, {"Topics", since(0)}); }
  static MessageTable const& table();
};

struct DescribeQuorumResponse {
  static constexpr ApiKey kKey = ApiKey::describe_quorum;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct ReplicaState {
    int32_t replica_id{};
    Uuid replica_directory_id;
    int64_t log_end_offset{};
    int64_t last_fetch_timestamp = -1;
    int64_t last_caught_up_timestamp = -1;
    static void describe(auto& m, auto& v) {
      v(m.replica_id, {"ReplicaId", since(0)});
      v(m.replica_directory_id, {"ReplicaDirectoryId", since(2)});
      v(m.log_end_offset, {"LogEndOffset", since(0)});
      v(m.last_fetch_timestamp, {"LastFetchTimestamp", since(1), kIgnorable});
      v(m.last_caught_up_timestamp, {"LastCaughtUpTimestamp", since(1), kIgnorable});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    int32_t leader_id{};
    int32_t leader_epoch{};
    int64_t high_watermark{};
    Array<ReplicaState> current_voters;
    Array<ReplicaState> observers;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(2), nullable_since(2), kIgnorable});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.high_watermark, {"HighWatermark", since(0)});
      v(m.current_voters, {"CurrentVoters", since(0)});
      v(m.observers, {"Observers", since(0)});
    }
  };

  struct TopicData {
    Str topic_name;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct Listener {
    Str name;
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(2)});
      v(m.host, {"Host", since(2)});
      v(m.port, {"Port", since(2)});
    }
  };

  struct Node {
    int32_t node_id{};
    Array<Listener> listeners;
    static void describe(auto& m, auto& v) {
      v(m.node_id, {"NodeId", since(2)});
      v(m.listeners, {"Listeners", since(2)});
    }
  };

  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<TopicData> topics;
  Array<Node> nodes;
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(2), nullable_since(2), kIgnorable});
    v(m.topics, {"Topics", since(0)});
    v(m.nodes, {"Nodes", since(2)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
