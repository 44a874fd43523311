#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct CreatePartitionsRequest {
  static constexpr ApiKey kKey = ApiKey::create_partitions;
  static constexpr Versions kValid{0, 3}, kFlexible{2, kLatest};

  struct CreatePartitionsAssignment {
    Array<int32_t> broker_ids;
    static void describe(auto& m, auto& v) { v(m.broker_ids, {"BrokerIds", since(0)}); }
  };

  struct CreatePartitionsTopic {
    Str name;
    int32_t count{};
    Array<CreatePartitionsAssignment> assignments;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.count, {"Count", since(0)});
      v(m.assignments, {"Assignments", since(0), nullable_since(0)});
    }
  };

  Array<CreatePartitionsTopic> topics;
  int32_t timeout_ms{};
  bool validate_only{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
    v(m.validate_only, {"ValidateOnly", since(0)});
  }
  static MessageTable const& table();
};

struct CreatePartitionsResponse {
  static constexpr ApiKey kKey = ApiKey::create_partitions;
  static constexpr Versions kValid{0, 3}, kFlexible{2, kLatest};

  struct CreatePartitionsTopicResult {
    Str name;
    ErrorCode error_code{};
    std::optional<Str> error_message;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<CreatePartitionsTopicResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
