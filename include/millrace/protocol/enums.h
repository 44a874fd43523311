// Small number spaces of the protocol.
#pragma once
#include <cstdint>
#include <string_view>

namespace millrace::protocol {

enum class ConfigResourceType : int8_t {
  unknown = 0,
  topic = 2,
  broker = 4,
  broker_logger = 8,
  client_metrics = 16,
  group = 32,
};

enum class ConfigSource : int8_t {
  unknown = 0,
  topic_config = 1,
  dynamic_broker_config = 2,
  dynamic_default_broker_config = 3,
  static_broker_config = 4,
  default_config = 5,
  dynamic_broker_logger_config = 6,
  client_metrics_config = 7,
  group_config = 8,
};

enum class ConfigType : int8_t {
  unknown = 0,
  boolean = 1,
  string = 2,
  int32 = 3,
  int16 = 4,
  int64 = 5,
  float64 = 6,
  list = 7,
  klass = 8,
  password = 9,
};

enum class AlterConfigOp : int8_t {
  set = 0,
  delete_ = 1,
  append = 2,
  subtract = 3,
};

enum class AclResourceType : int8_t {
  unknown = 0,
  any = 1,
  topic = 2,
  group = 3,
  cluster = 4,
  transactional_id = 5,
  delegation_token = 6,
  user = 7,
};

enum class AclPatternType : int8_t {
  unknown = 0,
  any = 1,
  match = 2,
  literal = 3,
  prefixed = 4,
};

enum class AclOperation : int8_t {
  unknown = 0,
  any = 1,
  all = 2,
  read = 3,
  write = 4,
  create = 5,
  delete_ = 6,
  alter = 7,
  describe = 8,
  cluster_action = 9,
  describe_configs = 10,
  alter_configs = 11,
  idempotent_write = 12,
  create_tokens = 13,
  describe_tokens = 14,
  two_phase_commit = 15,
};

enum class AclPermission : int8_t {
  unknown = 0,
  any = 1,
  deny = 2,
  allow = 3,
};

enum class ElectionType : int8_t {
  preferred = 0,
  unclean = 1,
};

enum class IsolationLevel : int8_t {
  read_uncommitted = 0,
  read_committed = 1,
};

enum class Compression : int8_t {
  none = 0,
  gzip = 1,
  snappy = 2,
  lz4 = 3,
  zstd = 4,
};

enum class TimestampType : int8_t {
  no_timestamp_type = -1,
  create_time = 0,
  log_append_time = 1,
};

enum class ControlRecordType : int16_t {
  unknown = -1,
  abort = 0,
  commit = 1,
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  kraft_voters = 6,
};

enum class ScramMechanism : int8_t {
  unknown = 0,
  scram_sha_256 = 1,
  scram_sha_512 = 2,
};

enum class FeatureUpgradeType : int8_t {
  unknown = 0,
  upgrade = 1,
  safe_downgrade = 2,
  unsafe_downgrade = 3,
};

enum class CoordinatorType : int8_t {
  group = 0,
  transaction = 1,
  share = 2,
};

enum class SecurityProtocol : int16_t {
  plaintext = 0,
  ssl = 1,
  sasl_plaintext = 2,
  sasl_ssl = 3,
};

enum class TransactionState : int8_t {
  empty = 0,
  ongoing = 1,
  prepare_commit = 2,
  prepare_abort = 3,
  complete_commit = 4,
  complete_abort = 5,
  dead = 6,
  prepare_epoch_fence = 7,
};

enum class ShareAcknowledgeType : int8_t {
  accept = 1,
  release = 2,
  reject = 3,
  renew = 4,
};

// Spaces that travel as text.
namespace client_quota_entity {
inline constexpr std::string_view kUser = "user";
inline constexpr std::string_view kClientId = "client-id";
inline constexpr std::string_view kIp = "ip";
}  // namespace client_quota_entity

namespace group_state {
inline constexpr std::string_view kUnknown = "Unknown";
inline constexpr std::string_view kPreparingRebalance = "PreparingRebalance";
inline constexpr std::string_view kCompletingRebalance = "CompletingRebalance";
inline constexpr std::string_view kStable = "Stable";
inline constexpr std::string_view kDead = "Dead";
inline constexpr std::string_view kEmpty = "Empty";
inline constexpr std::string_view kAssigning = "Assigning";
inline constexpr std::string_view kReconciling = "Reconciling";
inline constexpr std::string_view kNotReady = "NotReady";
}  // namespace group_state

namespace group_type {
inline constexpr std::string_view kUnknown = "Unknown";
inline constexpr std::string_view kConsumer = "Consumer";
inline constexpr std::string_view kClassic = "Classic";
inline constexpr std::string_view kShare = "Share";
inline constexpr std::string_view kStreams = "Streams";
}  // namespace group_type

}  // namespace millrace::protocol
