// A server connection over a scripted network: frames in, answers out, throttling, back-pressure of unread answers,
// idle time, draining, closing; and the limits of NetServer on connections.
#include <gtest/gtest.h>

#include "millrace/net/net_server.h"

namespace millrace::net {
namespace {

class FakeReactor final : public env::Reactor {
 public:
  Mono now() const override { return now_; }
  void post(Task task) override { posted_.push_back(std::move(task)); }
  void at_turn_end(Task task) override { turn_end_.push_back(std::move(task)); }
  env::TimerId call_at(Mono when, Task task) override {
    timers_.emplace(std::pair(when, ++last_timer_), std::move(task));
    return last_timer_;
  }
  void cancel(env::TimerId timer) override {
    std::erase_if(timers_, [&](auto const& entry) { return entry.first.second == timer; });
  }
  bool is_current() const override { return is_current_; }

  void run() {
    is_current_ = true;
    while (!posted_.empty() || !turn_end_.empty()) {
      auto& list = posted_.empty() ? turn_end_ : posted_;
      auto task = std::move(list.front());
      list.pop_front();
      std::move(task)();
    }
    is_current_ = false;
  }
  void pass(Duration time) {
    auto const end = now_ + time;
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      now_ = timers_.begin()->first.first;
      auto task = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      post(std::move(task));
      run();
    }
    now_ = end;
  }
  void in_turn(Task task) {
    post(std::move(task));
    run();
  }

 private:
  Mono now_{};
  bool is_current_ = false;
  std::deque<Task> posted_, turn_end_;
  std::map<std::pair<Mono, env::TimerId>, Task> timers_;
  env::TimerId last_timer_ = 0;
};

// What the other end of a connection sees and does.
struct Wire {
  env::ConnectionEvents* events = nullptr;
  std::string to_server, to_client;
  bool is_reading = false;
  bool is_end = false;
  bool is_stuck = false;  // the client does not read
  bool is_recorded = true;
  size_t sent_bytes = 0;
  std::string closed;     // by the server: "after sent", "destroyed"
  int64_t unsent = 0;
};

class FakeConnection final : public env::Connection {
 public:
  FakeConnection(FakeReactor& reactor, std::shared_ptr<Wire> wire, std::string ip)
      : reactor_(reactor), wire_(std::move(wire)), local_{"10.0.0.1", 9092}, peer_{std::move(ip), 5555} {}
  ~FakeConnection() override {
    if (wire_->closed.empty()) wire_->closed = "destroyed";
    wire_->events = nullptr;
  }
  env::SocketAddress const& local() const override { return local_; }
  env::SocketAddress const& peer() const override { return peer_; }
  env::Reactor& reactor() override { return reactor_; }
  void start(env::ConnectionEvents& events) override { wire_->events = &events; }
  void set_reading(bool on) override { wire_->is_reading = on; }
  env::ReadOutcome read_some(MutableByteView into) override {
    if (wire_->to_server.empty()) return {wire_->is_end ? env::ReadState::end : env::ReadState::would_block, 0};
    auto const count = std::min(into.size(), wire_->to_server.size());
    std::ranges::copy(as_bytes(wire_->to_server.substr(0, count)), into.begin());
    wire_->to_server.erase(0, count);
    return {env::ReadState::some, count};
  }
  void set_read_low_water(size_t) override {}
  env::Unread unread() override { return {wire_->to_server.size(), wire_->is_end}; }
  void send(env::Response response) override {
    for (auto const& chunk : response.chunks) {
      wire_->sent_bytes += std::get<SharedBytes>(chunk).size();
      if (wire_->is_recorded) wire_->to_client += as_text(std::get<SharedBytes>(chunk).view());
    }
    if (wire_->is_stuck) wire_->unsent += response.bytes();
  }
  int64_t unsent_bytes() const override { return wire_->unsent; }
  void close_after_sent() override { wire_->closed = "after sent"; }
  void reset() override {}

