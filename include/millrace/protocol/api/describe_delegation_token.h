#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeDelegationTokenRequest {
  static constexpr ApiKey kKey = ApiKey::describe_delegation_token;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct DescribeDelegationTokenOwner {
    Str principal_type;
    Str principal_name;
    static void describe(auto& m, auto& v) {
      v(m.principal_type, {"PrincipalType", since(0)});
      v(m.principal_name, {"PrincipalName", since(0)});
    }
  };

  Array<DescribeDelegationTokenOwner> owners;
  static void describe(auto& m, auto& v) { v(m.owners, {"Owners", since(0), nullable_since(0)}); }
  static MessageTable const& table();
};

struct DescribeDelegationTokenResponse {
  static constexpr ApiKey kKey = ApiKey::describe_delegation_token;
  static constexpr Versions kValid{1, 3}, kFlexible{2, kLatest};

  struct DescribedDelegationTokenRenewer {
    Str principal_type;
    Str principal_name;
    static void describe(auto& m, auto& v) {
      v(m.principal_type, {"PrincipalType", since(0)});
      v(m.principal_name, {"PrincipalName", since(0)});
    }
  };

  struct DescribedDelegationToken {
    Str principal_type;
    Str principal_name;
    Str token_requester_principal_type;
    Str token_requester_principal_name;
    int64_t issue_timestamp{};
    int64_t expiry_timestamp{};
    int64_t max_timestamp{};
    Str token_id;
    ByteView hmac;
    Array<DescribedDelegationTokenRenewer> renewers;
    static void describe(auto& m, auto& v) {
      v(m.principal_type, {"PrincipalType", since(0)});
      v(m.principal_name, {"PrincipalName", since(0)});
      v(m.token_requester_principal_type, {"TokenRequesterPrincipalType", since(3)});
      v(m.token_requester_principal_name, {"TokenRequesterPrincipalName", since(3)});
      v(m.issue_timestamp, {"IssueTimestamp", since(0)});
      v(m.expiry_timestamp, {"ExpiryTimestamp", since(0)});
      v(m.max_timestamp, {"MaxTimestamp", since(0)});
      v(m.token_id, {"TokenId", since(0)});
      v(m.hmac, {"Hmac", since(0)});
      v(m.renewers, {"Renewers", since(0)});
    }
  };

  ErrorCode error_code{};
  Array<DescribedDelegationToken> tokens;
  int32_t throttle_time_ms{};
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.tokens, {"Tokens", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
