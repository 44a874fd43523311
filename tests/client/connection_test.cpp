// An outbound connection agrees on versions, matches answers to requests, and fails every call in flight when the
// server closes, answers out of order, announces too much, or is late.
#include <gtest/gtest.h>

#include <queue>

#include "millrace/client/connection.h"
#include "millrace/protocol/api/api_versions.h"
#include "millrace/protocol/api/describe_cluster.h"

namespace millrace::client {
namespace {

class FakeReactor final : public env::Reactor {
 public:
  Mono now() const override { return now_; }
  void post(Task task) override { tasks_.push(std::move(task)); }
  void at_turn_end(Task task) override { tasks_.push(std::move(task)); }
  env::TimerId call_at(Mono when, Task task) override {
    timers_.emplace(++last_timer_, std::make_pair(when, std::move(task)));
    return last_timer_;
  }
  void cancel(env::TimerId timer) override { timers_.erase(timer); }
  bool is_current() const override { return true; }

  void run() {
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop();
      std::move(task)();
    }
  }
  void advance(Duration by) {
    now_ = now_ + by;
    for (auto it = timers_.begin(); it != timers_.end();) {
      if (it->second.first > now_) {
        ++it;
        continue;
      }
      auto task = std::move(it->second.second);
      it = timers_.erase(it);
      std::move(task)();
    }
    run();
  }

 private:
  Mono now_{};
  std::queue<Task> tasks_;
  std::map<env::TimerId, std::pair<Mono, Task>> timers_;
  env::TimerId last_timer_ = 0;
};

// The wire as the test sees it: what was sent, and a place to put what the server says.
struct Server {
  std::string sent;
  std::string incoming;
  size_t piece_bytes = 3;  // split anywhere
  bool is_ended = false;
  size_t low_water = 1;
  env::ConnectionEvents* events = nullptr;

  void say(SharedBytes const& frame) {
    incoming += as_text(frame.view());
    events->on_readable();
  }
};

class FakeConnection final : public env::Connection {
 public:
  FakeConnection(FakeReactor& reactor, Server& server) : reactor_(reactor), server_(server) {}
  env::SocketAddress const& local() const override { return address_; }
  env::SocketAddress const& peer() const override { return address_; }
  env::Reactor& reactor() override { return reactor_; }
  void start(env::ConnectionEvents& events) override { server_.events = &events; }
  void set_reading(bool) override {}
  env::ReadOutcome read_some(MutableByteView into) override {
    if (server_.incoming.empty()) {
      return {server_.is_ended ? env::ReadState::end : env::ReadState::would_block, 0};
    }
    auto const count = std::min(into.size(), server_.piece_bytes);
    auto const given = std::min(count, server_.incoming.size());
    std::memcpy(into.data(), server_.incoming.data(), given);
    server_.incoming.erase(0, given);
    return {env::ReadState::some, given};
  }
  void set_read_low_water(size_t bytes) override { server_.low_water = bytes; }
  env::Unread unread() override { return {server_.incoming.size(), server_.is_ended}; }
  void send(env::Response response) override {
    for (auto const& chunk : response.chunks) server_.sent += as_text(std::get<SharedBytes>(chunk).view());
  }
  int64_t unsent_bytes() const override { return 0; }
  void close_after_sent() override {}
  void reset() override {}

 private:
  FakeReactor& reactor_;
  Server& server_;
  env::SocketAddress address_{"192.0.2.1", 9092};
};

class FakeNetwork final : public env::Network {
 public:
  FakeNetwork(FakeReactor& reactor, Server& server) : reactor_(reactor), server_(server) {}
  Result<std::unique_ptr<env::Listener>> listen(env::ListenOptions const&, env::AcceptHandler) override {
    return Error{ErrorKind::unsupported, "listen"};
  }
  void connect(env::Reactor&, std::string const&, uint16_t, Mono,
               Callback<void(Result<std::unique_ptr<env::Connection>>)> done) override {
    std::move(done)(std::unique_ptr<env::Connection>(std::make_unique<FakeConnection>(reactor_, server_)));
  }

 private:
  FakeReactor& reactor_;
  Server& server_;
};

template <class Response>
SharedBytes frame_of(int32_t correlation_id, int16_t version, Response const& response) {
  auto encoded = protocol::encode_response(correlation_id, version, response);
  MR_ASSERT(encoded.ok());
  return encoded->bytes;
}

class ConnectionTest : public ::testing::Test {
 protected:
  void open() {
    Connection::open(network, reactor, "broker", 9092, {}, reactor.now() + 1s,
                     [this](Result<std::shared_ptr<Connection>> opened) {
                       if (opened) connection = *std::move(opened);
                       else error = std::move(opened).error().message;
                     });
  }
  void answer_versions(int32_t correlation_id = 1) {
    std::vector<protocol::ApiVersionsResponse::ApiVersion> apis(2);
    apis[0] = {.api_key = 18, .min_version = 0, .max_version = 4};
    apis[1] = {.api_key = 60, .min_version = 0, .max_version = 1};
    protocol::ApiVersionsResponse response;
    response.api_keys = apis;
    server.say(frame_of(correlation_id, 3, response));
  }
  void describe() {
    connection->call<protocol::DescribeClusterResponse>(
        protocol::DescribeClusterRequest{}, [this](Result<Reply<protocol::DescribeClusterResponse>> reply) {
          outcomes.push_back(reply ? std::string(reply->message.cluster_id) : reply.error().message);
        });
  }

