// Records of the metadata log (__cluster_metadata) and its snapshots; kKey is the record type.
#pragma once
#include "millrace/protocol/describe.h"

namespace millrace::protocol {

struct RegisterBrokerRecord {
  static constexpr int16_t kKey = 0;
  static constexpr Versions kValid{0, 4}, kFlexible{0, kLatest};

  struct BrokerEndpoint {
    Str name;
    Str host;
    uint16_t port{};
    int16_t security_protocol{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.security_protocol, {"SecurityProtocol", since(0)});
    }
  };

  struct BrokerFeature {
    Str name;
    int16_t min_supported_version{};
    int16_t max_supported_version{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.min_supported_version, {"MinSupportedVersion", since(0)});
      v(m.max_supported_version, {"MaxSupportedVersion", since(0)});
    }
  };

  int32_t broker_id{};
  bool is_migrating_zk_broker{};
  Uuid incarnation_id;
  int64_t broker_epoch{};
  Array<BrokerEndpoint> end_points;
  Array<BrokerFeature> features;
  std::optional<Str> rack = "";
  bool fenced = true;
  bool in_controlled_shutdown{};
  Array<Uuid> log_dirs;
  Array<Uuid> cordoned_log_dirs = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.is_migrating_zk_broker, {"IsMigratingZkBroker", since(2)});
    v(m.incarnation_id, {"IncarnationId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.end_points, {"EndPoints", since(0)});
    v(m.features, {"Features", since(0)});
    v(m.rack, {"Rack", since(0), nullable_since(0)});
    v(m.fenced, {"Fenced", since(0)});
    v(m.in_controlled_shutdown, {"InControlledShutdown", since(1)});
    v(m.log_dirs, {"LogDirs", since(3), tagged_since(3, 0)});
    v(m.cordoned_log_dirs, {"CordonedLogDirs", since(4), nullable_since(4), tagged_since(4, 1)});
  }
  static MessageTable const& table();
};

struct UnregisterBrokerRecord {
  static constexpr int16_t kKey = 1;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t broker_id{};
  int64_t broker_epoch{};
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
  }
  static MessageTable const& table();
};

struct TopicRecord {
  static constexpr int16_t kKey = 2;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str name;
  Uuid topic_id;
  static void describe(auto& m, auto& v) {
    v(m.name, {"Name", since(0)});
    v(m.topic_id, {"TopicId", since(0)});
  }
  static MessageTable const& table();
};

struct PartitionRecord {
  static constexpr int16_t kKey = 3;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  int32_t partition_id = -1;
  Uuid topic_id;
  Array<int32_t> replicas;
  Array<int32_t> isr;
  Array<int32_t> removing_replicas;
  Array<int32_t> adding_replicas;
  int32_t leader = -1;
  int8_t leader_recovery_state{};
  int32_t leader_epoch = -1;
  int32_t partition_epoch = -1;
  Array<Uuid> directories;
  Array<int32_t> eligible_leader_replicas = kNullArray;
  Array<int32_t> last_known_elr = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.partition_id, {"PartitionId", since(0)});
    v(m.topic_id, {"TopicId", since(0)});
    v(m.replicas, {"Replicas", since(0)});
    v(m.isr, {"Isr", since(0)});
    v(m.removing_replicas, {"RemovingReplicas", since(0)});
    v(m.adding_replicas, {"AddingReplicas", since(0)});
    v(m.leader, {"Leader", since(0)});
    v(m.leader_recovery_state, {"LeaderRecoveryState", since(0), tagged_since(0, 0)});
    v(m.leader_epoch, {"LeaderEpoch", since(0)});
    v(m.partition_epoch, {"PartitionEpoch", since(0)});
    v(m.directories, {"Directories", since(1)});
    v(m.eligible_leader_replicas, {"EligibleLeaderReplicas", since(2), nullable_since(2), tagged_since(2, 1)});
    v(m.last_known_elr, {"LastKnownElr", since(2), nullable_since(2), tagged_since(2, 2)});
  }
  static MessageTable const& table();
};

struct ConfigRecord {
  static constexpr int16_t kKey = 4;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int8_t resource_type{};
  Str resource_name;
  Str name;
  std::optional<Str> value = "";
  static void describe(auto& m, auto& v) {
    v(m.resource_type, {"ResourceType", since(0)});
    v(m.resource_name, {"ResourceName", since(0)});
    v(m.name, {"Name", since(0)});
    v(m.value, {"Value", since(0), nullable_since(0)});
  }
  static MessageTable const& table();
};

