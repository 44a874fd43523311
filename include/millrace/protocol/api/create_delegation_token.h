#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct CreateDelegationTokenRequest {
  static constexpr ApiKey kKey = ApiKey::create_delegation_token;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct CreatableRenewers {
    Str principal_type;
    Str principal_name;
    static void describe(auto& m, auto& v) {
      v(m.principal_type, {"PrincipalType", since(0)});
      v(m.principal_name, {"PrincipalName", since(0)});
    }
  };

  std::optional<Str> owner_principal_type = "";
  std::optional<Str> owner_principal_name = "";
  Array<CreatableRenewers> renewers;
  int64_t max_lifetime_ms{};
  static void describe(auto& m, auto& v) {
    v(m.owner_principal_type, {"OwnerPrincipalType", since(3), nullable_since(3)});
    v(m.owner_principal_name, {"OwnerPrincipalName", since(3), nullable_since(3)});
    v(m.renewers, {"Renewers", since(0)});
    v(m.max_lifetime_ms, {"MaxLifetimeMs", since(0)});
  }
  static MessageTable const& table();
};

struct CreateDelegationTokenResponse {
  static constexpr ApiKey kKey = ApiKey::create_delegation_token;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  ErrorCode error_code{};
  Str principal_type;
  Str principal_name;
  Str token_requester_principal_type;
  Str token_requester_principal_name;
  int64_t issue_timestamp_ms{};
  int64_t expiry_timestamp_ms{};
  int64_t max_timestamp_ms{};
  Str token_id;
  ByteView hmac;
  int32_t throttle_time_ms{};
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.principal_type, {"PrincipalType", since(0)});
    v(m.principal_name, {"PrincipalName", since(0)});
    v(m.token_requester_principal_type, {"TokenRequesterPrincipalType", since(3)});
    v(m.token_requester_principal_name, {"TokenRequesterPrincipalName", since(3)});
    v(m.issue_timestamp_ms, {"IssueTimestampMs", since(0)});
    v(m.expiry_timestamp_ms, {"ExpiryTimestampMs", since(0)});
    v(m.max_timestamp_ms, {"MaxTimestampMs", since(0)});
    v(m.token_id, {"TokenId", since(0)});
    v(m.hmac, {"Hmac", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
