// ListOffsets as the actors ask it: one partition, one special timestamp.
#pragma once
#include "sim/run/actor.h"

namespace millrace::sim {

inline constexpr int64_t kLatest = -1;
inline constexpr int64_t kEarliest = -2;
inline constexpr int16_t kListOffsetsLowest = 4;  // with leader epochs

// ListOffsets for one partition.
struct OffsetQuestion {
  OffsetQuestion(RunPartition const& partition, int64_t timestamp, checker::Isolation isolation) {
    partitions.resize(1);
    partitions[0].partition_index = partition.number;
    partitions[0].current_leader_epoch = partition.leader_epoch;
    partitions[0].timestamp = timestamp;
    topics.resize(1);
    topics[0].name = partition.topic;
    topics[0].partitions = partitions;
    request.replica_id = -1;
    request.isolation_level = isolation == checker::Isolation::read_committed ? 1 : 0;
    request.topics = topics;
    request.timeout_ms = 1000;
  }
  std::vector<protocol::ListOffsetsRequest::ListOffsetsPartition> partitions;
  std::vector<protocol::ListOffsetsRequest::ListOffsetsTopic> topics;
  protocol::ListOffsetsRequest request;
};

// Null: no answer for the one partition.
inline protocol::ListOffsetsResponse::ListOffsetsPartitionResponse const* only_answer(client::Reply<protocol::ListOffsetsResponse>* reply) {
  if (reply == nullptr || reply->message.topics.size() != 1 || reply->message.topics[0].partitions.size() != 1) return nullptr;
  return &reply->message.topics[0].partitions[0];
}

}  // namespace millrace::sim
