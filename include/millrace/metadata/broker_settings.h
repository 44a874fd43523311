// The keys of a node's configuration as far as a cluster can see and change them. Which keys there are is known to
// whoever reads the file; it hands this in.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/setting.h"

namespace millrace::metadata {

enum class UpdateMode : uint8_t { read_only, per_broker, cluster_wide };

struct BrokerSetting {
  std::string_view name;
  SettingType type{};
  std::optional<std::string_view> default_text;
  UpdateMode update_mode = UpdateMode::read_only;
  bool is_internal = false;  // shown only when it was set
  std::string_view documentation;
};

struct BrokerSettings {
  std::vector<BrokerSetting> all;  // sorted by name
  // Null when the value is good, else what is wrong with it.
  std::function<std::optional<std::string>(BrokerSetting const& setting, std::string_view value)> check;

  BrokerSetting const* find(std::string_view name) const;
  // The same without `listener.name.NAME.` in front, which Kafka lets differ between listeners.
  BrokerSetting const* find_for_listener(std::string_view name) const;
};

// The broker keys that were set in the node's file, by Kafka's name.
using StaticConfigs = std::map<std::string, std::string, std::less<>>;

// The same while the file may be read again. Any thread.
class LiveStatics {
 public:
  explicit LiveStatics(StaticConfigs first) : now_(std::make_shared<StaticConfigs const>(std::move(first))) {}
  std::shared_ptr<StaticConfigs const> get() const {
    std::lock_guard lock(mutex_);
    return now_;
  }
  void set(StaticConfigs next) {
    std::lock_guard lock(mutex_);
    now_ = std::make_shared<StaticConfigs const>(std::move(next));
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<StaticConfigs const> now_;
};

}  // namespace millrace::metadata