struct PartitionChangeRecord {
  static constexpr int16_t kKey = 5;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  int32_t partition_id = -1;
  Uuid topic_id;
  Array<int32_t> isr = kNullArray;
  int32_t leader = -2;
  Array<int32_t> replicas = kNullArray;
  Array<int32_t> removing_replicas = kNullArray;
  Array<int32_t> adding_replicas = kNullArray;
  int8_t leader_recovery_state = -1;
  Array<Uuid> directories = kNullArray;
  Array<int32_t> eligible_leader_replicas = kNullArray;
  Array<int32_t> last_known_elr = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.partition_id, {"PartitionId", since(0)});
    v(m.topic_id, {"TopicId", since(0)});
    v(m.isr, {"Isr", since(0), nullable_since(0), tagged_since(0, 0)});
    v(m.leader, {"Leader", since(0), tagged_since(0, 1)});
    v(m.replicas, {"Replicas", since(0), nullable_since(0), tagged_since(0, 2)});
    v(m.removing_replicas, {"RemovingReplicas", since(0), nullable_since(0), tagged_since(0, 3)});
    v(m.adding_replicas, {"AddingReplicas", since(0), nullable_since(0), tagged_since(0, 4)});
    v(m.leader_recovery_state, {"LeaderRecoveryState", since(0), tagged_since(0, 5)});
    v(m.directories, {"Directories", since(1), nullable_since(1), tagged_since(1, 8)});
    v(m.eligible_leader_replicas, {"EligibleLeaderReplicas", since(2), nullable_since(2), tagged_since(2, 6)});
    v(m.last_known_elr, {"LastKnownElr", since(2), nullable_since(2), tagged_since(2, 7)});
  }
  static MessageTable const& table();
};

struct FenceBrokerRecord {
  static constexpr int16_t kKey = 7;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t id{};
  int64_t epoch{};
  static void describe(auto& m, auto& v) {
    v(m.id, {"Id", since(0)});
    v(m.epoch, {"Epoch", since(0)});
  }
  static MessageTable const& table();
};

struct UnfenceBrokerRecord {
  static constexpr int16_t kKey = 8;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t id{};
  int64_t epoch{};
  static void describe(auto& m, auto& v) {
    v(m.id, {"Id", since(0)});
    v(m.epoch, {"Epoch", since(0)});
  }
  static MessageTable const& table();
};

struct RemoveTopicRecord {
  static constexpr int16_t kKey = 9;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Uuid topic_id;
  static void describe(auto& m, auto& v) { v(m.topic_id, {"TopicId", since(0)}); }
  static MessageTable const& table();
};

struct DelegationTokenRecord {
  static constexpr int16_t kKey = 10;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str owner;
  Str requester;
  Array<Str> renewers;
  int64_t issue_timestamp{};
  int64_t max_timestamp{};
  int64_t expiration_timestamp{};
  Str token_id;
  static void describe(auto& m, auto& v) {
    v(m.owner, {"Owner", since(0)});
    v(m.requester, {"Requester", since(0)});
    v(m.renewers, {"Renewers", since(0)});
    v(m.issue_timestamp, {"IssueTimestamp", since(0)});
    v(m.max_timestamp, {"MaxTimestamp", since(0)});
    v(m.expiration_timestamp, {"ExpirationTimestamp", since(0)});
    v(m.token_id, {"TokenId", since(0)});
  }
  static MessageTable const& table();
};

struct UserScramCredentialRecord {
  static constexpr int16_t kKey = 11;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str name;
  int8_t mechanism{};
  ByteView salt;
  ByteView stored_key;
  ByteView server_key;
  int32_t iterations{};
  static void describe(auto& m, auto& v) {
    v(m.name, {"Name", since(0)});
    v(m.mechanism, {"Mechanism", since(0)});
    v(m.salt, {"Salt", since(0)});
    v(m.stored_key, {"StoredKey", since(0)});
    v(m.server_key, {"ServerKey", since(0)});
    v(m.iterations, {"Iterations", since(0)});
  }
  static MessageTable const& table();
};

struct FeatureLevelRecord {
  static constexpr int16_t kKey = 12;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str name;
  int16_t feature_level{};
  static void describe(auto& m, auto& v) {
    v(m.name, {"Name", since(0)});
    v(m.feature_level, {"FeatureLevel", since(0)});
  }
  static MessageTable const& table();
};

struct ClientQuotaRecord {
  static constexpr int16_t kKey = 14;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct EntityData {
    Str entity_type;
    std::optional<Str> entity_name = "";
    static void describe(auto& m, auto& v) {
      v(m.entity_type, {"EntityType", since(0)});
      v(m.entity_name, {"EntityName", since(0), nullable_since(0)});
    }
  };

  Array<EntityData> entity;
  Str key;
  double value{};
  bool remove{};
  static void describe(auto& m, auto& v) {
    v(m.entity, {"Entity", since(0)});
    v(m.key, {"Key", since(0)});
    v(m.value, {"Value", since(0)});
    v(m.remove, {"Remove", since(0)});
  }
  static MessageTable const& table();
};

struct ProducerIdsRecord {
  static constexpr int16_t kKey = 15;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t broker_id{};
  int64_t broker_epoch = -1;
  int64_t next_producer_id{};
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.next_producer_id, {"NextProducerId", since(0)});
  }
  static MessageTable const& table();
};

struct BrokerRegistrationChangeRecord {
  static constexpr int16_t kKey = 17;
  static constexpr Versions kValid{0, 3}, kFlexible{0, kLatest};

