#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AlterUserScramCredentialsRequest {
  static constexpr ApiKey kKey = ApiKey::alter_user_scram_credentials;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct ScramCredentialDeletion {
    Str name;
    int8_t mechanism{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.mechanism, {"Mechanism", since(0)});
    }
  };

  struct ScramCredentialUpsertion {
    Str name;
    int8_t mechanism{};
    int32_t iterations{};
    ByteView salt;
    ByteView salted_password;
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.mechanism, {"Mechanism", since(0)});
      v(m.iterations, {"Iterations", since(0)});
      v(m.salt, {"Salt", since(0)});
      v(m.salted_password, {"SaltedPassword", since(0)});
    }
  };

  Array<ScramCredentialDeletion> deletions;
  Array<ScramCredentialUpsertion> upsertions;
  static void describe(auto& m, auto& v) {
    v(m.deletions, {"Deletions", since(0)});
    v(m.upsertions, {"Upsertions", since(0)});
  }
  static MessageTable const& table();
};

struct AlterUserScramCredentialsResponse {
  static constexpr ApiKey kKey = ApiKey::alter_user_scram_credentials;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct AlterUserScramCredentialsResult {
    Str user;
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.user, {"User", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  Array<AlterUserScramCredentialsResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.results, {"Results", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
