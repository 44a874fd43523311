#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterShareGroupOffsetsRequest {
  static constexpr ApiKey kKey = ApiKey::alter_share_group_offsets;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct AlterShareGroupOffsetsRequestPartition {
    int32_t partition_index{};
    int64_t start_offset{};
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.start_offset, {"StartOffset", since(0)});
    }
  };

  struct AlterShareGroupOffsetsRequestTopic {
    Str topic_name;
    Array<AlterShareGroupOffsetsRequestPartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  Array<AlterShareGroupOffsetsRequestTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct AlterShareGroupOffsetsResponse {
  static constexpr ApiKey kKey = ApiKey::alter_share_group_offsets;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct AlterShareGroupOffsetsResponsePartition {
    int32_t partition_index{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct AlterShareGroupOffsetsResponseTopic {
    Str topic_name;
    Uuid topic_id;
    Array<AlterShareGroupOffsetsResponsePartition> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  Array<AlterShareGroupOffsetsResponseTopic> responses;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.responses, {"Responses", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
