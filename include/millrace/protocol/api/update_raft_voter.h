#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct UpdateRaftVoterRequest {
  static constexpr ApiKey kKey = ApiKey::update_raft_voter;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

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

  struct KRaftVersionFeature {
    int16_t min_supported_version{};
    int16_t max_supported_version{};
    static void describe(auto& m, auto& v) {
      v(m.min_supported_version, {"MinSupportedVersion", since(0)});
      v(m.max_supported_version, {"MaxSupportedVersion", since(0)});
    }
  };

  std::optional<Str> cluster_id = "";
  int32_t current_leader_epoch{};
  int32_t voter_id{};
  Uuid voter_directory_id;
  Array<Listener> listeners;
  KRaftVersionFeature kraft_version_feature;
  static void describe(auto& m, auto& v) {
    v(m.cluster_id, {"ClusterId", since(0), nullable_since(0)});
    v(m.current_leader_epoch, {"CurrentLeaderEpoch", since(0)});
    v(m.voter_id, {"VoterId", since(0)});
    v(m.voter_directory_id, {"VoterDirectoryId", since(0)});
    v(m.listeners, {"Listeners", since(0)});
    v(m.kraft_version_feature, {"KRaftVersionFeature", since(0)});
  }
  static MessageTable const& table();
};

struct UpdateRaftVoterResponse {
  static constexpr ApiKey kKey = ApiKey::update_raft_voter;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct CurrentLeader {
    int32_t leader_id = -1;
    int32_t leader_epoch = -1;
    Str host;
    int32_t port{};
    static void describe(auto& m, auto& v) {
      v(m.leader_id, {"LeaderId", since(0)});
      v(m.leader_epoch, {"LeaderEpoch", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  CurrentLeader current_leader;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.current_leader, {"CurrentLeader", since(0), tagged_since(0, 0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
