// TCP of the real environment over loopback: order of bytes and file regions, back-pressure, leases held until the
// peer has the bytes, and a revoked lease that resets the connection before a truncation.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "millrace/env_os/os_env.h"
#include "millrace/env_os/resolve.h"

namespace millrace::env_os {
namespace {

using namespace std::chrono_literals;

// Collects what comes; every few bytes can be waited for.
class Peer final : public env::ConnectionEvents {
 public:
  explicit Peer(std::unique_ptr<env::Connection> c) : connection(std::move(c)) {
    connection->start(*this);
  }
  void on_readable() override {
    std::byte buffer[65536];
    auto const outcome = connection->read_some(buffer);
    std::lock_guard const lock(mutex_);
    if (outcome.state == env::ReadState::some) received_.append(as_text({buffer, outcome.count}));
    if (outcome.state == env::ReadState::end) ended_ = "end";
    if (outcome.state == env::ReadState::failed) ended_ = "failed";
    if (!ended_.empty()) connection->set_reading(false);
    changed_.notify_all();
  }
  void on_sent() override {}
  void on_closed(std::string const& reason) override {
    std::lock_guard const lock(mutex_);
    ended_ = reason;
    changed_.notify_all();
  }
  std::string wait_for(size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return received_.size() >= bytes || !ended_.empty(); });
    return received_;
  }
  std::string wait_for_end() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 20s, [&] { return !ended_.empty(); });
    return ended_;
  }

  std::unique_ptr<env::Connection> connection;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string received_;
  std::string ended_;
};

class TestLease final : public env::RegionLease {
 public:
  explicit TestLease(std::shared_ptr<env::File> file) : file_(std::move(file)) {}
  env::File& file() override { return *file_; }
  bool register_sender(void const* sender, Callback<void()> reset) override {
    std::lock_guard const lock(mutex_);
    if (revoked_) return false;
    senders_.emplace(sender, std::move(reset));
    return true;
  }
  void unregister_sender(void const* sender) override {
    std::lock_guard const lock(mutex_);
    senders_.erase(sender);
    changed_.notify_all();
  }
  void revoke() {
    std::lock_guard const lock(mutex_);
    revoked_ = true;
    for (auto& [sender, reset] : senders_) std::move(reset)();
  }
  bool wait_until_free() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 20s, [&] { return senders_.empty(); });
  }

 private:
  std::shared_ptr<env::File> file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<void const*, Callback<void()>> senders_;
  bool revoked_ = false;
};

class Network : public testing::Test {
 protected:
  Network() {
    char name[] = "/tmp/millrace-net-XXXXXX";
    root_ = ::mkdtemp(name);
    env_ = *make_os_env({.reactor_count = 2, .log_level = LogLevel::error, .log_file = ""});
  }
  ~Network() override {
    env_->stop();
    server_.reset();
    client_.reset();
    listener_.reset();
    env_.reset();
    std::filesystem::remove_all(root_);
  }

  void connect(std::string const& ip) {
    auto accepted = std::make_shared<std::promise<std::unique_ptr<Peer>>>();
    auto listener = env_->network().listen({.address = {ip, 0}}, [accepted](std::unique_ptr<env::Connection> connection) {
      accepted->set_value(std::make_unique<Peer>(std::move(connection)));
    });
    ASSERT_TRUE(listener.ok()) << listener.error().message;
    listener_ = *std::move(listener);
    std::promise<std::unique_ptr<Peer>> connected;
    auto& reactor = env_->reactor(1);
    env_->network().connect(reactor, ip, listener_->local().port, reactor.now() + 10s,
                            [&](Result<std::unique_ptr<env::Connection>> result) {
                              connected.set_value(result ? std::make_unique<Peer>(*std::move(result)) : nullptr);
                            });
    client_ = connected.get_future().get();
    server_ = accepted->get_future().get();
    ASSERT_NE(client_, nullptr);
  }
  void on(Peer& peer, std::function<void()> action) {
    std::promise<void> done;
    peer.connection->reactor().post([&] {
      action();
      done.set_value();
    });
    done.get_future().get();
  }
  std::shared_ptr<TestLease> file_of(std::string const& content) {
    auto file = *env_->disk().open(root_ + "/log", env::OpenMode::create);
    ByteView const pieces[] = {as_bytes(content)};
    EXPECT_TRUE(file->write(Position(0), pieces).ok());
    return std::make_shared<TestLease>(file);
  }

  std::string root_;
  std::unique_ptr<OsEnv> env_;
  std::unique_ptr<env::Listener> listener_;
  std::unique_ptr<Peer> server_, client_;
};