 private:
  FakeReactor& reactor_;
  std::shared_ptr<Wire> wire_;
  env::SocketAddress local_, peer_;
};

struct FakeListener final : env::Listener {
  env::SocketAddress address;
  std::shared_ptr<bool> is_paused = std::make_shared<bool>(false);
  env::SocketAddress const& local() const override { return address; }
  void pause(bool on) override { *is_paused = on; }
};

class FakeEnv final : public env::Env, public env::Network {
 public:
  size_t reactor_count() const override { return 1; }
  env::Reactor& reactor(size_t) override { return loop; }
  env::Reactor& control_reactor() override { return loop; }
  env::Network& network() override { return *this; }
  Logger& log() override { return Logger::none(); }
  Hooks& hooks() override { return Hooks::none(); }
  Result<std::unique_ptr<env::Listener>> listen(env::ListenOptions const& options, env::AcceptHandler handler) override {
    if (options.address.ip == unusable_ip) return Error{ErrorKind::io, "no such address"};
    auto listener = std::make_unique<FakeListener>();
    listener->address = options.address;
    if (listener->address.port == 0) listener->address.port = 1234;
    is_paused = listener->is_paused;
    accept = std::move(handler);
    return std::unique_ptr<env::Listener>(std::move(listener));
  }
  std::shared_ptr<Wire> connect(std::string const& ip = "10.0.0.2") {
    auto wire = std::make_shared<Wire>();
    loop.in_turn([&] { accept(std::make_unique<FakeConnection>(loop, wire, ip)); });
    return wire;
  }

  // Not used by net.
  env::Pool& pool(std::string_view) override { std::abort(); }
  env::Disk& disk() override { std::abort(); }
  Wall wall_now() const override { return {}; }
  Random random(std::string_view) override { return Random(1); }
  Uuid random_uuid() override { return {}; }
  std::string boot_id() override { return {}; }
  env::Limits limits() const override { return {.descriptors_max = 0, .memory_bytes = memory_bytes}; }
  void connect(env::Reactor&, std::string const&, uint16_t, Mono,
               Callback<void(Result<std::unique_ptr<env::Connection>>)>) override {}

  FakeReactor loop;
  env::AcceptHandler accept;
  std::shared_ptr<bool> is_paused;
  std::string unusable_ip;
  int64_t memory_bytes = 0;
};

// Frames beginning with `P` count as Produces; the test answers by hand.
class TestHandler final : public Handler {
 public:
  void on_request(Request request, std::unique_ptr<Answer> answer) override {
    started += std::string(as_text(request.frame.view())) + " ";
    if (echo) {
      env::Response response;
      response.chunks.push_back(request.frame);
      answer->send(std::move(response));
      return;
    }
    answers.push_back(std::move(answer));
    frames.push_back(std::move(request.frame));
  }
  void on_connection_closed(ConnectionInfo const&) override { ++closed_count; }
  int64_t request_bytes_max(ConnectionInfo const&) const override { return bytes_max; }
  bool may_overlap(ByteView frame) const override { return !frame.empty() && frame[0] == std::byte{'P'}; }

  std::string started;
  std::vector<std::unique_ptr<Answer>> answers;
  std::vector<SharedBytes> frames;  // a request holds its frame until it is answered
  bool echo = false;
  int closed_count = 0;
  int64_t bytes_max = 1000;
};

std::string framed(std::string const& body) { return std::string("\0\0\0", 3) + static_cast<char>(body.size()) + body; }

class ServerConnections : public testing::Test {
 protected:
  void listen(NetOptions options = {}, int64_t listener_max = INT64_MAX) {
    server = std::make_unique<NetServer>(env, std::move(options));
    ASSERT_TRUE(server->listen({.name = "PLAINTEXT", .addresses = {{"10.0.0.1", 0}}, .connections_max = listener_max}).ok());
    if (opens) server->open(handler);
  }
  void client_sends(Wire& wire, std::string const& bytes) {
    wire.to_server += bytes;
    while (wire.is_reading && wire.events != nullptr && !wire.to_server.empty()) {
      env.loop.in_turn([&] { wire.events->on_readable(); });
    }
  }
  void answer(size_t index, std::string const& text, Duration throttle = {}) {
    env::Response response;
    response.chunks.push_back(SharedBytes::copy_of(as_bytes(text)));
    handler.frames[index] = {};
    env.loop.in_turn([&] { handler.answers[index]->send(std::move(response), throttle); });
  }

  bool opens = true;
  FakeEnv env;
  TestHandler handler;
  std::unique_ptr<NetServer> server;
};

TEST_F(ServerConnections, answers_in_order_with_their_lengths) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("P1") + framed("P2") + framed("F3"));
  EXPECT_EQ(handler.started, "P1 ");
  env.loop.in_turn([&] { handler.answers[0]->let_next_produce_start(); });
  EXPECT_EQ(handler.started, "P1 P2 ");
  answer(1, "two");
  EXPECT_EQ(wire->to_client, "");
  handler.answers[0]->let_next_produce_start();  // from another thread: by post
  answer(0, "one");
  EXPECT_EQ(wire->to_client, framed("one") + framed("two"));
  EXPECT_EQ(handler.started, "P1 P2 F3 ");
  EXPECT_EQ(server->stats().requests, 3);
  EXPECT_EQ(server->stats().bytes_out, 14);
}

