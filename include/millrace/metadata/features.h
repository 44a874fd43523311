// The features that a 4.4 node knows: ranges, what a new cluster finalises, and what a level needs.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "millrace/metadata/image.h"

namespace millrace::metadata {

inline constexpr std::string_view kMetadataVersionFeature = "metadata.version";
inline constexpr std::string_view kKraftVersionFeature = "kraft.version";
inline constexpr std::string_view kElrFeature = "eligible.leader.replicas.version";
inline constexpr std::string_view kTransactionFeature = "transaction.version";
inline constexpr std::string_view kGroupFeature = "group.version";
inline constexpr std::string_view kShareFeature = "share.version";
inline constexpr std::string_view kStreamsFeature = "streams.version";

inline constexpr int16_t kMetadataVersionMin = 7;           // 3.3-IV3
inline constexpr int16_t kMetadataVersion36Iv0 = 12;        // an in-sync set may shrink within a leader epoch
inline constexpr int16_t kMetadataVersion37Iv2 = 17;        // directories
inline constexpr int16_t kMetadataVersion40Iv1 = 23;        // ELR
inline constexpr int16_t kMetadataVersion43 = 30;           // cordoned directories
inline constexpr int16_t kMetadataVersion44Iv2 = 33;        // controllers can be unregistered
inline constexpr int16_t kMetadataVersionLatest = kMetadataVersion44Iv2;

struct FeatureInfo {
  std::string_view name;
  int16_t level_min{};
  int16_t level_max{};
  int16_t level_of_new_cluster{};
};

// Sorted by name; kraft.version is finalised by a control record and has level_of_new_cluster 0.
std::span<FeatureInfo const> known_features();
FeatureInfo const* find_feature(std::string_view name);
// "4.4-IV2" for 33; empty for a level that is not known.
std::string_view metadata_version_name(int16_t level);
// The ranges as a registration names them.
std::vector<SupportedFeature> supported_features();
// Whether going from `from` to `to` loses metadata, so that a safe downgrade is refused.
bool metadata_changed_between(int16_t from, int16_t to);

}  // namespace millrace::metadata
