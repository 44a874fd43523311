#include "millrace/metadata/features.h"

#include <array>

namespace millrace::metadata {
namespace {

constexpr std::array kFeatures{
    FeatureInfo{kElrFeature, 0, 1, 1},
    FeatureInfo{kGroupFeature, 0, 1, 1},
    FeatureInfo{kKraftVersionFeature, 0, 1, 0},
    FeatureInfo{kMetadataVersionFeature, kMetadataVersionMin, kMetadataVersionLatest, kMetadataVersionLatest},
    FeatureInfo{kShareFeature, 0, 2, 2},
    FeatureInfo{kStreamsFeature, 0, 1, 1},
    FeatureInfo{kTransactionFeature, 0, 2, 2},
};

struct VersionInfo {
  std::string_view name;
  bool changed_metadata;
};
// From level 7 on.
constexpr std::array kVersions{
    VersionInfo{"3.3-IV3", true},  VersionInfo{"3.4-IV0", true},  VersionInfo{"3.5-IV0", false}, VersionInfo{"3.5-IV1", false},
    VersionInfo{"3.5-IV2", true},  VersionInfo{"3.6-IV0", false}, VersionInfo{"3.6-IV1", true},  VersionInfo{"3.6-IV2", true},
    VersionInfo{"3.7-IV0", true},  VersionInfo{"3.7-IV1", false}, VersionInfo{"3.7-IV2", true},  VersionInfo{"3.7-IV3", false},
    VersionInfo{"3.7-IV4", false}, VersionInfo{"3.8-IV0", false}, VersionInfo{"3.9-IV0", false}, VersionInfo{"4.0-IV0", false},
    VersionInfo{"4.0-IV1", true},  VersionInfo{"4.0-IV2", false}, VersionInfo{"4.0-IV3", false}, VersionInfo{"4.1-IV0", false},
    VersionInfo{"4.1-IV1", false}, VersionInfo{"4.2-IV0", false}, VersionInfo{"4.2-IV1", false}, VersionInfo{"4.3-IV0", true},
    VersionInfo{"4.4-IV0", false}, VersionInfo{"4.4-IV1", true},  VersionInfo{"4.4-IV2", true},
};
static_assert(kVersions.size() == static_cast<size_t>(kMetadataVersionLatest - kMetadataVersionMin + 1));

}  // namespace

std::span<FeatureInfo const> known_features() { return kFeatures; }

FeatureInfo const* find_feature(std::string_view name) {
  for (auto const& feature : kFeatures)
    if (feature.name == name) return &feature;
  return nullptr;
}

std::string_view metadata_version_name(int16_t level) {
  if (level < kMetadataVersionMin || level > kMetadataVersionLatest) return {};
  return kVersions[static_cast<size_t>(level - kMetadataVersionMin)].name;
}

std::vector<SupportedFeature> supported_features() {
  std::vector<SupportedFeature> out;
  for (auto const& feature : kFeatures) out.push_back({std::string(feature.name), feature.level_min, feature.level_max});
  return out;
}

bool metadata_changed_between(int16_t from, int16_t to) {
  for (int16_t level = static_cast<int16_t>(std::min(from, to) + 1); level <= std::max(from, to); ++level) {
    if (level > kMetadataVersionLatest || level < kMetadataVersionMin) return true;
    if (kVersions[static_cast<size_t>(level - kMetadataVersionMin)].changed_metadata) return true;
  }
  return false;
}

}  // namespace millrace::metadata
