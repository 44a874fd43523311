#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct AddRaftVoterRequest {
  static constexpr ApiKey kKey = ApiKey::add_raft_voter;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct Listener {
    Str name;
    Str host;
    uint16_t port{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
    }
  };

  std::optional<Str> cluster_id = "";
  int32_t timeout_ms{};
  int32_t voter_id{};
  Uuid voter_directory_id;
  Array<Listener> listeners;
  bool ack_when_committed = true;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.timeout_ms, {"TimeoutMs", since(0)});
    v(m.voter_id, {"VoterId", since(0)});
    v(m.voter_directory_id, {"VoterDirectoryId", since(0)});
    v(m.listeners, {"Listeners", since(0)});
    v(m.ack_when_committed, {"AckWhenCommitted", since(1)});
  }
  static MessageTable const& table();
};

struct AddRaftVoterResponse {
  static constexpr ApiKey kKey = ApiKey::add_raft_voter;
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

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
