#include "sim/run/cluster_client.h"

namespace millrace::sim {

using namespace std::chrono_literals;

ClusterClient::ClusterClient(NodeEnv& env, size_t reactor, std::string name, std::vector<Address> nodes, Duration request_timeout)
    : env_(env),
      reactor_(env.reactor(reactor)),
      name_(std::move(name)),
      random_(env.random("connections of " + name_)),
      request_timeout_(request_timeout) {
  for (auto& address : nodes) peers_.push_back({std::move(address), nullptr, false, {}});
}

int16_t ClusterClient::draw_version(client::Connection const& connection, ApiKey key, int16_t lowest, int16_t highest) {
  auto const served = connection.served(key);
  if (!served) return highest;
  auto const low = std::max(lowest, served->lowest);
  return static_cast<int16_t>(random_.between(low, std::max(low, std::min(highest, served->highest))));
}

void ClusterClient::connect(size_t node, std::function<void(bool)> done) {
  auto& peer = peers_[node];
  if (is_open(node)) return reactor_.post([done = std::move(done)] { done(true); });
  peer.waiting.push_back(std::move(done));
  if (std::exchange(peer.is_connecting, true)) return;
  if (peer.connection != nullptr) drop(node);
  client::Options options;
  options.client_id = name_;
  options.request_timeout = request_timeout_;
  client::Connection::open(env_.network(), reactor_, peer.address.host, peer.address.port, options, reactor_.now() + 1s,
                           [this, node](Result<std::shared_ptr<client::Connection>> made) {
                             auto& opened = peers_[node];
                             opened.is_connecting = false;
                             if (made.ok()) opened.connection = *std::move(made);
                             for (auto& each : std::exchange(opened.waiting, {})) each(is_open(node));
                           });
}

// A connection may be calling just now: it is let go of later.
void ClusterClient::drop(size_t node) {
  auto old = std::exchange(peers_[node].connection, nullptr);
  if (old == nullptr) return;
  reactor_.post([old = std::move(old)] { old->close(); });
}

}  // namespace millrace::sim
