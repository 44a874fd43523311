// Listeners and their connections: frames in, answers out in order, limits, an orderly stop.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/env/env.h"
#include "millrace/net/handler.h"

namespace millrace::net {

struct ListenerOptions {
  std::string name;                              // "PLAINTEXT"
  std::vector<env::SocketAddress> addresses;     // all with one port; 0: one that is free, the same for all
  std::string congestion_control{};              // empty: the system's
  int backlog = 50;
  int send_buffer_bytes = -1;                    // -1: the system tunes it
  int receive_buffer_bytes = -1;
  int64_t connections_max = INT64_MAX;
};

struct NetOptions {
  int64_t connections_max = INT64_MAX;           // at the limit the listeners wait
  int64_t connections_per_ip_max = INT64_MAX;    // above it a connection is closed at once
  std::map<std::string, int64_t> connections_per_ip_overrides{};  // by numeric address
  Duration idle_max = 600s;                      // zero or less: never
  // Memory that the requests of all connections may hold, from their first byte to their answer. At the limit reading
  // waits; small requests still come through, and one large one at a time. Zero or less: a quarter of the memory that
  // the process may use.
  int64_t request_bytes_max = -1;

  static constexpr int64_t kRequestBytesMaxLeast = 16 << 20;
  static constexpr int64_t kRequestBytesMaxUnknown = 256 << 20;  // when nothing tells how much memory there is
};

struct NetStats {
  int64_t connections{};           // now
  int64_t connections_accepted{};  // ever
  int64_t connections_refused{};   // by a limit
  int64_t requests{};
  int64_t bytes_in{};
  int64_t bytes_out{};
  int64_t request_bytes{};         // now
  int64_t request_bytes_max{};
  int64_t connections_stalled{};   // closed because they held memory that others waited for
};

// Any thread may call. `env` outlives it.
class NetServer {
 public:
  NetServer(env::Env& env, NetOptions options);
  // The environment's threads have ended, or stop() has reported.
  ~NetServer();

  // Opens the listener; who connects waits until open(). An IPv6 address that the machine does not have is skipped while another one works.
  Status listen(ListenerOptions const& options);
  // Where a listener really is, in the order of its addresses; empty when there is none of that name.
  std::vector<env::SocketAddress> addresses(std::string const& listener_name) const;

  // Begins to serve: all listeners, or the named one. `handler` is called on the reactors' threads until stop() has
  // reported, or until they have ended; it is the same for all.
  void open(Handler& handler);
  void open(Handler& handler, std::string const& listener_name);

  // Accepts nothing more, starts no further request, closes each connection once its running requests are answered
  // and sent, and all of them at `deadline`; then `done` runs on `back`.
  void stop(Mono deadline, env::Reactor& back, Task done);

  NetStats stats() const;

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace millrace::net
