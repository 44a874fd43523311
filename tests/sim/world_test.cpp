// Proves that the simulated world keeps the environment's contract (order of posts, timers, pools, turn ends), that one
// seed gives one trace, that TCP bytes arrive whole and in order however they are split, and that a node which
// crashes at any disk call is taken apart without a live object left.
#include <gtest/gtest.h>

#include "sim/network.h"

namespace millrace::sim {
namespace {

struct Nothing final : Process {};

// Echoes every byte back.
struct EchoServer final : Process {
  struct Peer final : env::ConnectionEvents {
    std::unique_ptr<env::Connection> connection;
    EchoServer* server{};
    void on_readable() override {
      std::byte buffer[100];
      auto const got = connection->read_some(buffer);
      if (got.state == env::ReadState::some) {
        env::Response response;
        response.chunks.emplace_back(SharedBytes::copy_of({buffer, got.count}));
        connection->send(std::move(response));
      } else if (got.state == env::ReadState::end) {
        connection->close_after_sent();
        connection->set_reading(false);
      }
    }
    void on_sent() override { ++server->sent_events; }
    void on_closed(std::string const&) override { server->drop(this); }
  };
  explicit EchoServer(NodeEnv& env) {
    listener = *env.network().listen({.address = {"0.0.0.0", 9092}}, [this](std::unique_ptr<env::Connection> connection) {
      auto peer = std::make_unique<Peer>();
      peer->server = this;
      peer->connection = std::move(connection);
      peer->connection->start(*peer);
      peer->connection->set_reading(true);
      peers.push_back(std::move(peer));
    });
  }
  void drop(Peer* gone) {
    std::erase_if(peers, [gone](auto const& peer) { return peer.get() == gone; });
  }
  std::unique_ptr<env::Listener> listener;
  std::vector<std::unique_ptr<Peer>> peers;
  int sent_events = 0;
};

struct EchoClient final : Process, env::ConnectionEvents {
  EchoClient(NodeEnv& env, std::string host, std::string text) : to_send(std::move(text)) {
    env.network().connect(env.reactor(0), host, 9092, Mono::never(), [this](auto made) {
      if (!made.ok()) {
        closed = made.error().message;
        return;
      }
      connection = *std::move(made);
      connection->start(*this);
      connection->set_reading(true);
      env::Response response;
      response.chunks.emplace_back(SharedBytes::copy_of(as_bytes(to_send)));
      connection->send(std::move(response));
    });
  }
  void on_readable() override {
    std::byte buffer[1000];
    auto const got = connection->read_some(buffer);
    received.append(as_text({buffer, got.count}));
    if (received.size() == to_send.size()) connection->close_after_sent();
  }
  void on_sent() override {}
  void on_closed(std::string const& reason) override {
    closed = reason;
    connection.reset();
  }
  std::string to_send;
  std::unique_ptr<env::Connection> connection;
  std::string received;
  std::string closed;
};

std::string text_of(size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>('a' + i * 7 % 26));
  return text;
}

struct EchoRun {
  uint64_t hash;
  std::string received;
  std::string closed;
  size_t links_left;
};

EchoRun echo(uint64_t seed, NetworkFaults const& faults, size_t bytes) {
  World world({.seed = seed});
  world.network().faults() = faults;
  auto& server = world.add_machine("server");
  auto& client = world.add_machine("client");
  server.start([](NodeEnv& env) { return std::make_unique<EchoServer>(env); });
  world.run_for(1s);
  EchoClient* echo_client = nullptr;
  client.start([&](NodeEnv& env) {
    auto made = std::make_unique<EchoClient>(env, "server", text_of(bytes));
    echo_client = made.get();
    return made;
  });
  world.run_for(600s);
  return {world.trace().hash(), echo_client->received, echo_client->closed, world.network().open_links()};
}

TEST(World, one_seed_gives_one_trace) {
  NetworkFaults const faults{.slow_link = 0.3, .small_window = 0.5, .byte_reads = 0.5};
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    auto const first = echo(seed, faults, 5000);
    auto const second = echo(seed, faults, 5000);
    EXPECT_EQ(first.hash, second.hash);
    hashes.insert(first.hash);
  }
  EXPECT_EQ(hashes.size(), 10u);
}

