// TCP. A connection belongs to one reactor; all calls and events happen on its thread unless said otherwise.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/task.h"
#include "millrace/base/time.h"
#include "millrace/base/units.h"
#include "millrace/bytes/view.h"
#include "millrace/env/reactor.h"
#include "millrace/env/response.h"

namespace millrace::env {

struct SocketAddress {
  std::string ip;  // numeric, IPv4 or IPv6 without brackets
  uint16_t port{};
  friend bool operator==(SocketAddress const&, SocketAddress const&) = default;
};

enum class ReadState { some, would_block, end, failed };
struct ReadOutcome {
  ReadState state{};
  size_t count{};  // > 0 exactly when state is `some`
};

// What has come and was not read.
struct Unread {
  size_t bytes{};
  bool is_all{};  // nothing will follow: the peer has closed its side, or reset the connection
};

// For set_read_low_water(): a reader that misses much of a frame need not wake for each piece that the network carries.
inline constexpr size_t kReadLowWaterFrom = 64_KiB;
inline constexpr size_t kReadLowWaterMax = 512_KiB;
constexpr size_t read_low_water(size_t missing_bytes) {
  return missing_bytes <= kReadLowWaterFrom ? 1 : std::min(missing_bytes, kReadLowWaterMax);
}

class ConnectionEvents {
 public:
  virtual ~ConnectionEvents() = default;
  // Bytes (or the end) can be read. Level-triggered: comes again in the next turn while bytes are left and reading
  // is on.
  virtual void on_readable() = 0;
  // Everything handed to send() has been given to the kernel.
  virtual void on_sent() = 0;
  // The peer is gone or a send failed. Comes once, never from inside a call of ours; after it the connection is dead.
  virtual void on_closed(std::string const& reason) = 0;
};

class Connection {
 public:
  // Destroying closes; queued bytes may be lost, and no event follows.
  virtual ~Connection() = default;

  virtual SocketAddress const& local() const = 0;
  virtual SocketAddress const& peer() const = 0;
  virtual Reactor& reactor() = 0;

  // `events` outlives the connection. Reading is off until set_reading(true).
  virtual void start(ConnectionEvents& events) = 0;
  virtual void set_reading(bool on) = 0;
  virtual ReadOutcome read_some(MutableByteView into) = 0;
  // Do not wake for fewer bytes than this (SO_RCVLOWAT); 1 turns it off. A hint.
  virtual void set_read_low_water(size_t bytes) = 0;
  // Asks the kernel; for those that do not read for a while and still want to know whether the peer is there.
  virtual Unread unread() = 0;

  // Queues a response behind those before it. An announced length is sent whole, or the connection closes.
  virtual void send(Response response) = 0;
  virtual int64_t unsent_bytes() const = 0;
  virtual void close_after_sent() = 0;
  virtual void reset() = 0;  // closes at once with RST; no on_closed
};

struct ListenOptions {
  SocketAddress address;
  std::string congestion_control{};  // empty: the system's
  int backlog = 512;
  int send_buffer_bytes = -1;     // -1: the system tunes it
  int receive_buffer_bytes = -1;
};

class Listener {
 public:
  virtual ~Listener() = default;  // stops accepting
  virtual SocketAddress const& local() const = 0;  // with the port that was chosen when 0 was asked for
  virtual void pause(bool on) = 0;
};

// Called on the reactor that the connection was dealt to. Connections on their way when the listener goes may still
// come, so the handler owns what it uses.
using AcceptHandler = std::function<void(std::unique_ptr<Connection>)>;

class Network {
 public:
  virtual ~Network() = default;
  // Connections are dealt out round robin over the environment's reactors.
  virtual Result<std::unique_ptr<Listener>> listen(ListenOptions const& options, AcceptHandler handler) = 0;
  // Any thread. Resolves `host`, connects until `deadline`, calls back on `reactor`; not_found: it is refused.
  virtual void connect(Reactor& reactor, std::string const& host, uint16_t port, Mono deadline,
                       Callback<void(Result<std::unique_ptr<Connection>>)> done) = 0;
};

}  // namespace millrace::env
