#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteShareGroupOffsetsRequest {
  static constexpr ApiKey kKey = ApiKey::delete_share_group_offsets;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct DeleteShareGroupOffsetsRequestTopic {
    Str topic_name;
    static void describe(auto& m, auto& v) { v(m.topic_name, {"TopicName", since(0)}); }
  };

  Str group_id;
  Array<DeleteShareGroupOffsetsRequestTopic> topics;
  static void describe(auto& m, auto& v) {
    v(m.group_id, {"GroupId", since(0)});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

struct DeleteShareGroupOffsetsResponse {
  static constexpr ApiKey kKey = ApiKey::delete_share_group_offsets;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct DeleteShareGroupOffsetsResponseTopic {
    Str topic_name;
    Uuid topic_id;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.topic_name, {"TopicName", since(0)});
      v(m.topic_id, {"TopicId", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  Array<DeleteShareGroupOffsetsResponseTopic> responses;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.responses, {"Responses", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
