// Connections of the load: requests of the Kafka protocol on plain sockets, one event loop on one thread. A connection
// takes further requests before earlier ones are answered; the broker answers in order.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "millrace/protocol/api/all.h"
#include "millrace/protocol/message.h"

namespace load {

using Clock = std::chrono::steady_clock;
using Instant = Clock::time_point;
using Millis = std::chrono::milliseconds;

class Connection;

class Loop {
 public:
  Loop();
  ~Loop();
  Loop(Loop const&) = delete;
  Loop& operator=(Loop const&) = delete;

  void at(Instant when, std::function<void()> task) { timers_.emplace(when, std::move(task)); }
  void after(Millis wait, std::function<void()> task) { at(Clock::now() + wait, std::move(task)); }
  // Until `is_done` or the deadline; false: the deadline.
  bool run(std::function<bool()> const& is_done, Instant deadline);

 private:
  friend class Connection;
  int epoll_ = -1;
  std::multimap<Instant, std::function<void()>> timers_;
};

class Connection {
 public:
  Connection(Loop& loop, std::string const& host, int port);  // ends the program if nobody listens
  ~Connection();
  Connection(Connection const&) = delete;
  Connection& operator=(Connection const&) = delete;

  template <class Response, class Request>
  void call(Request const& request, int16_t version, std::function<void(Response const&)> done) {
    auto frame = millrace::protocol::encode_request(next_id_++, millrace::Str("group_load"), version, request);
    if (!frame) die(frame.error().message);
    waiting_.push_back([version, done = std::move(done)](millrace::ByteView answer) {
      millrace::Reader in(answer);
      millrace::Arena arena;
      Response response;
      // The header: a correlation id, in flexible versions an empty set of tags.
      in.skip(millrace::protocol::api_info(Request::kKey).response_header_version(version) == 0 ? 4 : 5);
      if (auto const status = millrace::protocol::decode(in, version, arena, response); !status) {
        die(status.error().message);
      }
      done(response);
    });
    send(frame->view());
  }
  [[noreturn]] static void die(std::string const& why);

 private:
  friend class Loop;
  void send(millrace::ByteView bytes);
  void on_readable();

  Loop& loop_;
  int socket_ = -1;
  int32_t next_id_ = 1;
  std::deque<std::function<void(millrace::ByteView)>> waiting_;
  std::string received_;
};

}  // namespace load
