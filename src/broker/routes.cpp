// What this broker serves. A new API: a handler file, a line here, a test.
#include "handlers.h"
#include "millrace/broker/routing.h"

namespace millrace::broker {
namespace {

constexpr Route kRoutes[] = {
    {ApiKey::produce, handle_produce},
    {ApiKey::fetch, handle_fetch},
    {ApiKey::list_offsets, handle_list_offsets},
    {ApiKey::api_versions, handle_api_versions},
    {ApiKey::delete_records, handle_delete_records},
    {ApiKey::offset_for_leader_epoch, handle_offset_for_leader_epoch},
};

}  // namespace

RoutingTable::RoutingTable(std::span<Route const> routes) : routes_(routes) {
  for (auto const& route : routes) {
    auto const key = static_cast<int16_t>(route.key);
    MR_ASSERT(key >= 0 && key <= kApiKeyMax);
    MR_ASSERT(by_key_[static_cast<size_t>(key)] == nullptr);
    by_key_[static_cast<size_t>(key)] = &route;
  }
}

Route const* RoutingTable::find(int16_t api_key, ListenerKind kind) const {
  if (api_key < 0 || api_key > kApiKeyMax) return nullptr;
  auto const* route = by_key_[static_cast<size_t>(api_key)];
  if (route == nullptr || (route->except_on & static_cast<uint8_t>(kind)) != 0) return nullptr;
  auto const& info = protocol::api_info(route->key);
  return (kind == ListenerKind::controller ? info.on_controller_listener : info.on_broker_listener) ? route : nullptr;
}

RoutingTable const& RoutingTable::product() {
  static RoutingTable const table(kRoutes);  // immutable
  return table;
}

}  // namespace millrace::broker
