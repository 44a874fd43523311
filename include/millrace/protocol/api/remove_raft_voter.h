#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct RemoveRaftVoterRequest {
  static constexpr ApiKey kKey = ApiKey::remove_raft_voter;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  std::optional<Str> cluster_id = "";
  int32_t voter_id{};
  Uuid voter_directory_id;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.voter_id, {"VoterId", since(0)});
    v(m.voter_directory_id, {"VoterDirectoryId", since(0)});
  }
  static MessageTable const& table();
};

struct RemoveRaftVoterResponse {
  static constexpr ApiKey kKey = ApiKey::remove_raft_voter;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
