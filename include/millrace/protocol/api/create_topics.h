#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct CreateTopicsRequest {
  static constexpr ApiKey kKey = ApiKey::create_topics;
  static constexpr Versions kValid{2, 7}, kFlexible{5, kLatest};

  struct CreatableReplicaAssignment {
    int32_t partition_index{};
    Array<int32_t> broker_ids;
    static void describe(auto& m, auto& v) {
      v(m.partition_index, {"PartitionIndex", since(0)});
      v(m.broker_ids, {"BrokerIds", since(0)});
    }
  };

  struct CreatableTopicConfig {
    Str name;
    std::optional<Str> value = "";
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.value, {"Value", since(0), nullable_since(0)});
    }
  };

  struct CreatableTopic {
    Str name;
    int32_t num_partitions{};
    int16_t replication_factor{};
    Array<CreatableReplicaAssignment> assignments;
    Array<CreatableTopicConfig> configs;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.num_partitions, {"NumPartitions", since(0)});
      v(m.replication_factor, {"ReplicationFactor", since(0)});
      v(m.assignments, {"Assignments", since(0)});
      v(m.configs, {"Configs", since(0)});
    }
  };

  Array<CreatableTopic> topics;
  int32_t timeout_ms = 60000;
  bool validate_only{};
  static void describe(auto& m, auto& v) {
    v(m.topics, {"Topics", since(0)});
    v(m.timeout_ms, {"timeoutMs", since(0)});
    v(m.validate_only, {"validateOnly", since(1)});
  }
  static MessageTable const& table();
};

struct CreateTopicsResponse {
  static constexpr ApiKey kKey = ApiKey::create_topics;
  static constexpr Versions kValid{2, 7}, kFlexible{5, kLatest};

  struct CreatableTopicConfigs {
    Str name;
    std::optional<Str> value = "";
    bool read_only{};
    int8_t config_source = -1;
    bool is_sensitive{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(5)});
      v(m.value, {"Value", since(5), nullable_since(5)});
      v(m.read_only, {"ReadOnly", since(5)});
      v(m.config_source, {"ConfigSource", since(5), kIgnorable});
      v(m.is_sensitive, {"IsSensitive", since(5)});
    }
  };

  struct CreatableTopicResult {
    Str name;
    Uuid topic_id;
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    ErrorCode topic_config_error_code{};
    int32_t num_partitions = -1;
    int16_t replication_factor = -1;
    Array<CreatableTopicConfigs> configs;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.topic_id, {"TopicId", since(7), kIgnorable});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(1), nullable_since(0), kIgnorable});
      v(m.topic_config_error_code, {"TopicConfigErrorCode", since(5), tagged_since(5, 0), kIgnorable});
      v(m.num_partitions, {"NumPartitions", since(5), kIgnorable});
      v(m.replication_factor, {"ReplicationFactor", since(5), kIgnorable});
      v(m.configs, {"Configs", since(5), nullable_since(5), kIgnorable});
    }
  };

  int32_t throttle_time_ms{};
  Array<CreatableTopicResult> topics;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(2), kIgnorable});
    v(m.topics, {"Topics", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
