// The one table of what is served: which API, on which listeners, and who answers it. Versions come from the message
// descriptions. ApiVersions is made from this table, so an API that is not in it does not exist for a client.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "millrace/broker/context.h"

namespace millrace::broker {

struct Route {
  ApiKey key{};
  HandlerFunction handle{};
  // Listeners on which we do not serve it yet although Kafka does; of ListenerKind.
  uint8_t except_on = 0;
  // False: a client that asks without having read ApiVersions is answered, but none is invited to.
  bool is_advertised = true;
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
