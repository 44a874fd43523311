#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeConfigsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_configs;
  static constexpr Versions kValid{1, 4}, kFlexible{4, kLatest};

  struct DescribeConfigsResource {
    int8_t resource_type{};
    Str resource_name;
    Array<Str> configuration_keys;
    static void describe(auto& m, auto& v) {
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.configuration_keys, {"ConfigurationKeys", since(0), nullable_since(0)});
    }
  };

  Array<DescribeConfigsResource> resources;
  bool include_synonyms{};
  bool include_documentation{};
  static void describe(auto& m, auto& v) {
    v(m.resources, {"Resources", since(0)});
    v(m.include_synonyms, {"IncludeSynonyms", since(1)});
    v(m.include_documentation, {"IncludeDocumentation", since(3)});
  }
  static MessageTable const& table();
};

struct DescribeConfigsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_configs;
  static constexpr Versions kValid{1, 4}, kFlexible{4, kLatest};

  struct DescribeConfigsSynonym {
    Str name;
    std::optional<Str> value = "";
    int8_t source{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(1)});
      v(m.value, {"Value", since(1), nullable_since(0)});
      v(m.source, {"Source", since(1)});
    }
  };

  struct DescribeConfigsResourceResult {
    Str name;
    std::optional<Str> value = "";
    bool read_only{};
    int8_t config_source = -1;
    bool is_sensitive{};
    Array<DescribeConfigsSynonym> synonyms;
    int8_t config_type{};
    std::optional<Str> documentation = "";
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.value, {"Value", since(0), nullable_since(0)});
      v(m.read_only, {"ReadOnly", since(0)});
      v(m.config_source, {"ConfigSource", since(1), kIgnorable});
      v(m.is_sensitive, {"IsSensitive", since(0)});
      v(m.synonyms, {"Synonyms", since(1), kIgnorable});
      v(m.config_type, {"ConfigType", since(3), kIgnorable});
      v(m.documentation, {"Documentation", since(3), nullable_since(0), kIgnorable});
    }
  };

  struct DescribeConfigsResult {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    int8_t resource_type{};
    Str resource_name;
    Array<DescribeConfigsResourceResult> configs;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.resource_type, {"ResourceType", since(0)});
      v(m.resource_name, {"ResourceName", since(0)});
      v(m.configs, {"Configs", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<DescribeConfigsResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