  int32_t broker_id{};
  int64_t broker_epoch{};
  int8_t fenced{};
  int8_t in_controlled_shutdown{};
  Array<Uuid> log_dirs;
  Array<Uuid> cordoned_log_dirs = kNullArray;
  static void describe(auto& m, auto& v) {
    v(m.broker_id, {"BrokerId", since(0)});
    v(m.broker_epoch, {"BrokerEpoch", since(0)});
    v(m.fenced, {"Fenced", since(0), tagged_since(0, 0)});
    v(m.in_controlled_shutdown, {"InControlledShutdown", since(1), tagged_since(1, 1)});
    v(m.log_dirs, {"LogDirs", since(2), tagged_since(2, 2)});
    v(m.cordoned_log_dirs, {"CordonedLogDirs", since(3), nullable_since(3), tagged_since(3, 3)});
  }
  static MessageTable const& table();
};

struct AccessControlEntryRecord {
  static constexpr int16_t kKey = 18;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Uuid id;
  int8_t resource_type{};
  Str resource_name;
  int8_t pattern_type{};
  Str principal;
  Str host;
  int8_t operation{};
  int8_t permission_type{};
  static void describe(auto& m, auto& v) {
    v(m.id, {"Id", since(0)});
    v(m.resource_type, {"ResourceType", since(0)});
    v(m.resource_name, {"ResourceName", since(0)});
    v(m.pattern_type, {"PatternType", since(0)});
    v(m.principal, {"Principal", since(0)});
    v(m.host, {"Host", since(0)});
    v(m.operation, {"Operation", since(0)});
    v(m.permission_type, {"PermissionType", since(0)});
  }
  static MessageTable const& table();
};

struct RemoveAccessControlEntryRecord {
  static constexpr int16_t kKey = 19;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Uuid id;
  static void describe(auto& m, auto& v) { v(m.id, {"Id", since(0)}); }
  static MessageTable const& table();
};

struct NoOpRecord {
  static constexpr int16_t kKey = 20;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  static void describe(auto&, auto&) {}
  static MessageTable const& table();
};

struct ZkMigrationStateRecord {
  static constexpr int16_t kKey = 21;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int8_t zk_migration_state{};
  static void describe(auto& m, auto& v) { v(m.zk_migration_state, {"ZkMigrationState", since(0)}); }
  static MessageTable const& table();
};

struct RemoveUserScramCredentialRecord {
  static constexpr int16_t kKey = 22;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str name;
  int8_t mechanism{};
  static void describe(auto& m, auto& v) {
    v(m.name, {"Name", since(0)});
    v(m.mechanism, {"Mechanism", since(0)});
  }
  static MessageTable const& table();
};

struct BeginTransactionRecord {
  static constexpr int16_t kKey = 23;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  std::optional<Str> name;
  static void describe(auto& m, auto& v) { v(m.name, {"Name", since(0), nullable_since(0), tagged_since(0, 0)}); }
  static MessageTable const& table();
};

struct EndTransactionRecord {
  static constexpr int16_t kKey = 24;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  static void describe(auto&, auto&) {}
  static MessageTable const& table();
};

struct AbortTransactionRecord {
  static constexpr int16_t kKey = 25;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  std::optional<Str> reason;
  static void describe(auto& m, auto& v) { v(m.reason, {"Reason", since(0), nullable_since(0), tagged_since(0, 0)}); }
  static MessageTable const& table();
};

struct RemoveDelegationTokenRecord {
  static constexpr int16_t kKey = 26;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str token_id;
  static void describe(auto& m, auto& v) { v(m.token_id, {"TokenId", since(0)}); }
  static MessageTable const& table();
};

struct RegisterControllerRecord {
  static constexpr int16_t kKey = 27;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  struct ControllerEndpoint {
    Str name;
    Str host;
    uint16_t port{};
    int16_t security_protocol{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.security_protocol, {"SecurityProtocol", since(0)});
    }
  };

  struct ControllerFeature {
    Str name;
    int16_t min_supported_version{};
    int16_t max_supported_version{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(0)});
      v(m.min_supported_version, {"MinSupportedVersion", since(0)});
      v(m.max_supported_version, {"MaxSupportedVersion", since(0)});
    }
  };

  int32_t controller_id{};
  Uuid incarnation_id;
  bool zk_migration_ready{};
  Array<ControllerEndpoint> end_points;
  Array<ControllerFeature> features;
  static void describe(auto& m, auto& v) {
    v(m.controller_id, {"ControllerId", since(0)});
    v(m.incarnation_id, {"IncarnationId", since(0)});
    v(m.zk_migration_ready, {"ZkMigrationReady", since(0)});
    v(m.end_points, {"EndPoints", since(0)});
    v(m.features, {"Features", since(0)});
  }
  static MessageTable const& table();
};

struct ClearElrRecord {
  static constexpr int16_t kKey = 28;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  Str topic_name;
  static void describe(auto& m, auto& v) { v(m.topic_name, {"TopicName", since(0)}); }
  static MessageTable const& table();
};

struct UnregisterControllerRecord {
  static constexpr int16_t kKey = 29;
  static constexpr Versions kValid{0, 0}, kFlexible{0, kLatest};

  int32_t controller_id{};
  static void describe(auto& m, auto& v) { v(m.controller_id, {"ControllerId", since(0)}); }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
