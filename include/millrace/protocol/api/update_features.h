#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct UpdateFeaturesRequest {
  static constexpr ApiKey kKey = ApiKey::update_features;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct FeatureUpdateKey {
    Str feature;
    int16_t max_version_level{};
    bool allow_downgrade{};
    int8_t upgrade_type = 1;
    static void describe(auto& m, auto& v) {
      v(m.feature, {"Feature", since(0)});
      v(m.max_version_level, {"MaxVersionLevel", since(0)});
      v(m.allow_downgrade, {"AllowDowngrade", between(0, 0)});
      v(m.upgrade_type, {"UpgradeType", since(1)});
    }
  };

  int32_t timeout_ms = 60000;
  Array<FeatureUpdateKey> feature_updates;
  bool validate_only{};
  static void describe(auto& m, auto& v) {
    v(m.timeout_ms, {"timeoutMs", since(0)});
    v(m.feature_updates, {"FeatureUpdates", since(0)});
    v(m.validate_only, {"ValidateOnly", since(1)});
  }
  static MessageTable const& table();
};

struct UpdateFeaturesResponse {
  static constexpr ApiKey kKey = ApiKey::update_features;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct UpdatableFeatureResult {
    Str feature;
    ErrorCode error_code{};
    std::optional<Str> error_message = "";
    static void describe(auto& m, auto& v) {
      v(m.feature, {"Feature", since(0)});
      v(m.error_code, {"ErrorCode", since(0)});
      v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message = "";
  Array<UpdatableFeatureResult> results;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.results, {"Results", between(0, 1), kIgnorable});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
