// The connections of one scripted client to the nodes of a cluster: one to each, opened when it is needed first and
// again after it failed. Everything happens on one reactor of the client's machine.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/client/connection.h"
#include "sim/network.h"

namespace millrace::sim {

class ClusterClient {
 public:
  struct Address {
    std::string host;
    uint16_t port{};
  };
  ClusterClient(NodeEnv& env, size_t reactor, std::string name, std::vector<Address> nodes, Duration request_timeout);

  size_t size() const { return peers_.size(); }
  std::string const& name() const { return name_; }
  env::Reactor& reactor() { return reactor_; }
  void after(Duration wait, Task task) { reactor_.call_at(reactor_.now() + wait, std::move(task)); }

  // `done` gets whether there is a connection now; never inside this call.
  void connect(size_t node, std::function<void(bool)> done);
  bool is_open(size_t node) const { return peers_[node].connection != nullptr && peers_[node].connection->is_open(); }
  void drop(size_t node);

  // Over an open connection, in a version drawn from what both sides know. `done` gets the reply, or null when it is
  // not known whether the node acted; the connection is dropped then.
  template <class Response, class Request>
  void call(size_t node, Request const& request, int16_t lowest, int16_t highest,
            std::function<void(client::Reply<Response>*)> done) {
    auto const connection = peers_[node].connection;
    if (connection == nullptr || !connection->is_open()) {
      reactor_.post([this, node, connection, done = std::move(done)] {
        if (peers_[node].connection == connection) drop(node);
        done(nullptr);
      });
      return;
    }
    connection->template call<Response>(
        request,
        [this, node, weak = std::weak_ptr(connection), done = std::move(done)](Result<client::Reply<Response>> reply) {
          if (reply.ok()) return done(&*reply);
          world().trace().say(world().now(), "call failed", fmt::format("{} to {}: {}", name_, peers_[node].address.host, reply.error().message));
          auto const failed = weak.lock();
          if (failed != nullptr && peers_[node].connection == failed) drop(node);
          done(nullptr);
        },
        draw_version(*connection, Request::kKey, lowest, highest));
  }

  // Over an open connection, what is not answered (Produce with acks=0). False: there is no connection.
  template <class Request>
  bool tell(size_t node, Request const& request, int16_t version) {
    if (!is_open(node)) return false;
    auto& connection = *peers_[node].connection;
    auto frame = protocol::encode_request(connection.next_correlation_id(), Str(name_), version, request);
    MR_ASSERT(frame.ok());
    connection.send_frame_without_answer(*std::move(frame));
    return true;
  }

 private:
  struct Peer {
    Address address;
    std::shared_ptr<client::Connection> connection;
    bool is_connecting = false;
    std::vector<std::function<void(bool)>> waiting;
  };
  int16_t draw_version(client::Connection const& connection, ApiKey key, int16_t lowest, int16_t highest);
  World& world() { return env_.world(); }

  NodeEnv& env_;
  env::Reactor& reactor_;
  std::string name_;
  Random random_;
  Duration request_timeout_;
  std::vector<Peer> peers_;
};

}  // namespace millrace::sim
