#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct VoteRequest {
  static constexpr ApiKey kKey = ApiKey::vote;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    int32_t replica_epoch{};
    int32_t replica_id{};
    Uuid replica_directory_id;
    Uuid voter_directory_id;
    int32_t last_offset_epoch{};
    int64_t last_offset{};
    bool pre_vote{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.replica_epoch, {"ReplicaEpoch", since(0)});
      v(m.replica_id, {"ReplicaId", since(0)});
      v(m.replica_directory_id, {"ReplicaDirectoryId", since(1), kIgnorable});
      v(m.voter_directory_id, {"VoterDirectoryId", since(1), kIgnorable});
      v(m.last_offset_epoch, {"LastOffsetEpoch", since(0)});
      v(m.last_offset, {"LastOffset", since(0)});
      v(m.pre_vote, {"PreVote", since(2)});
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

  std::optional<Str> cluster_id;
  int32_t voter_id = -1;
  Array<TopicData> topics;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.voter_id, {"VoterId", since(1), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct VoteResponse {
  static constexpr ApiKey kKey = ApiKey::vote;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    int32_t leader_id{};
    int32_t leader_epoch{};
    bool vote_granted{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.vote_granted, {"VoteGranted", since(0)});
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
