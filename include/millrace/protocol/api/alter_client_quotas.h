#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterClientQuotasRequest {
  static constexpr ApiKey kKey = ApiKey::alter_client_quotas;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct EntityData {
    Str entity_type;
    std::optional<Str> entity_name = "";
    static void describe(auto& m, auto& v) {
      v(m.entity_type, {"EntityType", since(0)});
      v(m.entity_name, {"EntityName", since(0), nullable_since(0)});
    }
  };

  struct OpData {
    Str key;
    double value{};
    bool remove{};
    static void describe(auto& m, auto& v) {
      v(m.key, {"Key", since(0)});
      v(m.value, {"Value", since(0)});
      v(m.remove, {"Remove", since(0)});
    }
  };

  struct EntryData {
    Array<EntityData> entity;
    Array<OpData> ops;
    static void describe(auto& m, auto& v) {
      v(m.entity, {"Entity", since(0)});
      v(m.ops, {"Ops", since(0)});
    }
  };

  Array<EntryData> entries;
  bool validate_only{};
  static void describe(auto& m, auto& v) {
    v(m.entries, {"Entries", since(0)});
    v(m.validate_only, {"ValidateOnly", since(0)});
  }
  static MessageTable const& table();
};

struct AlterClientQuotasResponse {
  static constexpr ApiKey kKey = ApiKey::alter_client_quotas;
  static constexpr Versions kValid{0, 1}, kFlexible{1, kLatest};

  struct EntityData {
    Str entity_type;
    std::optional<Str> entity_name = "";
    static void describe(auto& m, auto& v) {
      v(m.entity_type, {"EntityType", since(0)});
      v(m.entity_name, {"EntityName", since(0), nullable_since(0)});
    }
  };

  struct EntryData {
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    Array<EntityData> entity;
    static void describe(auto& m, auto& v) {
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.entity, {"Entity", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<EntryData> entries;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.entries, {"Entries", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
