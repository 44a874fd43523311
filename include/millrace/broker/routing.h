// The one table of what is served: which API at which versions on which listener, and who answers it. ApiVersions is
// made from it, so an API that is not in it does not exist for a client.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "millrace/broker/context.h"

namespace millrace::broker {

struct ServedVersions {
  int16_t lowest{};
  int16_t highest{};
};

enum RouteFlag : uint32_t {
  kNoFlags = 0,
  // A lower version is advertised than is served: a request below `versions.lowest` closes the connection, but
  // librdkafka looks for the advertised one before it compresses (Produce says 0 and serves 3).
  kAdvertisedFromZero = 1u << 0,
  // Works before authentication.
  kBeforeAuthentication = 1u << 1,
};

struct Route {
  int16_t api_key{};
  ServedVersions versions;
  uint8_t listeners{};  // of ListenerKind
  HandlerFunction handle{};
  uint32_t flags = kNoFlags;

  bool is_on(ListenerKind kind) const { return (listeners & static_cast<uint8_t>(kind)) != 0; }
  bool serves(int16_t version) const { return version >= versions.lowest && version <= versions.highest; }
};

class RoutingTable {
 public:
  static constexpr int16_t kApiKeyMax = 127;

  explicit RoutingTable(std::span<Route const> routes);  // keys unique, ascending
  Route const* find(int16_t api_key, ListenerKind kind) const;
  std::span<Route const> routes() const { return routes_; }

  // Every API of the product (src/broker/routes.cpp).
  static RoutingTable const& product();

 private:
  std::span<Route const> routes_;
  std::array<Route const*, kApiKeyMax + 1> by_key_{};
};

}  // namespace millrace::broker
