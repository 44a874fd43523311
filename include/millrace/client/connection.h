// An outbound Kafka connection: versions agreed by ApiVersions, correlation, deadlines. Used by runtime, by the
// command line and by simulated clients. Everything happens on the reactor that was given at opening.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/base/task.h"
#include "millrace/base/time.h"
#include "millrace/bytes/arena.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/env/network.h"
#include "millrace/protocol/message.h"

namespace millrace::client {

struct Options {
  std::string client_id = "millrace";
  std::string software_name = "millrace";
  std::string software_version = "0.1.0";
  Duration request_timeout = std::chrono::seconds(30);
  int64_t response_bytes_max = 128 << 20;
};

// A response and what its views and arrays live in.
template <class Response>
struct Reply {
  Response message;
  int16_t version{};
  SharedBytes frame;
  Arena arena;
};

struct VersionRange {
  int16_t lowest{};
  int16_t highest{};
};

class Connection {
 public:
  static constexpr size_t kInFlightMax = 64;
  using Opened = Callback<void(Result<std::shared_ptr<Connection>>)>;
  using Answered = Callback<void(Result<SharedBytes>)>;  // the frame after its length

  // Connects and exchanges ApiVersions; all of it within `deadline`.
  static void open(env::Network& network, env::Reactor& reactor, std::string const& host, uint16_t port,
                   Options options, Mono deadline, Opened done);

  virtual ~Connection() = default;  // unanswered calls are dropped without being called

  virtual env::Reactor& reactor() = 0;
  virtual env::SocketAddress const& peer() const = 0;
  virtual bool is_open() const = 0;
  // What the server serves; none: not this API.
  virtual std::optional<VersionRange> served(ApiKey key) const = 0;

  // Sends a whole frame (with its length prefix) that carries `correlation_id`. Answers arrive in order. After a
  // deadline, a wrong correlation id or the end of the connection all calls in flight fail and it stays closed:
  // ErrorKind::cancelled says that it is not known whether the server acted.
  virtual void send_frame(SharedBytes frame, int32_t correlation_id, Mono deadline, Answered done) = 0;
  // For requests without an answer (Produce with acks=0).
  virtual void send_frame_without_answer(SharedBytes frame) = 0;
  virtual int32_t next_correlation_id() = 0;
  virtual Options const& options() const = 0;
  virtual void close() = 0;

  // The highest version that both sides know, at most `highest`. unsupported: there is none.
  Result<int16_t> choose_version(ApiKey key, protocol::Versions ours, int16_t highest = INT16_MAX) const;

  template <class Response, class Request>
  void call(Request const& request, Callback<void(Result<Reply<Response>>)> done,
            std::optional<int16_t> version = std::nullopt);
};

template <class Response, class Request>
void Connection::call(Request const& request, Callback<void(Result<Reply<Response>>)> done,
                      std::optional<int16_t> version) {
  if (!version) {
    auto chosen = choose_version(Request::kKey, Request::kValid);
    if (!chosen) return std::move(done)(std::move(chosen).error());
    version = *chosen;
  }
  auto const correlation_id = next_correlation_id();
  auto frame = protocol::encode_request(correlation_id, Str(options().client_id), *version, request);
  if (!frame) return std::move(done)(std::move(frame).error());
  auto answered = [version = *version, done = std::move(done)](Result<SharedBytes> answer) mutable {
    if (!answer) return std::move(done)(std::move(answer).error());
    Reply<Response> reply;
    reply.version = version;
    reply.frame = std::move(*answer);
    Reader in(reply.frame.view());
    protocol::ResponseHeader header;
    auto const header_version = protocol::api_info(Request::kKey).response_header_version(version);
    if (auto decoded = protocol::decode(in, header_version, reply.arena, header); !decoded) {
      return std::move(done)(std::move(decoded).error());
    }
    if (auto decoded = protocol::decode(in, version, reply.arena, reply.message); !decoded) {
      return std::move(done)(std::move(decoded).error());
    }
    std::move(done)(std::move(reply));
  };
  send_frame(*std::move(frame), correlation_id, reactor().now() + options().request_timeout, std::move(answered));
}

}  // namespace millrace::client
