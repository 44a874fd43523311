// Bodies of control records.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct ControlRecordTypeSchema {
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  int16_t type{};
  static void describe(auto& m, auto& v) { v(m.type, {"Type", since(0)}); }
  static MessageTable const& table();
};

struct EndTxnMarker {
  static constexpr Versions kValid{0, 0}, kFlexible{0, -1};

  int32_t coordinator_epoch{};
  static void describe(auto& m, auto& v) { v(m.coordinator_epoch, {"CoordinatorEpoch", since(0)}); }
  static MessageTable const& table();
};

struct KRaftVersionRecord {
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int16_t version{};
  int16_t kraft_version{};
  static void describe(auto& m, auto& v) {
    v(m.version, {"Version", since(0)});
    v(m.kraft_version, {"KRaftVersion", since(0)});
  }
  static MessageTable const& table();
};

struct LeaderChangeMessage {
  static constexpr Versions kValid{0, 1}, kFlexible{0, kLatest};

  struct Voter {
    int32_t voter_id{};
    Uuid voter_directory_id;
    static void describe(auto& m, auto& v) {
      v(m.voter_id, {"VoterId", since(0)});
      v(m.voter_directory_id, {"VoterDirectoryId", since(1)});
    }
  };

  int16_t version{};
  int32_t leader_id{};
  Array<Voter> voters;
  Array<Voter> granting_voters;
  static void describe(auto& m, auto& v) {
    v(m.version, {"Version", since(0)});
    v(m.leader_id, {"LeaderId", since(0)});
    v(m.voters, {"Voters", since(0)});
    v(m.granting_voters, {"GrantingVoters", since(0)});
  }
  static MessageTable const& table();
};

struct SnapshotFooterRecord {
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int16_t version{};
  static void describe(auto& m, auto& v) { v(m.version, {"Version", since(0)}); }
  static MessageTable const& table();
};

struct SnapshotHeaderRecord {
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int16_t version{};
  int64_t last_contained_log_timestamp{};
  static void describe(auto& m, auto& v) {
    v(m.version, {"Version", since(0)});
    v(m.last_contained_log_timestamp, {"LastContainedLogTimestamp", since(0)});
  }
  static MessageTable const& table();
};

struct VotersRecord {
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct Endpoint {
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

  struct Voter {
    int32_t voter_id{};
    Uuid voter_directory_id;
    Array<Endpoint> endpoints;
    KRaftVersionFeature kraft_version_feature;
    static void describe(auto& m, auto& v) {
      v(m.voter_id, {"VoterId", since(0)});
      v(m.voter_directory_id, {"VoterDirectoryId", since(0)});
      v(m.endpoints, {"Endpoints", since(0)});
      v(m.kraft_version_feature, {"KRaftVersionFeature", since(0)});
    }
  };

  int16_t version{};
  Array<Voter> voters;
  static void describe(auto& m, auto& v) {
    v(m.version, {"Version", since(0)});
    v(m.voters, {"Voters", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
