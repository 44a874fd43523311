#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct EndQuorumEpochRequest {
  static constexpr ApiKey kKey = ApiKey::end_quorum_epoch;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct ReplicaInfo {
    int32_t candidate_id{};
    Uuid candidate_directory_id;
    static void describe(auto& m, auto& v) {
      v(m.candidate_id, {"CandidateId", since(1)});
      v(m.candidate_directory_id, {"CandidateDirectoryId", since(1)});
    }
  };

  struct PartitionData {
    int32_t partition_index{};
    int32_t leader_id{};
    int32_t leader_epoch{};
    Array<int32_t> preferred_successors;
    Array<ReplicaInfo> preferred_candidates;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.preferred_successors, {"PreferredSuccessors", between(0, 0), kIgnorable});
      v(m.preferred_candidates, {"PreferredCandidates", since(1), kIgnorable});
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
  Array<TopicData> topics;
  Array<LeaderEndpoint> leader_endpoints;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.topics, {"Topics", since(0)});
    v(m.leader_endpoints, {"LeaderEndpoints", since(1), kIgnorable});
  }
  static MessageTable const& table();
};

struct EndQuorumEpochResponse {
  static constexpr ApiKey kKey = ApiKey::end_quorum_epoch;
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
