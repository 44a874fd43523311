#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteRecordsRequest {
  static constexpr ApiKey kKey = ApiKey::delete_records;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct DeleteRecordsPartition {
    int32_t partition_index{};
    int64_t offset{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.offset, {"Offset", since(0)});
    }
  };

  struct DeleteRecordsTopic {
    Str name;
    Array<DeleteRecordsPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<DeleteRecordsTopic> topics;
  int32_t timeout_ms{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
  }
  static MessageTable const& table();
};

struct DeleteRecordsResponse {
  static constexpr ApiKey kKey = ApiKey::delete_records;
  static constexpr Versions kValid{0, 2}, kFlexible{2, kLatest};

  struct DeleteRecordsPartitionResult {
    int32_t partition_index{};
    int64_t low_watermark{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.low_watermark, {"LowWatermark", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct DeleteRecordsTopicResult {
    Str name;
    Array<DeleteRecordsPartitionResult> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DeleteRecordsTopicResult> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