TEST(World, bytes_arrive_whole_and_in_order) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    auto const run = echo(seed, {.slow_link = 0.3, .small_window = 0.5, .byte_reads = 0.3}, 20'000);
    EXPECT_EQ(run.received, text_of(20'000)) << "seed " << seed;
    EXPECT_EQ(run.links_left, 0u) << "seed " << seed;
  }
}

TEST(World, a_reset_comes_at_any_byte) {
  std::set<size_t> lengths;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    auto const run = echo(seed, {.small_window = 1.0, .reset = 1.0}, 30'000);
    EXPECT_EQ(run.received, text_of(30'000).substr(0, run.received.size()));
    EXPECT_FALSE(run.closed.empty());
    lengths.insert(run.received.size());
  }
  EXPECT_GT(lengths.size(), 20u);
}

TEST(World, posts_of_one_thread_keep_their_order_and_turn_ends_follow) {
  World world({.seed = 3});
  auto& machine = world.add_machine("a");
  std::string order;
  machine.start([&](NodeEnv& env) {
    auto& other = env.reactor(0);
    for (char c : {'a', 'b', 'c', 'd'}) {
      other.post([&order, c, &other] {
        if (c == 'a') other.at_turn_end([&order] { order += "!"; });
        order += c;
      });
    }
    return std::make_unique<Nothing>();
  });
  world.run_for(1s);
  std::erase(order, '!');
  EXPECT_EQ(order, "abcd");
}

TEST(World, timers_are_never_early_and_can_be_cancelled) {
  World world({.seed = 4});
  auto& machine = world.add_machine("a");
  Duration fired{};
  bool cancelled_ran = false;
  machine.start([&](NodeEnv& env) {
    auto& reactor = env.control_reactor();
    reactor.call_at(reactor.now() + 50ms, [&] { fired = world.now(); });
    auto const timer = reactor.call_at(reactor.now() + 10ms, [&] { cancelled_ran = true; });
    reactor.call_at(reactor.now() + 5ms, [&reactor, timer] { reactor.cancel(timer); });
    return std::make_unique<Nothing>();
  });
  world.run_for(1s);
  EXPECT_GE(fired, 50ms);
  EXPECT_LT(fired, 60ms);
  EXPECT_FALSE(cancelled_ran);
}

TEST(World, the_wall_clock_jumps_and_the_other_does_not) {
  World world({.seed = 5});
  auto& machine = world.add_machine("a");
  machine.start([](NodeEnv&) { return std::make_unique<Nothing>(); });
  world.run_for(1s);
  auto const wall = static_cast<env::Env*>(machine.node())->wall_now();
  auto const mono = machine.node()->mono_now();
  machine.jump_wall(-3'600'000);
  world.run_for(1s);
  EXPECT_EQ(static_cast<env::Env*>(machine.node())->wall_now().ms, wall.ms + 1000 - 3'600'000);
  EXPECT_EQ(machine.node()->mono_now() - mono, 1s);
}

// Writes ever more of a file from pool jobs, and syncs it from time to time.
struct Writer final : Process {
  explicit Writer(NodeEnv& environment) : env(environment) {
    env.reactor(0).post([this] { write(); });
  }
  void write() {
    env.pool("/data").run_short(
        env.reactor(0),
        [this] {
          if (!file) {
            if (!env.disk().make_directory("/data").ok()) return;
            auto opened = env.disk().open("/data/log", env::OpenMode::create);
            if (!opened.ok()) return;
            file = *opened;
          }
          ByteView const piece[] = {as_bytes("0123456789")};
          if (file->write(Position(10 * count), piece).ok()) ++count;
        },
        [this] {
          if (count % 5 == 0) sync();
          else write();
        });
  }
  void sync() {
    env.pool("/data").run(
        env.reactor(1), [this, target = count] { if (file && file->sync().ok()) synced = target; },
        [this] { env.reactor(0).post([this] { write(); }); });
  }
  NodeEnv& env;
  std::shared_ptr<env::File> file;
  int64_t count = 0;
  int64_t synced = 0;
};

TEST(World, a_node_that_crashes_at_any_disk_call_is_taken_apart_and_starts_again) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    World world({.seed = seed});
    auto& machine = world.add_machine("a");
    Writer* writer = nullptr;
    auto const factory = [&](NodeEnv& env) {
      env.crash_at_disk_call(static_cast<int64_t>(1 + seed), seed % 2 ? CrashKind::power_loss : CrashKind::process);
      auto made = std::make_unique<Writer>(env);
      writer = made.get();
      return made;
    };
    int ends = 0;
    machine.on_end([&](bool was_crash) {
      EXPECT_TRUE(was_crash);
      ++ends;
    });
    machine.start(factory);
    world.run_for(10s);
    ASSERT_FALSE(machine.is_running());
    ASSERT_EQ(ends, 1);
    EXPECT_EQ(machine.boots(), seed % 2 ? 2u : 1u);
    machine.start(factory);
    world.run_for(10s);
    EXPECT_EQ(ends, 2);
  }
}

TEST(World, a_cut_holds_bytes_back_until_it_heals) {
  World world({.seed = 9});
  auto& server = world.add_machine("server");
  auto& client = world.add_machine("client");
  server.start([](NodeEnv& env) { return std::make_unique<EchoServer>(env); });
  world.run_for(1s);
  EchoClient* echo_client = nullptr;
  client.start([&](NodeEnv& env) {
    auto made = std::make_unique<EchoClient>(env, "server", text_of(100));
    echo_client = made.get();
    return made;
  });
  ASSERT_TRUE(world.run_while_not([&] { return echo_client && echo_client->connection; }, 1s));
  world.network().cut(server, client);
  world.run_for(5s);
  EXPECT_EQ(echo_client->received, "");
  world.network().heal(server, client);
  world.run_for(5s);
  EXPECT_EQ(echo_client->received, text_of(100));
}

TEST(World, a_cut_that_lasts_breaks_the_connection) {
  World world({.seed = 9});
  auto& server = world.add_machine("server");
  auto& client = world.add_machine("client");
  server.start([](NodeEnv& env) { return std::make_unique<EchoServer>(env); });
  world.run_for(1s);
  EchoClient* echo_client = nullptr;
  client.start([&](NodeEnv& env) {
    auto made = std::make_unique<EchoClient>(env, "server", text_of(100));
    echo_client = made.get();
    return made;
  });
  ASSERT_TRUE(world.run_while_not([&] { return echo_client && echo_client->connection; }, 1s));
  world.network().cut(client, server);
  world.run_for(60s);
  EXPECT_EQ(echo_client->closed, "timed out");
}

TEST(World, a_crashed_server_resets_its_peers) {
  World world({.seed = 11});
  auto& server = world.add_machine("server");
  auto& client = world.add_machine("client");
  server.start([](NodeEnv& env) { return std::make_unique<EchoServer>(env); });
  world.run_for(1s);
  EchoClient* echo_client = nullptr;
  client.start([&](NodeEnv& env) {
    auto made = std::make_unique<EchoClient>(env, "server", text_of(100'000));
    echo_client = made.get();
    return made;
  });
  ASSERT_TRUE(world.run_while_not([&] { return echo_client && !echo_client->received.empty(); }, 1s));
  server.kill(CrashKind::process);
  world.run_for(5s);
  EXPECT_FALSE(server.is_running());
  EXPECT_FALSE(echo_client->closed.empty());
}

}  // namespace
}  // namespace millrace::sim
