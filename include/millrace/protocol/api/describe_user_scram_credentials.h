#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeUserScramCredentialsRequest {
  static constexpr ApiKey kKey = ApiKey::describe_user_scram_credentials;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct UserName {
    Str name;
    static void describe(auto& m, auto& v) { v(m.name, {"Name", since(0)}); }
  };

  Array<UserName> users;
  static void describe(auto& m, auto& v) { v(m.users, {"Users", since(0), nullable_since(0)}); }
  static MessageTable const& table();
};

struct DescribeUserScramCredentialsResponse {
  static constexpr ApiKey kKey = ApiKey::describe_user_scram_credentials;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct CredentialInfo {
    int8_t mechanism{};
    int32_t iterations{};
    static void describe(auto& m, auto& v) {
      v(m.mechanism, {"Mechanism", since(0)});
      v(m.iterations, {"Iterations", since(0)});
    }
  };

  struct DescribeUserScramCredentialsResult {
    Str user;
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    Array<CredentialInfo> credential_infos;
    static void describe(auto& m, auto& v) {
      v(m.user, {"User", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
      v(m.credential_infos, {"CredentialInfos", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<DescribeUserScramCredentialsResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