std::string patterned(size_t size) {
  std::string text(size, 0);
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

TEST_F(Network, bytes_and_regions_arrive_in_order_over_both_families) {
  auto const content = patterned(3'000'000);
  for (std::string const ip : {"127.0.0.1", "::1"}) {
    SCOPED_TRACE(ip);
    connect(ip);
    EXPECT_EQ(server_->connection->peer(), client_->connection->local());
    auto const lease = file_of(content);
    on(*server_, [&] {
      env::Response first;
      first.chunks.push_back(SharedBytes::copy_of(as_bytes("head")));
      first.chunks.push_back(env::FileRegion{lease, Position(1000), 2'500'000});
      first.chunks.push_back(env::FileRegion{lease, Position(5), 300});
      first.chunks.push_back(SharedBytes::copy_of(as_bytes("tail")));
      env::Response second;
      second.chunks.push_back(env::FileRegion{lease, Position(0), 70'000});
      second.chunks.push_back(SharedBytes::copy_of(as_bytes("end")));
      server_->connection->send(std::move(first));
      server_->connection->send(std::move(second));
      EXPECT_EQ(server_->connection->unsent_bytes(), 4 + 2'500'000 + 300 + 4 + 70'000 + 3);
    });
    on(*client_, [&] { client_->connection->set_reading(true); });
    auto const expected =
        "head" + content.substr(1000, 2'500'000) + content.substr(5, 300) + "tail" + content.substr(0, 70'000) + "end";
    EXPECT_TRUE(client_->wait_for(expected.size()) == expected);
    EXPECT_TRUE(lease->wait_until_free());
    on(*server_, [&] { EXPECT_EQ(server_->connection->unsent_bytes(), 0); });
    on(*client_, [&] { client_->connection.reset(); });
    on(*server_, [&] { server_->connection.reset(); });
  }
}

TEST_F(Network, a_lease_stays_while_the_peer_does_not_read_and_its_revocation_resets) {
  connect("127.0.0.1");
  auto const lease = file_of(patterned(3'000'000));
  on(*server_, [&] {
    env::Response response;
    for (int i = 0; i < 10; ++i) response.chunks.push_back(env::FileRegion{lease, Position(0), 3'000'000});
    server_->connection->send(std::move(response));
  });
  on(*server_, [&] { EXPECT_GT(server_->connection->unsent_bytes(), 0); });
  lease->revoke();
  EXPECT_NE(server_->wait_for_end(), "");
  EXPECT_TRUE(lease->wait_until_free());
  on(*client_, [&] { client_->connection->set_reading(true); });
  EXPECT_EQ(client_->wait_for_end(), "failed");  // a reset, not an orderly end
  on(*server_, [&] {
    env::Response late;
    late.chunks.push_back(env::FileRegion{lease, Position(0), 10});
    server_->connection->send(std::move(late));  // revoked and dead: nothing happens
  });
}

TEST_F(Network, a_region_past_the_end_of_its_file_closes_the_connection) {
  connect("127.0.0.1");
  auto const lease = file_of("short");
  on(*server_, [&] {
    env::Response response;
    response.chunks.push_back(env::FileRegion{lease, Position(0), 6});
    server_->connection->send(std::move(response));
  });
  EXPECT_NE(server_->wait_for_end().find("ends before its region"), std::string::npos);
}

TEST_F(Network, what_was_sent_arrives_before_the_close_even_with_unread_input) {
  connect("127.0.0.1");
  on(*client_, [&] {
    env::Response junk;
    junk.chunks.push_back(SharedBytes::copy_of(as_bytes(patterned(200'000))));
    client_->connection->send(std::move(junk));
    client_->connection->set_reading(true);
  });
  on(*server_, [&] {
    env::Response answer;
    answer.chunks.push_back(SharedBytes::copy_of(as_bytes(patterned(500'000))));
    server_->connection->send(std::move(answer));
    server_->connection->close_after_sent();
  });
  EXPECT_EQ(client_->wait_for_end(), "end");
  EXPECT_EQ(client_->wait_for(0).size(), 500'000u);
}

TEST_F(Network, who_took_everything_and_does_not_close_is_not_waited_for) {
  connect("127.0.0.1");
  auto const begin = std::chrono::steady_clock::now();
  on(*server_, [&] {
    env::Response answer;
    answer.chunks.push_back(SharedBytes::copy_of(as_bytes("answer")));
    server_->connection->send(std::move(answer));
    server_->connection->close_after_sent();
  });
  EXPECT_EQ(server_->wait_for_end(), "closed");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1500ms);
  // What it was sent waits for it, and no reset took it away.
  on(*client_, [&] { client_->connection->set_reading(true); });
  EXPECT_EQ(client_->wait_for_end(), "end");
  EXPECT_EQ(client_->wait_for(0).size(), 6u);
}

TEST_F(Network, who_does_not_read_can_still_tell_what_came_and_whether_the_peer_is_there) {
  connect("127.0.0.1");
  auto const wait_for = [&](size_t bytes, bool is_all) {
    for (int i = 0; i < 2000; ++i) {
      env::Unread unread;
      on(*server_, [&] { unread = server_->connection->unread(); });
      if (unread.bytes == bytes && unread.is_all == is_all) return true;
      std::this_thread::sleep_for(1ms);
    }
    return false;
  };
  EXPECT_TRUE(wait_for(0, false));
  on(*client_, [&] {
    env::Response some;
    some.chunks.push_back(SharedBytes::copy_of(as_bytes("12345")));
    client_->connection->send(std::move(some));
  });
  EXPECT_TRUE(wait_for(5, false));
  on(*client_, [&] { client_->connection->close_after_sent(); });
  EXPECT_TRUE(wait_for(5, true));
  on(*client_, [&] { client_->connection->reset(); });
  EXPECT_TRUE(wait_for(0, true));
}

TEST_F(Network, a_refused_connection_is_an_error) {
  auto listener = *env_->network().listen({.address = {"127.0.0.1", 0}}, [](std::unique_ptr<env::Connection>) {});
  auto const port = listener->local().port;
  listener.reset();
  std::promise<std::string> outcome;
  auto& reactor = env_->reactor(0);
  reactor.post([] {});
  env_->network().connect(reactor, "localhost", port, reactor.now() + 10s,
                          [&](Result<std::unique_ptr<env::Connection>> result) {
                            outcome.set_value(result ? "connected" : result.error().message);
                          });
  EXPECT_NE(outcome.get_future().get().find("connect to"), std::string::npos);
  EXPECT_FALSE(env_->network().listen({.address = {"not-numeric", 0}}, {}).ok());
  EXPECT_FALSE(env_->network().listen({.address = {"127.0.0.1", 0}, .congestion_control = "no-such"}, {}).ok());
  EXPECT_TRUE(resolve("localhost", 1).ok());
}

TEST_F(Network, tasks_and_timers_run_in_their_order) {
  auto& reactor = env_->reactor(0);
  std::promise<std::string> story;
  auto text = std::make_shared<std::string>();
  reactor.post([&, text] {
    auto const now = reactor.now();
    reactor.call_at(now + 3ms, [&, text] { story.set_value(*text + "later"); });
    auto const cancelled = reactor.call_at(now + 1ms, [text] { *text += "cancelled "; });
    reactor.cancel(cancelled);
    reactor.call_at(now + 2ms, [text] { *text += "timer "; });
    reactor.at_turn_end([&, text] {
      *text += "end ";
      reactor.at_turn_end([text] { *text += "same-drain "; });
    });
    *text += "turn ";
  });
  EXPECT_EQ(story.get_future().get(), "turn end same-drain timer later");

  std::promise<void> done;
  std::string order;
  reactor.post([&] {
    env_->pool("x").run_short(reactor, [&] { order += "job "; }, [&] { order += "done "; });
    order += "after ";
    env_->pool("x").run(reactor, [&] { order += "far "; }, [&] { order += "back"; done.set_value(); });
  });
  done.get_future().get();
  EXPECT_EQ(order, "job done after far back");
}

// What is queued at the stop goes before stop() returns, so before the objects of the node that it holds; and what its
// destructors queue anew goes too.
TEST(OsEnv, stop_destroys_what_is_queued_without_running_it) {
  auto env = *make_os_env({.reactor_count = 1, .pool_threads_per_directory = 1, .log_level = LogLevel::error, .log_file = ""});
  auto& reactor = env->reactor(0);
  struct Reposting {
    env::Reactor& reactor;
    std::shared_ptr<int> held;
    ~Reposting() {
      if (held) reactor.post([h = std::move(held)] { *h = 1; });
    }
  };
  auto const held = std::make_shared<int>(0);
  std::promise<void> blocked, release;
  env->pool("x").run(reactor, [&] {
    blocked.set_value();
    release.get_future().get();
  }, {});
  blocked.get_future().get();
  env->pool("x").run(reactor, [held] { *held = 1; }, [held] { *held = 1; });
  std::promise<void> armed;
  reactor.post([&] {
    auto reposting = std::make_shared<Reposting>(reactor, held);
    reactor.call_at(reactor.now() + 100s, [reposting] { *reposting->held = 1; });
    armed.set_value();
  });
  armed.get_future().get();
  release.set_value();
  EXPECT_GT(held.use_count(), 1);
  env->stop();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(env->reactor(0).is_current(), true);
}

}  // namespace
}  // namespace millrace::env_os