  FakeReactor reactor;
  Server server;
  FakeNetwork network{reactor, server};
  std::shared_ptr<Connection> connection;
  std::string error;
  std::vector<std::string> outcomes;
};

TEST_F(ConnectionTest, agrees_on_the_highest_version_that_both_know) {
  open();
  answer_versions();
  ASSERT_NE(connection, nullptr) << error;
  auto const version = connection->choose_version(ApiKey::describe_cluster, protocol::DescribeClusterRequest::kValid);
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(*version, 1);
  EXPECT_FALSE(connection->choose_version(ApiKey::fetch, {4, 18}).ok());
}

TEST_F(ConnectionTest, asks_an_old_server_again_at_version_0) {
  open();
  std::vector<protocol::ApiVersionsResponse::ApiVersion> apis(1);
  apis[0] = {.api_key = 18, .min_version = 0, .max_version = 2};
  protocol::ApiVersionsResponse refusal;
  refusal.error_code = ErrorCode::unsupported_version;
  refusal.api_keys = apis;
  server.say(frame_of(1, 0, refusal));
  EXPECT_EQ(connection, nullptr);
  protocol::ApiVersionsResponse answer;
  answer.api_keys = apis;
  server.say(frame_of(2, 0, answer));
  ASSERT_NE(connection, nullptr) << error;
}

TEST_F(ConnectionTest, matches_pipelined_answers_in_order) {
  open();
  answer_versions();
  describe();
  describe();
  protocol::DescribeClusterResponse response;
  response.cluster_id = "first";
  server.say(frame_of(2, 1, response));
  response.cluster_id = "second";
  server.say(frame_of(3, 1, response));
  EXPECT_EQ(outcomes, (std::vector<std::string>{"first", "second"}));
}

TEST_F(ConnectionTest, does_not_wake_for_each_piece_of_a_large_answer) {
  open();
  answer_versions();
  describe();
  std::string const host(250, 'x');
  std::vector<protocol::DescribeClusterResponse::DescribeClusterBroker> brokers(4000);
  for (auto& broker : brokers) broker.host = host;
  protocol::DescribeClusterResponse response;
  response.cluster_id = "large";
  response.brokers = brokers;
  auto const frame = frame_of(2, 1, response);
  server.piece_bytes = frame.size();
  auto const say = [&](size_t from, size_t to) {
    server.incoming = as_text(frame.view().subspan(from, to - from));
    server.events->on_readable();
  };
  say(0, 100'000);
  EXPECT_EQ(server.low_water, env::kReadLowWaterMax);
  say(100'000, frame.size() - 1);
  EXPECT_EQ(server.low_water, 1u);
  say(frame.size() - 1, frame.size());
  EXPECT_EQ(server.low_water, 1u);
  EXPECT_EQ(outcomes, std::vector<std::string>{"large"});
}

TEST_F(ConnectionTest, a_wrong_correlation_id_fails_everything_in_flight) {
  open();
  answer_versions();
  describe();
  describe();
  server.say(frame_of(3, 1, protocol::DescribeClusterResponse{}));
  reactor.run();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_NE(outcomes[0].find("correlation id 3"), std::string::npos) << outcomes[0];
  EXPECT_FALSE(connection->is_open());
}

TEST_F(ConnectionTest, an_announced_length_out_of_range_is_not_allocated) {
  open();
  answer_versions();
  describe();
  server.incoming = std::string("\x7f\xff\xff\xff", 4);
  server.events->on_readable();
  reactor.run();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_NE(outcomes[0].find("announces 2147483647 bytes"), std::string::npos) << outcomes[0];
}

TEST_F(ConnectionTest, a_deadline_and_the_end_fail_what_is_in_flight) {
  open();
  answer_versions();
  describe();
  reactor.advance(31s);
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_NE(outcomes[0].find("deadline"), std::string::npos) << outcomes[0];
  describe();
  EXPECT_EQ(outcomes.back(), "the connection is closed");
}

TEST_F(ConnectionTest, requests_in_flight_are_bounded) {
  open();
  answer_versions();
  for (size_t i = 0; i <= Connection::kInFlightMax; ++i) describe();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_NE(outcomes[0].find("64 requests are in flight"), std::string::npos) << outcomes[0];
}

}  // namespace
}  // namespace millrace::client
