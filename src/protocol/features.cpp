#include "millrace/protocol/features.h"

#include <array>

namespace millrace::protocol {

namespace {

constexpr std::array<MetadataVersion, 28> kMetadataVersions{{
    {7, "3.3-IV3", true, true, 13, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0},
    {8, "3.4-IV0", true, true, 13, 7, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {9, "3.5-IV0", true, false, 14, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {10, "3.5-IV1", true, false, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {11, "3.5-IV2", true, true, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {12, "3.6-IV0", true, false, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {13, "3.6-IV1", true, true, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {14, "3.6-IV2", true, true, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {15, "3.7-IV0", true, true, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {16, "3.7-IV1", true, false, 15, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0},
    {17, "3.7-IV2", true, true, 15, 8, 3, 1, 1, 0, 0, 0, 0, 0, 0},
    {18, "3.7-IV3", true, false, 15, 8, 3, 1, 1, 0, 0, 0, 0, 0, 0},
    {19, "3.7-IV4", true, false, 16, 8, 3, 1, 1, 0, 0, 0, 0, 0, 0},
    {20, "3.8-IV0", true, false, 16, 8, 3, 1, 1, 0, 0, 0, 0, 0, 0},
    {21, "3.9-IV0", true, false, 17, 9, 3, 1, 1, 1, 0, 0, 0, 0, 0},
    {22, "4.0-IV0", true, false, 17, 9, 3, 1, 1, 1, 0, 1, 0, 0, 0},
    {23, "4.0-IV1", true, true, 17, 9, 3, 2, 2, 1, 0, 1, 0, 0, 0},
    {24, "4.0-IV2", true, false, 17, 9, 3, 2, 2, 1, 2, 1, 0, 0, 0},
    {25, "4.0-IV3", true, false, 17, 10, 3, 2, 2, 1, 2, 1, 0, 0, 0},
    {26, "4.1-IV0", true, false, 17, 10, 3, 2, 2, 1, 2, 1, 1, 0, 0},
    {27, "4.1-IV1", true, false, 18, 10, 3, 2, 2, 1, 2, 1, 1, 0, 0},
    {28, "4.2-IV0", true, false, 18, 10, 3, 2, 2, 1, 2, 1, 1, 1, 0},
    {29, "4.2-IV1", true, false, 18, 11, 3, 2, 2, 1, 2, 1, 1, 1, 1},
    {30, "4.3-IV0", true, true, 18, 11, 4, 2, 2, 1, 2, 1, 1, 1, 1},
    {31, "4.4-IV0", true, false, 18, 11, 4, 2, 2, 1, 2, 1, 1, 2, 1},
    {32, "4.4-IV1", true, true, 18, 11, 4, 2, 2, 1, 2, 1, 1, 2, 1},
    {33, "4.4-IV2", true, true, 18, 11, 4, 2, 2, 1, 2, 1, 1, 2, 1},
    {34, "4.5-IV0", false, false, 18, 11, 4, 2, 2, 1, 2, 1, 1, 2, 1},
}};

constexpr std::array<FeatureLevel, 14> kFeatureLevels{{
    {"kraft.version", 0, 7, std::nullopt},
    {"kraft.version", 1, 21, std::nullopt},
    {"transaction.version", 0, 7, std::nullopt},
    {"transaction.version", 1, 24, std::nullopt},
    {"transaction.version", 2, 24, std::nullopt},
    {"group.version", 0, 7, std::nullopt},
    {"group.version", 1, 22, std::nullopt},
    {"eligible.leader.replicas.version", 0, 7, std::nullopt},
    {"eligible.leader.replicas.version", 1, 26, 23},
    {"share.version", 0, 7, std::nullopt},
    {"share.version", 1, 28, std::nullopt},
    {"share.version", 2, 31, std::nullopt},
    {"streams.version", 0, 7, std::nullopt},
    {"streams.version", 1, 29, std::nullopt},
}};

static_assert(kMetadataVersions.front().level == kMetadataVersionMin);
static_assert(kMetadataVersions[kMetadataVersionLatest - kMetadataVersionMin].level == kMetadataVersionLatest);

}  // namespace

std::span<MetadataVersion const> metadata_versions() { return kMetadataVersions; }

MetadataVersion const* find_metadata_version(int16_t level) {
  if (level < kMetadataVersionMin) return nullptr;
  auto const index = static_cast<size_t>(level - kMetadataVersionMin);
  return index < kMetadataVersions.size() ? &kMetadataVersions[index] : nullptr;
}

MetadataVersion const* find_metadata_version(std::string_view name) {
  MetadataVersion const* found = nullptr;
  for (auto const& version : kMetadataVersions) {
    if (version.name == name) return &version;
    if (version.is_production && version.name.substr(0, version.name.find('-')) == name) found = &version;
  }
  return found;
}

std::span<FeatureLevel const> feature_levels() { return kFeatureLevels; }

int16_t feature_level_latest(std::string_view feature) {
  int16_t latest = feature == kMetadataVersionFeature ? kMetadataVersionLatest : int16_t{-1};
  for (auto const& level : kFeatureLevels) {
    if (level.feature == feature) latest = level.level;
  }
  return latest;
}

}  // namespace millrace::protocol
