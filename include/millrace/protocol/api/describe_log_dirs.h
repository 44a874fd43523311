#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeLogDirsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_log_dirs;
  static constexpr Versions kValid{1, 5}, kFlexible{2, kLatest};

  struct DescribableLogDirTopic {
    Str topic;
    Array<int32_t> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic, {"Topic", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<DescribableLogDirTopic> topics;
  static void describe(auto& m, auto& v) { v(m.topics, {"Topics", since(0), nullable_since(0)}); }
  static MessageTable const& table();
};

struct DescribeLogDirsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_log_dirs;
  static constexpr Versions kValid{1, 5}, kFlexible{2, kLatest};

  struct DescribeLogDirsPartition {
    int32_t partition_index{};
    int64_t partition_size{};
    int64_t offset_lag{};
    bool is_future_key{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.partition_size, {"PartitionSize", since(0)});
      v(m.offset_lag, {"OffsetLag", since(0)});
      v(m.is_future_key, {"IsFutureKey", since(0)});
    }
  };

  struct DescribeLogDirsTopic {
    Str name;
    Array<DescribeLogDirsPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  struct DescribeLogDirsResult {
    ErrorCode error_code{};
    Str log_dir;
    Array<DescribeLogDirsTopic> topics;
    int64_t total_bytes = -1;
    int64_t usable_bytes = -1;
    bool is_cordoned{};
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.log_dir, {"LogDir", since(0)});
      v(m.topics, {"Topics", since(0)});
      v(m.total_bytes, {"TotalBytes", since(4), kIgnorable});
      v(m.usable_bytes, {"UsableBytes", since(4), kIgnorable});
      v(m.is_cordoned, {"IsCordoned", since(5), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  Array<DescribeLogDirsResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(3), kIgnorable});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
