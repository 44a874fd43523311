#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct ApiVersionsRequest {
  static constexpr ApiKey kKey = ApiKey::api_versions;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  Str client_software_name;
  Str client_software_version;
  std::optional<Str> cluster_id;
  int32_t node_id = -1;
  static void describe(auto& m, auto& v) {
    v(m.client_software_name, {"ClientSoftwareName", since(3), kIgnorable});
    v(m.client_software_version, {"ClientSoftwareVersion", since(3), kIgnorable});
    v(m.cluster_id, {"ClusterId", since(5), nullable_since(5), kIgnorable});
    v(m.node_id, {"NodeId", since(5), kIgnorable});
  }
  static MessageTable const& table();
};

struct ApiVersionsResponse {
  static constexpr ApiKey kKey = ApiKey::api_versions;
  static constexpr Versions kValid{0, 5}, kFlexible{3, kLatest};

  struct ApiVersion {
    int16_t api_key{};
    int16_t min_version{};
    int16_t max_version{};
    static void describe(auto& m, auto& v) {
      v(m.api_key, {"ApiKey", since(0)});
      v(m.min_version, {"MinVersion", since(0)});
      v(m.max_version, {"MaxVersion", since(0)});
    }
  };

  struct SupportedFeatureKey {
    Str name;
    int16_t min_version{};
    int16_t max_version{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(3)});
      v(m.min_version, {"MinVersion", since(3)});
      v(m.max_version, {"MaxVersion", since(3)});
    }
  };

  struct FinalizedFeatureKey {
    Str name;
    int16_t max_version_level{};
    int16_t min_version_level{};
    static void describe(auto& m, auto& v) {
      v(m.name, {"Name", since(3)});
      v(m.max_version_level, {"MaxVersionLevel", since(3)});
      v(m.min_version_level, {"MinVersionLevel", since(3)});
    }
  };

  ErrorCode error_code{};
  Array<ApiVersion> api_keys;
  int32_t throttle_time_ms{};
  Array<SupportedFeatureKey> supported_features;
  int64_t finalized_features_epoch = -1;
  Array<FinalizedFeatureKey> finalized_features;
  bool zk_migration_ready{};
  static void describe(auto& m, auto& v) {
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.api_keys, {"ApiKeys", since(0)});
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(1), kIgnorable});
    v(m.supported_features, {"SupportedFeatures", since(3), tagged_since(3, 0), kIgnorable});
    v(m.finalized_features_epoch, {"FinalizedFeaturesEpoch", since(3), tagged_since(3, 1), kIgnorable});
    v(m.finalized_features, {"FinalizedFeatures", since(3), tagged_since(3, 2), kIgnorable});
    v(m.zk_migration_ready, {"ZkMigrationReady", since(3), tagged_since(3, 3), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
