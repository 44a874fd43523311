#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct OffsetDeleteRequest {
  static constexpr ApiKey kKey = ApiKey::offset_delete;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  struct OffsetDeleteRequestPartition {
    int32_t partition_index{};
    static void describe(auto& m, auto& v) { v(m.partition_index, {"PartitionIndex", since(0)}); }
  };

  struct OffsetDeleteRequestTopic {
    Str name;
    Array<OffsetDeleteRequestPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  Array<OffsetDeleteRequestTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct OffsetDeleteResponse {
  static constexpr ApiKey kKey = ApiKey::offset_delete;
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  struct OffsetDeleteResponsePartition {
    int32_t partition_index{};
    ErrorCode error_code{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
    }
  };

  struct OffsetDeleteResponseTopic {
    Str name;
    Array<OffsetDeleteResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  ErrorCode error_code{};
  int32_t throttle_time_ms{};
  Array<OffsetDeleteResponseTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
