// Feature levels and the metadata.version table of Kafka 4.4.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace millrace::protocol {

inline constexpr std::string_view kMetadataVersionFeature = "metadata.version";

// One level of metadata.version, with what it means for messages and records.
struct MetadataVersion {
  int16_t level = 0;
  std::string_view name;  // "4.4-IV2"
  bool is_production = false;
  bool changes_metadata = false;  // against the level before: a downgrade below it may lose data
  int16_t fetch_request = 0;      // the highest version that brokers use between themselves, and so on
  int16_t list_offsets_request = 0;
  int16_t register_broker_record = 0;
  int16_t partition_record = 0;
  int16_t partition_change_record = 0;
  // The levels that a cluster formatted at this metadata.version starts with.
  int16_t kraft_version = 0;
  int16_t transaction_version = 0;
  int16_t group_version = 0;
  int16_t eligible_leader_replicas_version = 0;
  int16_t share_version = 0;
  int16_t streams_version = 0;
};

inline constexpr int16_t kMetadataVersionMin = 7;      // 3.3-IV3
inline constexpr int16_t kMetadataVersionLatest = 33;  // 4.4-IV2, the latest in production

std::span<MetadataVersion const> metadata_versions();  // by ascending level, without a gap
MetadataVersion const* find_metadata_version(int16_t level);
MetadataVersion const* find_metadata_version(
    std::string_view name);  // "4.4-IV2", or "4.4" for its latest in production

struct FeatureLevel {
  std::string_view feature;
  int16_t level = 0;
  int16_t bootstrap_metadata_version = 0;            // clusters formatted from this level on start with it
  std::optional<int16_t> metadata_version_required;  // the feature cannot be raised below this level
};

std::span<FeatureLevel const> feature_levels();  // all but metadata.version, grouped by feature, by ascending level
// The levels that a 4.4 node supports: 0 to this one. -1 for an unknown feature.
int16_t feature_level_latest(std::string_view feature);

}  // namespace millrace::protocol
