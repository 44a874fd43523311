#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteShareGroupStateRequest {
  static constexpr ApiKey kKey = ApiKey::delete_share_group_state;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct PartitionData {
    int32_t partition{};
    static void describe(auto& m, auto& v) { v(m.partition, {"Partition", since(0)}); }
  };

  struct DeleteStateData {
    Uuid topic_id;
    Array<PartitionData> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Str group_id;
  Array<DeleteStateData> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct DeleteShareGroupStateResponse {
  static constexpr ApiKey kKey = ApiKey::delete_share_group_state;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct PartitionResult {
    int32_t partition{};
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.partition, {"Partition", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  struct DeleteStateResult {
    Uuid topic_id;
    Array<PartitionResult> partitions;
    static void describe(auto& m, auto& v) {
      v(m.topic_id, {"TopicId", since(0)});
      v(m.partitions, {"Partitions", since(0)});
    }
  };

  Array<DeleteStateResult> results;
  static void describe(auto& m, auto& v) { v(m.results, {"Results", since(0)}); }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
