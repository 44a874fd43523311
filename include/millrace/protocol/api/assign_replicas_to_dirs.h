#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AssignReplicasToDirsRequest {
  static constexpr ApiKey kKey = ApiKey::assign_replicas_to_dirs;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    static void describe(auto& m, auto& v) { v(m.partition_index, {"PartitionIndex", since(0)}); }
  };

  struct TopicData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct DirectoryData {
    Uuid id;
    Array<TopicData> topics;
    static void describe(auto& m, auto& v) {
      v(m.id, {"Id", since(0)});
      v(m.topics, {"Topics", since(0)});
    }
  };

  int32_t broker_id{};
  int64_t broker_epoch = -1;
  Array<DirectoryData> directories;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.directories, {"Directories", since(0)});
  }
  static MessageTable const& table();
};

struct AssignReplicasToDirsResponse {
  static constexpr ApiKey kKey = ApiKey::assign_replicas_to_dirs;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct TopicData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct DirectoryData {
    Uuid id;
    Array<TopicData> topics;
    static void describe(auto& m, auto& v) {
      v(m.id, {"Id", since(0)});
      v(m.topics, {"Topics", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<DirectoryData> directories;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.directories, {"Directories", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
