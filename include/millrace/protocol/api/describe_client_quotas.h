#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeClientQuotasRequest {
  static constexpr ApiKey kKey = ApiKey::describe_client_quotas;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct ComponentData {
    Str entity_type;
    int8_t match_type{};
    std::optional<Str> match = "";
    static void describe(auto& m, auto& v) {
      v(m.entity_type, {"EntityType", since(0)});
      v(m.match_type, {"MatchType", since(0)});
      v(m.match, {"Match", since(0), nullable_since(0)});
    }
  };

  Array<ComponentData> components;
  bool strict{};
  static void describe(auto& m, auto& v) {
    v(m.components, {"Components", since(0)});
    v(m.strict, {"Strict", since(0)});
  }
  static MessageTable const& table();
};

struct DescribeClientQuotasResponse {
  static constexpr ApiKey kKey = ApiKey::describe_client_quotas;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct EntityData {
    Str entity_type;
    std::optional<Str> entity_name = "";
    static void describe(auto& m, auto& v) {
      v(m.entity_type, {"EntityType", since(0)});
      v(m.entity_name, {"EntityName", since(0), nullable_since(0)});
    }
  };

  struct ValueData {
    Str key;
    double value{};
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(0)});
      v(m.value, {"Value", since(0)});
    }
  };

  struct EntryData {
    Array<EntityData> entity;
    Array<ValueData> values;
    static void describe(auto& m, auto& v) {
      v(m.entity, {"Entity", since(0)});
      v(m.values, {"Values", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<EntryData> entries;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.entries, {"Entries", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
