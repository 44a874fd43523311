// Image: everything that the metadata log says, as of one offset. A value; copying costs a few reference
// counts because all parts share structure. Published as std::shared_ptr<Image const>: immutable, any thread.
// A request takes one image and keeps it to its end.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/metadata/persistent_map.h"

namespace millrace::metadata {

// Directory ids with a meaning of their own.
inline constexpr DirectoryId kDirectoryMigrating{};
inline constexpr DirectoryId kDirectoryUnassigned{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
inline constexpr DirectoryId kDirectoryLost{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
inline constexpr TopicId kMetadataTopicId{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
inline constexpr std::string_view kMetadataTopicName = "__cluster_metadata";

struct Endpoint {
  std::string listener;  // "PLAINTEXT", "CONTROLLER", ...
  std::string host;
  uint16_t port{};
  int16_t security_protocol{};  // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
  friend bool operator==(Endpoint const&, Endpoint const&) = default;
};

struct SupportedFeature {
  std::string name;
  int16_t level_min{};
  int16_t level_max{};
  friend bool operator==(SupportedFeature const&, SupportedFeature const&) = default;
};

struct BrokerImage {
  BrokerId id;
  int64_t epoch{};  // offset of its registration record
  // From this registration on to `epoch` none but the first became active, so that whoever names any of them as its
  // last has missed nothing since. The log tells it, a snapshot does not: equal brokers may differ in it.
  int64_t unused_since{};
  Uuid incarnation_id;
  std::vector<Endpoint> endpoints;
  std::vector<SupportedFeature> features;
  std::optional<std::string> rack;
  bool is_fenced = true;
  bool is_in_controlled_shutdown = false;
  std::vector<DirectoryId> directories;                         // sorted
  std::optional<std::vector<DirectoryId>> cordoned_directories;

  Endpoint const* find_endpoint(std::string_view listener) const;
  // Whether a replica in `directory` can be served. What is not assigned yet, or was there before directories had
  // ids, is taken to be well.
  bool has_online_directory(DirectoryId const& directory) const;
  // May lead and be chosen for new replicas.
  bool is_active() const { return !is_fenced && !is_in_controlled_shutdown; }
  friend bool operator==(BrokerImage const& a, BrokerImage const& b);
};

struct ControllerImage {
  int32_t id{};
  Uuid incarnation_id;
  bool is_zk_migration_ready = false;
  std::vector<Endpoint> endpoints;
  std::vector<SupportedFeature> features;
  friend bool operator==(ControllerImage const&, ControllerImage const&) = default;
};

enum class LeaderRecoveryState : int8_t { recovered = 0, recovering = 1 };

struct PartitionImage {
  std::vector<BrokerId> replicas;         // the first is preferred as leader
  std::vector<DirectoryId> directories;   // as long as `replicas`
  std::vector<BrokerId> isr;
  std::vector<BrokerId> removing_replicas;
  std::vector<BrokerId> adding_replicas;
  std::vector<BrokerId> elr;              // eligible leader replicas
  std::vector<BrokerId> last_known_elr;
  BrokerId leader = kNoBroker;            // -1: none
  LeaderEpoch leader_epoch{0};
  int32_t partition_epoch{};
  LeaderRecoveryState recovery_state = LeaderRecoveryState::recovered;

  bool has_replica(BrokerId broker) const;
  bool is_in_isr(BrokerId broker) const;
  // kDirectoryUnassigned when `broker` is not a replica.
  DirectoryId directory_of(BrokerId broker) const;
  friend bool operator==(PartitionImage const&, PartitionImage const&) = default;
};

using PartitionImagePtr = std::shared_ptr<PartitionImage const>;
using PartitionMap = PersistentMap<int32_t, PartitionImagePtr>;

struct TopicImage {
  TopicId id;
  std::string name;
  PartitionMap partitions;  // 0 .. count-1

  int32_t partition_count() const { return static_cast<int32_t>(partitions.size()); }
  PartitionImage const* find_partition(int32_t index) const;  // null: no such partition
};
using TopicImagePtr = std::shared_ptr<TopicImage const>;

// Kafka's ConfigResource.Type numbers.
enum class ConfigResourceType : int8_t {
  unknown = 0,
  topic = 2,
  broker = 4,  // name "" is the cluster-wide default
  broker_logger = 8,
  client_metrics = 16,
  group = 32,
};
struct ConfigResource {
  ConfigResourceType type{};
  std::string name;
  friend auto operator<=>(ConfigResource const&, ConfigResource const&) = default;
};
// Only what was set in the cluster; defaults and effective values are found by whoever knows the configuration keys.
using ConfigMap = PersistentMap<std::string, std::string>;

// Sorted (entity type, entity name or null for the default).
using QuotaEntity = std::vector<std::pair<std::string, std::optional<std::string>>>;
struct QuotaEntityKey {
  QuotaEntity entity;
  friend auto operator<=>(QuotaEntityKey const&, QuotaEntityKey const&) = default;
};
using QuotaMap = PersistentMap<std::string, double>;

struct ScramKey {
  std::string user;
  int8_t mechanism{};  // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
  friend auto operator<=>(ScramKey const&, ScramKey const&) = default;
};
struct ScramImage {
  std::string salt, stored_key, server_key;  // bytes
  int32_t iterations{};
  friend bool operator==(ScramImage const&, ScramImage const&) = default;
};

struct AclImage {
  int8_t resource_type{};
  std::string resource_name;
  int8_t pattern_type{};
  std::string principal;
  std::string host;
  int8_t operation{};
  int8_t permission{};
  friend auto operator<=>(AclImage const&, AclImage const&) = default;
};

struct DelegationTokenImage {
  std::string owner, requester;
  std::vector<std::string> renewers;
  int64_t issued_ms{}, max_ms{}, expires_ms{};
  friend bool operator==(DelegationTokenImage const&, DelegationTokenImage const&) = default;
};

class Image {
 public:
  // The last record that is in here; offset -1: none.
  Offset offset{-1};
  LeaderEpoch epoch{-1};
  int64_t timestamp_ms = -1;  // of the batch of that record

  PersistentMap<BrokerId, std::shared_ptr<BrokerImage const>> brokers;
  PersistentMap<int32_t, std::shared_ptr<ControllerImage const>> controllers;
  PersistentMap<std::string, TopicImagePtr> topics;      // by name
  PersistentMap<TopicId, TopicImagePtr> topics_by_id;
  PersistentMap<ConfigResource, ConfigMap> configs;
  PersistentMap<std::string, int16_t> features;          // finalised levels, metadata.version included
  ProducerId next_producer_id{0};                        // first one not handed to any broker
  PersistentMap<QuotaEntityKey, QuotaMap> quotas;
  PersistentMap<ScramKey, ScramImage> scram;
  PersistentMap<Uuid, AclImage> acls;
  PersistentMap<std::string, DelegationTokenImage> delegation_tokens;

  // Follow from the topics, kept by replay so that a broker's fate need not look at all partitions.
  PersistentMap<BrokerId, PersistentMap<TopicId, bool>> topics_by_broker;  // all that have a replica there, maybe more
  PersistentMap<TopicId, int32_t> leaderless_counts;                       // partitions without a leader; never 0

  // Null when absent; the pointer lives as long as this image (or a later one that shares it).
  BrokerImage const* find_broker(BrokerId id) const;
  TopicImage const* find_topic(std::string_view name) const;
  TopicImage const* find_topic(TopicId const& id) const;
  PartitionImage const* find_partition(std::string_view topic, int32_t partition) const;
  PartitionImage const* find_partition(TopicId const& topic, int32_t partition) const;
  // What was set for the resource; null when nothing was.
  ConfigMap const* find_configs(ConfigResourceType type, std::string_view name) const;
  std::string const* find_config(ConfigResourceType type, std::string_view name, std::string_view key) const;
  // Finalised level; 0 when not finalised.
  int16_t feature_level(std::string_view name) const;
  int16_t metadata_version() const { return feature_level("metadata.version"); }
  size_t partition_count() const;

  // Rules that hold after every record; an MR_ASSERT fails otherwise. O(size).
  void check_invariants() const;
};
using ImagePtr = std::shared_ptr<Image const>;

}  // namespace millrace::metadata

template <>
struct std::hash<millrace::metadata::ConfigResource> {
  size_t operator()(millrace::metadata::ConfigResource const& r) const noexcept {
    return std::hash<std::string>{}(r.name) * 31 + static_cast<size_t>(r.type);
  }
};
template <>
struct std::hash<millrace::metadata::ScramKey> {
  size_t operator()(millrace::metadata::ScramKey const& k) const noexcept {
    return std::hash<std::string>{}(k.user) * 31 + static_cast<size_t>(k.mechanism);
  }
};
template <>
struct std::hash<millrace::metadata::QuotaEntityKey> {
  size_t operator()(millrace::metadata::QuotaEntityKey const& k) const noexcept {
    size_t h = 7;
    for (auto const& [type, name] : k.entity) {
      h = h * 31 + std::hash<std::string>{}(type);
      h = h * 31 + (name ? std::hash<std::string>{}(*name) : 1);
    }
    return h;
  }
};
