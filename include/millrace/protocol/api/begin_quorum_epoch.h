#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct BeginQuorumEpochRequest {
  static constexpr ApiKey kKey = ApiKey::begin_quorum_epoch;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    Uuid voter_directory_id;
    int32_t leader_id{};
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.voter_directory_id, {"VoterDirectoryId", since(1), kIgnorable});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
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

  struct LeaderEndpoint {
    Str name;
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(1)});
      v(m.host, {"Host", since(1)});
      v(m.port, {"Port", since(1)});
    }
  };

  std::optional<Str> cluster_id;
  int32_t voter_id = -1;
  Array<TopicData> topics;
  Array<LeaderEndpoint> leader_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.voter_id, {"VoterId", since(1), kIgnorable});
    v(m.topics, {"Topics", since(0)});
    v(m.leader_endpoints, {"LeaderEndpoints", since(1), kIgnorable});
  }
  static MessageTable const& table();
};

struct BeginQuorumEpochResponse {
  static constexpr ApiKey kKey = ApiKey::begin_quorum_epoch;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    int32_t leader_id{};
    int32_t leader_epoch{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
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

  ErrorCode error_code{};
  Array<TopicData> topics;
  Array<NodeEndpoint> node_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.topics, {"Topics", since(0)});
    v(m.node_endpoints, {"NodeEndpoints", since(1), tagged_since(1, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
