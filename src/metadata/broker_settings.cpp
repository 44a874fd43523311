#include "millrace/metadata/broker_settings.h"

#include <algorithm>

namespace millrace::metadata {

BrokerSetting const* BrokerSettings::find(std::string_view name) const {
  auto const found = std::ranges::lower_bound(all, name, {}, &BrokerSetting::name);
  return found != all.end() && found->name == name ? &*found : nullptr;
}

BrokerSetting const* BrokerSettings::find_for_listener(std::string_view name) const {
  constexpr std::string_view kPrefix = "listener.name.";
  if (!name.starts_with(kPrefix)) return find(name);
  name.remove_prefix(kPrefix.size());
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    name.remove_prefix(dot + 1);
    if (auto const* setting = find(name)) return setting;
  }
  return nullptr;
}

}  // namespace millrace::metadata
