// The seam between net and broker: net owns frames, connections and the order of answers; the handler owns meaning.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "millrace/base/time.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/env/network.h"
#include "millrace/env/response.h"

namespace millrace::net {

// What is known of a connection. Owned by it; the handler's own per-connection state hangs off `handler_state`.
struct ConnectionInfo {
  uint64_t id{};
  std::string listener_name;           // "PLAINTEXT", "CONTROLLER", ...
  env::SocketAddress local;            // what the client connected to
  env::SocketAddress peer;
  env::Reactor* reactor{};             // the connection's thread
  std::string client_software_name;    // from ApiVersions
  std::string client_software_version;
  bool has_ended = false;              // no request follows; the peer may have closed its side only, and still read
  std::shared_ptr<void> handler_state;
};

// The way back for one request. Exactly one of send(), send_nothing(), close() is called, from any thread; dropping
// it unanswered closes the connection. Net sends answers in the order of the requests.
class Answer {
 public:
  virtual ~Answer() = default;
  // `response` begins with the response header, without the length prefix: net writes that. With throttle > 0 the
  // answer leaves first; then neither new nor buffered requests of the connection start for that long.
  virtual void send(env::Response response, Duration throttle = Duration::zero()) = 0;
  // acks=0: nothing is sent.
  virtual void send_nothing(Duration throttle = Duration::zero()) = 0;
  // Once all earlier answers are sent the connection closes; nothing later starts.
  virtual void close(std::string reason) = 0;
  // A Produce is with its partitions, in an order that a later one cannot change: the next request may start before
  // this one is answered, if it is a Produce too. May be called more than once.
  virtual void let_next_produce_start() = 0;
};

// One frame. The buffer is mutable and exclusively the request's: Produce rewrites headers in place.
struct Request {
  SharedBytes frame;                      // after the length prefix; begins with the request header
  std::shared_ptr<ConnectionInfo> connection;
  Mono arrived;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // Called on the connection's thread, one request at a time in order of arrival.
  virtual void on_request(Request request, std::unique_ptr<Answer> answer) = 0;
  virtual void on_connection_closed(ConnectionInfo const& connection) = 0;
  // Frames longer than this close the connection before anything is allocated.
  virtual int64_t request_bytes_max(ConnectionInfo const& connection) const = 0;
  // True when the frame starts (api key, version) a Produce, so that net may overlap it with the Produce before it.
  virtual bool may_overlap(ByteView frame_start) const = 0;
};

}  // namespace millrace::net