TEST_F(ServerConnections, who_connects_before_the_opening_waits) {
  opens = false;
  listen({.connections_max = 2});
  auto first = env.connect();
  auto second = env.connect();
  EXPECT_EQ(first->events, nullptr);
  EXPECT_TRUE(*env.is_paused);
  server->open(handler);
  env.loop.run();
  handler.echo = true;
  client_sends(*second, framed("F1"));
  EXPECT_EQ(second->to_client, framed("F1"));
  first->is_end = true;
  env.loop.in_turn([&] { first->events->on_readable(); });
  EXPECT_FALSE(*env.is_paused);
}

TEST_F(ServerConnections, inline_answers_do_not_nest) {
  listen();
  handler.echo = true;
  auto wire = env.connect();
  std::string all;
  for (int i = 0; i < 500; ++i) all += framed("F" + std::to_string(i));
  client_sends(*wire, all);
  EXPECT_EQ(wire->to_client, all);
}

TEST_F(ServerConnections, throttling_holds_back_buffered_requests) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("F1") + framed("F2"));
  answer(0, "one", 100ms);
  EXPECT_EQ(wire->to_client, framed("one"));
  env.loop.pass(99ms);
  EXPECT_EQ(handler.started, "F1 ");
  env.loop.pass(1ms);
  EXPECT_EQ(handler.started, "F1 F2 ");
}

TEST_F(ServerConnections, a_client_that_does_not_read_gets_no_further_request_started) {
  listen();
  auto wire = env.connect();
  wire->is_stuck = true;
  client_sends(*wire, framed("F1") + framed("F2"));
  answer(0, std::string(2 << 20, 'x'));
  EXPECT_EQ(handler.started, "F1 ");
  wire->unsent = 0;
  env.loop.in_turn([&] { wire->events->on_sent(); });
  EXPECT_EQ(handler.started, "F1 F2 ");
}

TEST_F(ServerConnections, reading_stops_while_too_many_requests_wait) {
  listen();
  auto wire = env.connect();
  std::string all;
  for (int i = 0; i < 64; ++i) all += framed("F");
  client_sends(*wire, all);
  EXPECT_FALSE(wire->is_reading);
  answer(0, "");
  EXPECT_TRUE(wire->is_reading);
}

TEST_F(ServerConnections, acks_0_and_closing) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("P1") + framed("P2") + framed("P3"));
  env.loop.in_turn([&] { handler.answers[0]->send_nothing(); });
  EXPECT_EQ(handler.started, "P1 P2 ");
  env.loop.in_turn([&] { handler.answers[1]->close("bad acks"); });
  EXPECT_EQ(wire->closed, "after sent");
  EXPECT_EQ(handler.started, "P1 P2 ");
  EXPECT_EQ(wire->to_client, "");
  EXPECT_EQ(handler.closed_count, 0);
  env.loop.in_turn([&] { wire->events->on_closed("closed"); });
  EXPECT_EQ(handler.closed_count, 1);
  EXPECT_EQ(server->stats().connections, 0);
}

TEST_F(ServerConnections, a_dropped_request_closes) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("F1"));
  env.loop.in_turn([&] { handler.answers.clear(); });
  EXPECT_EQ(wire->closed, "after sent");
}

TEST_F(ServerConnections, a_peer_that_closed_its_side_still_gets_its_answers) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("F1") + framed("F2"));
  wire->is_end = true;
  env.loop.in_turn([&] { wire->events->on_readable(); });
  EXPECT_FALSE(wire->is_reading);
  answer(0, "one");
  answer(1, "two");
  EXPECT_EQ(wire->to_client, framed("one") + framed("two"));
  EXPECT_EQ(wire->closed, "after sent");
}

TEST_F(ServerConnections, an_answer_long_after_the_end_is_dropped) {
  listen();
  auto wire = env.connect();
  client_sends(*wire, framed("F1"));
  wire->is_end = true;
  env.loop.in_turn([&] { wire->events->on_readable(); });
  EXPECT_EQ(wire->closed, "");
  env.loop.pass(5s);
  env.loop.run();
  EXPECT_EQ(wire->closed, "destroyed");
  EXPECT_EQ(handler.closed_count, 1);
  answer(0, "late");
  EXPECT_EQ(wire->to_client, "");
}

TEST_F(ServerConnections, many_small_requests_give_others_their_turn) {
  listen();
  handler.echo = true;
  auto wire = env.connect();
  std::string all;
  for (int i = 0; i < 100; ++i) all += framed("F");
  wire->to_server = all;
  size_t before_others = 0;
  env.loop.post([&] { wire->events->on_readable(); });
  env.loop.post([&] { before_others = handler.started.size() / 2; });
  env.loop.run();
  EXPECT_EQ(before_others, 32u);
  EXPECT_EQ(wire->to_client, all);
}

