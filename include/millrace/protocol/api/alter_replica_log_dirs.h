#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterReplicaLogDirsRequest {
  static constexpr ApiKey kKey = ApiKey::alter_replica_log_dirs;
  static constexpr Versions kValid{1, 2}, kFlexible{2, kLatest};

  struct AlterReplicaLogDirTopic {
    Str name;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct AlterReplicaLogDir {
    Str path;
    Array<AlterReplicaLogDirTopic> topics;
    static void describe(auto& m, auto& v) {
      v(m.path, {"Path", since(0)});
      v(m.topics, {"Topics", since(0)});
    }
  };

  Array<AlterReplicaLogDir> dirs;
  static void describe(auto& m, auto& v) { v(m.dirs, {"Dirs", since(0)}); }
  static MessageTable const& table();
};

struct AlterReplicaLogDirsResponse {
  static constexpr ApiKey kKey = ApiKey::alter_replica_log_dirs;
  static constexpr Versions kValid{1, 2}, kFlexible{2, kLatest};

  struct AlterReplicaLogDirPartitionResult {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct AlterReplicaLogDirTopicResult {
    Str topic_name;
    Array<AlterReplicaLogDirPartitionResult> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<AlterReplicaLogDirTopicResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
