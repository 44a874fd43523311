#include "millrace/metadata/features.h"

#include <array>

#include "millrace/protocol/features.h"

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

}  // namespace

std::span<FeatureInfo const> known_features() { return kFeatures; }

FeatureInfo const* find_feature(std::string_view name) {
  for (auto const& feature : kFeatures)
    if (feature.name == name) return &feature;
  return nullptr;
}

std::string_view metadata_version_name(int16_t level) {
  auto const* known = protocol::find_metadata_version(level);
  return known == nullptr ? std::string_view() : known->name;
}

std::vector<SupportedFeature> supported_features() {
  std::vector<SupportedFeature> out;
  for (auto const& feature : kFeatures) out.push_back({std::string(feature.name), feature.level_min, feature.level_max});
  return out;
}

bool metadata_changed_between(int16_t from, int16_t to) {
  for (int16_t level = static_cast<int16_t>(std::min(from, to) + 1); level <= std::max(from, to); ++level) {
    auto const* known = protocol::find_metadata_version(level);
    if (known == nullptr || known->changes_metadata) return true;
  }
  return false;
}

}  // namespace millrace::metadata
