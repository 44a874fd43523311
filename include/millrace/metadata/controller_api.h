// What the controller can be asked, and its answers, as plain values: they cross threads, so they own what they hold.
// Handlers translate from and to the wire; a default answer carries only an error.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"
#include "millrace/metadata/image.h"
#include "millrace/metadata/topic_config.h"
#include "millrace/protocol/errors.h"

namespace millrace::metadata {

struct ApiError {
  ErrorCode code = ErrorCode::none;
  std::optional<std::string> message;
  bool ok() const { return code == ErrorCode::none; }
};

// Whose quota controller_mutation_rate a change of topics counts against. What a node asks for itself names nobody.
struct MutationAsker {
  std::string user, client_id;
  bool is_strict = false;  // refuse what is above the quota; else do it and tell the client to wait
};

// ---- CreateTopics

struct TopicAssignment {
  int32_t partition{};
  std::vector<BrokerId> replicas;
};
struct TopicCreation {
  std::string name;
  int32_t partition_count = -1;     // -1: the node's default
  int16_t replication_factor = -1;  // -1: the node's default
  std::vector<TopicAssignment> assignments;
  std::vector<std::pair<std::string, std::optional<std::string>>> configs;
};
struct CreateTopics {
  std::vector<TopicCreation> topics;  // names are unique
  bool validate_only = false;
  std::optional<MutationAsker> asker;
};
struct TopicConfigAnswer {
  std::string_view name;
  EffectiveConfig effective;
};
struct TopicCreated {
  std::string name;
  ApiError error;
  TopicId id;
  int32_t partition_count = -1;
  int16_t replication_factor = -1;
  std::vector<TopicConfigAnswer> configs;
};
struct CreateTopicsAnswer {
  ApiError error;                    // of the request as a whole; `topics` is empty then
  std::vector<TopicCreated> topics;  // in the order of the request
  Mono throttled_until;              // the client is to wait; in the past: it need not
};

// ---- Internal topics: made with the node's settings when a coordinator is first asked for.

struct CreateInternalTopic {
  std::string name;  // one of is_internal_topic()
};
struct CreateInternalTopicAnswer {
  ApiError error;  // topic_already_exists is none: somebody else was first
};

// ---- DeleteTopics: ids are unique and there when the request is made; gone ones answer unknown_topic_id.

struct DeleteTopics {
  std::vector<TopicId> ids;
  std::optional<MutationAsker> asker;
};
struct DeleteTopicsAnswer {
  ApiError error;
  std::vector<std::pair<TopicId, ApiError>> topics;
  Mono throttled_until;
};

// ---- CreatePartitions

struct TopicGrowth {
  std::string name;
  int32_t count{};
  std::optional<std::vector<std::vector<BrokerId>>> assignments;
};
struct CreatePartitions {
  std::vector<TopicGrowth> topics;  // names are unique
  bool validate_only = false;
  std::optional<MutationAsker> asker;
};
struct CreatePartitionsAnswer {
  ApiError error;
  std::vector<std::pair<std::string, ApiError>> topics;
  Mono throttled_until;
};

// ---- Brokers

struct RegisterBroker {
  BrokerId id;
  std::string cluster_id;
  Uuid incarnation_id;
  std::vector<Endpoint> endpoints;
  std::vector<SupportedFeature> features;
  std::optional<std::string> rack;
  bool is_migrating_zk_broker = false;
  std::vector<DirectoryId> directories;
  std::optional<std::vector<DirectoryId>> cordoned_directories;
  int64_t previous_broker_epoch = -1;  // that of a clean stop; anything else: records may be lost
};
struct RegisterBrokerAnswer {
  ApiError error;
  int64_t broker_epoch = -1;
};

struct BrokerHeartbeat {
  BrokerId id;
  int64_t epoch{};
  int64_t metadata_offset{};
  bool want_fence = false;
  bool want_shut_down = false;
  std::optional<std::vector<DirectoryId>> offline_directories;
  std::optional<std::vector<DirectoryId>> cordoned_directories;
};
struct BrokerHeartbeatAnswer {
  ApiError error;
  bool is_caught_up = false;
  bool is_fenced = true;
  bool should_shut_down = false;
};

struct UnregisterBroker {
  BrokerId id;
};
struct UnregisterBrokerAnswer {
  ApiError error;
};

struct RegisterController {
  ControllerImage controller;
};
struct RegisterControllerAnswer {
  ApiError error;
};

struct UnregisterController {
  int32_t id{};
};
struct UnregisterControllerAnswer {
  ApiError error;
};

// ---- In-sync sets, as the leaders of partitions change them

struct IsrMember {
  BrokerId id;
  int64_t broker_epoch = -1;  // under which it fetched; -1: not told
};
struct PartitionIsrChange {
  TopicId topic;
  int32_t partition{};
  LeaderEpoch leader_epoch;
  int32_t partition_epoch{};
  std::vector<IsrMember> isr;
  LeaderRecoveryState recovery_state = LeaderRecoveryState::recovered;
};
struct AlterPartition {
  BrokerId broker;
  int64_t broker_epoch{};
  std::vector<PartitionIsrChange> partitions;
};
// Without an error: the partition as it is after the change. With one, only what names it.
struct PartitionIsrChanged {
  TopicId topic;
  int32_t partition{};
  ErrorCode error{};
  BrokerId leader{0};
  LeaderEpoch leader_epoch{0};
  std::vector<BrokerId> isr;
  LeaderRecoveryState recovery_state = LeaderRecoveryState::recovered;
  int32_t partition_epoch{};
};
struct AlterPartitionAnswer {
  ApiError error;                               // of the request as a whole; `partitions` is empty then
  std::vector<PartitionIsrChanged> partitions;  // in the order of the request
};

// ---- Elections

struct ElectLeaders {
  bool is_unclean = false;
  std::optional<std::vector<std::pair<std::string, std::vector<int32_t>>>> partitions;  // none: all
};
struct PartitionElected {
  std::string topic;
  int32_t partition{};
  ApiError error;
};
struct ElectLeadersAnswer {
  ApiError error;
  std::vector<PartitionElected> partitions;  // asked for all: only those for which there was something to do
};

// ---- Directories of replicas

struct ReplicaDirectory {
  DirectoryId directory;
  TopicId topic;
  int32_t partition{};
};
struct AssignReplicasToDirectories {
  BrokerId broker;
  int64_t broker_epoch{};
  std::vector<ReplicaDirectory> replicas;
};
struct AssignReplicasToDirectoriesAnswer {
  ApiError error;
  std::vector<std::pair<ReplicaDirectory, ErrorCode>> replicas;  // in the order of the request
};

// ---- Producer ids

inline constexpr int32_t kProducerIdBlockCount = 1000;

struct AllocateProducerIds {
  BrokerId broker;
  int64_t broker_epoch{};
};
struct AllocateProducerIdsAnswer {
  ApiError error;
  ProducerId first{0};
  int32_t count = 0;
};

// ---- Features

enum class UpgradeType : int8_t { unknown = 0, upgrade = 1, safe_downgrade = 2, unsafe_downgrade = 3 };
struct FeatureUpdate {
  std::string name;
  int16_t level{};
  UpgradeType type = UpgradeType::upgrade;
};
struct UpdateFeatures {
  std::vector<FeatureUpdate> updates;
  bool validate_only = false;
};
struct UpdateFeaturesAnswer {
  ApiError error;
  std::vector<std::pair<std::string, ApiError>> features;
};

// ---- Configuration

// Numbers of IncrementalAlterConfigs.
enum class ConfigOperation : int8_t { set = 0, remove = 1, append = 2, subtract = 3 };
struct ConfigChange {
  std::string key;
  ConfigOperation operation = ConfigOperation::set;
  std::string value;  // meaningless for `remove`
};
struct ConfigResourceChange {
  ConfigResource resource;
  std::vector<ConfigChange> changes;  // keys are unique
};
struct AlterConfigs {
  std::vector<ConfigResourceChange> resources;  // unique
  bool replaces_all = false;  // what a resource has and is not set anew is removed
  bool validate_only = false;
};
struct AlterConfigsAnswer {
  ApiError error;
  std::vector<std::pair<ConfigResource, ApiError>> resources;  // in the order of the request
};

// ---- Client quotas

struct QuotaChange {
  std::string key;
  std::optional<double> value;  // none: removed
};
struct QuotaEntityChange {
  QuotaEntity entity;  // sorted, types are unique
  std::vector<QuotaChange> changes;
};
struct AlterClientQuotas {
  std::vector<QuotaEntityChange> entities;
  bool validate_only = false;
};
struct AlterClientQuotasAnswer {
  ApiError error;
  std::vector<ApiError> errors;  // in the order of the request
};

// ---- SCRAM credentials

struct ScramUpsertion {
  ScramKey key;
  ScramImage credential;  // without keys: the salted password was empty, or the mechanism is unknown
};
struct AlterUserScramCredentials {
  std::vector<ScramKey> deletions;
  std::vector<ScramUpsertion> upsertions;
};
struct AlterUserScramCredentialsAnswer {
  ApiError error;
  std::vector<std::pair<std::string, ApiError>> users;  // each once
};

using ControllerRequest = std::variant<CreateTopics, DeleteTopics, CreatePartitions, RegisterBroker, BrokerHeartbeat,
                                       UnregisterBroker, RegisterController, AllocateProducerIds, UpdateFeatures,
                                       CreateInternalTopic, AlterConfigs, AlterClientQuotas, AlterPartition, ElectLeaders,
                                       AssignReplicasToDirectories, UnregisterController, AlterUserScramCredentials>;
// The alternative of the same position as the request's.
using ControllerAnswer = std::variant<CreateTopicsAnswer, DeleteTopicsAnswer, CreatePartitionsAnswer, RegisterBrokerAnswer,
                                      BrokerHeartbeatAnswer, UnregisterBrokerAnswer, RegisterControllerAnswer,
                                      AllocateProducerIdsAnswer, UpdateFeaturesAnswer, CreateInternalTopicAnswer,
                                      AlterConfigsAnswer, AlterClientQuotasAnswer, AlterPartitionAnswer, ElectLeadersAnswer,
                                      AssignReplicasToDirectoriesAnswer, UnregisterControllerAnswer,
                                      AlterUserScramCredentialsAnswer>;
static_assert(std::variant_size_v<ControllerRequest> == std::variant_size_v<ControllerAnswer>);

// The answer to `request` that carries nothing but `error`.
ControllerAnswer error_answer(ControllerRequest const& request, ApiError error);
ApiError const& error_of(ControllerAnswer const& answer);

}  // namespace millrace::metadata