TEST_F(ServerConnections, a_frame_above_the_limit_closes_at_once) {
  listen();
  auto wire = env.connect();
  wire->to_server = std::string("\x7f\xff\xff\xff", 4);
  env.loop.in_turn([&] { wire->events->on_readable(); });
  EXPECT_EQ(wire->closed, "destroyed");
}

TEST_F(ServerConnections, an_idle_connection_is_closed_and_a_waiting_one_is_not) {
  listen({.idle_max = 10s});
  auto idle = env.connect();
  auto waiting = env.connect();
  client_sends(*waiting, framed("F1"));
  env.loop.pass(9s);
  EXPECT_EQ(idle->closed, "");
  env.loop.pass(1s);
  env.loop.run();
  EXPECT_EQ(idle->closed, "destroyed");
  env.loop.pass(60s);
  EXPECT_EQ(waiting->closed, "");
  answer(0, "one");
  env.loop.pass(10s);
  env.loop.run();
  EXPECT_EQ(waiting->closed, "destroyed");
}

TEST_F(ServerConnections, connections_are_limited_by_address_listener_and_node) {
  listen({.connections_max = 3, .connections_per_ip_max = 1, .connections_per_ip_overrides = {{"10.0.0.9", 2}}});
  auto first = env.connect();
  auto second = env.connect();
  EXPECT_EQ(first->closed, "");
  EXPECT_EQ(second->closed, "destroyed");
  auto third = env.connect("10.0.0.9");
  EXPECT_FALSE(*env.is_paused);
  auto fourth = env.connect("10.0.0.9");
  EXPECT_EQ(fourth->closed, "");
  EXPECT_TRUE(*env.is_paused);
  first->is_end = true;
  env.loop.in_turn([&] { first->events->on_readable(); });
  EXPECT_FALSE(*env.is_paused);
  EXPECT_EQ(server->stats().connections, 2);
  EXPECT_EQ(server->stats().connections_refused, 1);
}

TEST_F(ServerConnections, a_missing_ipv6_is_skipped_but_not_an_ipv4) {
  env.unusable_ip = "::";
  listen();
  EXPECT_TRUE(server->listen({.name = "BOTH", .addresses = {{"0.0.0.0", 0}, {"::", 0}}}).ok());
  EXPECT_EQ(server->addresses("BOTH").size(), 1u);
  EXPECT_FALSE(server->listen({.name = "SIX", .addresses = {{"::", 0}}}).ok());
  env.unusable_ip = "10.0.0.1";
  EXPECT_FALSE(server->listen({.name = "FOUR", .addresses = {{"10.0.0.1", 0}}}).ok());
}

