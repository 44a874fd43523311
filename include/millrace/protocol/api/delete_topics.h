#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DeleteTopicsRequest {
  static constexpr ApiKey kKey = ApiKey::delete_topics;
  static constexpr Versions kValid{1, 6}, kFlexible{4, kLatest};

  struct DeleteTopicState {
    std::optional<Str> name;
    Uuid topic_id;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(6), nullable_since(6)});
      v(m.topic_id, {"TopicId", since(6)});
    }
  };

  Array<DeleteTopicState> topics;
  Array<Str> topic_names;
  int32_t timeout_ms{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(6)});
    v(m.topic_names, {"TopicNames", between(0, 5), kIgnorable});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
  }
  static MessageTable const& table();
};

struct DeleteTopicsResponse {
  static constexpr ApiKey kKey = ApiKey::delete_topics;
  static constexpr Versions kValid{1, 6}, kFlexible{4, kLatest};

  struct DeletableTopicResult {
    std::optional<Str> name = "";
    Uuid topic_id;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0), nullable_since(6)});
      v(m.topic_id, {"TopicId", since(6), kIgnorable});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(5), nullable_since(5), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  Array<DeletableTopicResult> responses;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.responses, {"Responses", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