std::string large_frame(size_t body_bytes) {
  std::string out(4 + body_bytes, 'L');
  for (size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(body_bytes >> (8 * (3 - i)));
  return out;
}

// The memory of requests: 4 MiB here, and frames of up to 20 MiB.
class RequestsMemory : public ServerConnections {
 protected:
  static constexpr size_t kFrameBytes = 20 << 20;
  RequestsMemory() {
    handler.bytes_max = int64_t{kFrameBytes};
    handler.echo = true;
    listen({.request_bytes_max = 4 << 20});
  }
  ~RequestsMemory() override { EXPECT_LE(used_max, (int64_t{4} << 20) + int64_t{kFrameBytes} + (1 << 20)); }

  // What came for `wire` is read as far as the server wants it, while `time` goes by.
  void pass(Duration time, std::vector<Wire*> const& wires) {
    for (auto const end = env.loop.now() + time; env.loop.now() < end; env.loop.pass(10ms)) {
      for (auto* wire : wires) client_sends(*wire, "");
      used_max = std::max(used_max, server->stats().request_bytes);
    }
    env.loop.run();
  }
  static std::shared_ptr<Wire> unrecorded(std::shared_ptr<Wire> wire) {
    wire->is_recorded = false;
    return wire;
  }

  int64_t used_max = 0;
};

TEST_F(RequestsMemory, defaults_to_a_quarter_of_what_there_is) {
  EXPECT_EQ(server->stats().request_bytes_max, 4 << 20);
  env.memory_bytes = int64_t{1} << 30;
  EXPECT_EQ(NetServer(env, {}).stats().request_bytes_max, 256 << 20);
  env.memory_bytes = 1 << 20;
  EXPECT_EQ(NetServer(env, {}).stats().request_bytes_max, NetOptions::kRequestBytesMaxLeast);
}

TEST_F(RequestsMemory, large_requests_of_many_all_come_through) {
  std::vector<std::shared_ptr<Wire>> wires;
  std::vector<Wire*> all;
  for (int i = 0; i < 8; ++i) {
    wires.push_back(unrecorded(env.connect()));
    wires.back()->to_server = large_frame(kFrameBytes);
    all.push_back(wires.back().get());
  }
  pass(2s, all);
  for (auto const& wire : wires) EXPECT_EQ(wire->sent_bytes, kFrameBytes + 4);
  EXPECT_EQ(server->stats().connections_stalled, 0);
  EXPECT_EQ(server->stats().request_bytes, 0);
}

TEST_F(RequestsMemory, who_stops_in_the_middle_is_closed_when_others_wait_and_small_requests_never_do) {
  std::vector<std::shared_ptr<Wire>> hostile;
  std::vector<Wire*> all;
  for (int i = 0; i < 8; ++i) {
    hostile.push_back(unrecorded(env.connect()));
    hostile.back()->to_server = large_frame(kFrameBytes).substr(0, kFrameBytes / 2);
    all.push_back(hostile.back().get());
  }
  auto const good = unrecorded(env.connect());
  auto const small = env.connect();
  pass(100ms, all);
  client_sends(*small, framed("F1"));
  EXPECT_EQ(small->to_client, framed("F1"));
  good->to_server = large_frame(kFrameBytes);
  all.push_back(good.get());
  // One of them after the other is favoured, stops, and is closed.
  pass(30s, all);
  EXPECT_EQ(good->sent_bytes, kFrameBytes + 4);
  EXPECT_EQ(good->closed, "");
  EXPECT_GT(server->stats().connections_stalled, 0);
}

TEST_F(RequestsMemory, a_stalled_request_is_left_alone_while_nobody_wants_its_memory) {
  auto const slow = unrecorded(env.connect());
  slow->to_server = large_frame(3 << 20).substr(0, 2 << 20);
  pass(60s, {slow.get()});
  EXPECT_EQ(slow->closed, "");
  slow->to_server = large_frame(3 << 20).substr(2 << 20);
  pass(30ms, {slow.get()});
  EXPECT_EQ(slow->sent_bytes, (3u << 20) + 4);
}

TEST_F(RequestsMemory, who_waits_notices_that_its_peer_has_gone) {
  handler.echo = false;
  std::vector<std::shared_ptr<Wire>> wires;
  std::vector<Wire*> all;
  auto const add = [&](size_t sent_bytes) {
    wires.push_back(unrecorded(env.connect()));
    wires.back()->to_server = large_frame(3 << 20).substr(0, sent_bytes);
    all.push_back(wires.back().get());
    pass(10ms, all);
  };
  add((3 << 20) + 4);  // is favoured, and runs
  add((3 << 20) + 4);  // waits, and is whole
  add(1 << 20);        // waits
  EXPECT_EQ(handler.answers.size(), 1u);
  for (auto const& wire : wires) wire->is_end = true;
  pass(600ms, {wires[1].get(), wires[2].get()});
  EXPECT_EQ(wires[1]->closed, "");
  EXPECT_EQ(wires[2]->closed, "destroyed");
  answer(0, "one");
  pass(100ms, {wires[1].get()});
  EXPECT_EQ(handler.answers.size(), 2u);  // whole, and so served although its sender has closed its side
}

TEST_F(ServerConnections, stopping_waits_for_running_requests_until_the_deadline) {
  listen();
  auto idle = env.connect();
  auto busy = env.connect();
  auto stuck = env.connect();
  client_sends(*busy, framed("F1") + framed("F2"));
  client_sends(*stuck, framed("F3"));
  bool stopped = false;
  server->stop(env.loop.now() + 5s, env.loop, [&] { stopped = true; });
  env.loop.run();
  EXPECT_EQ(idle->closed, "after sent");
  env.loop.in_turn([&] { idle->events->on_closed("closed"); });
  EXPECT_EQ(busy->closed, "");
  answer(0, "one");
  EXPECT_EQ(busy->to_client, framed("one"));
  EXPECT_EQ(busy->closed, "after sent");
  EXPECT_EQ(handler.started, "F1 F3 ");
  env.loop.in_turn([&] { busy->events->on_closed("closed"); });
  EXPECT_FALSE(stopped);
  env.loop.pass(5s);
  env.loop.run();
  EXPECT_TRUE(stopped);
  EXPECT_EQ(stuck->closed, "destroyed");
  EXPECT_EQ(handler.closed_count, 3);
}

}  // namespace
}  // namespace millrace::net
