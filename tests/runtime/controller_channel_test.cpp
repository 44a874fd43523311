// Calls to the active controller on the simulated network: they find whoever leads, are made again when the one that was
// asked does not lead or goes away, end at their deadline, stay in order, and come back when this process leads itself.
#include "millrace/runtime/controller_channel.h"

#include <gtest/gtest.h>

#include "millrace/protocol/api/allocate_producer_ids.h"
#include "millrace/protocol/api/api_versions.h"
#include "sim/node.h"
#include "sim/world.h"

namespace millrace::runtime {
namespace {

constexpr uint16_t kPort = 9093;
enum class Manner { answers, does_not_lead, is_silent };

// A controller that gives out its own number, so that the test sees who answered.
class FakeController final : public sim::Process {
 public:
  FakeController(sim::NodeEnv& env, int number, Manner const& manner, int& asked)
      : number_(number), manner_(manner), asked_(asked) {
    auto listener = env.network().listen({.address = {"0.0.0.0", kPort}}, [this](std::unique_ptr<env::Connection> connection) {
      peers_.push_back(std::make_unique<Peer>(*this, std::move(connection)));
    });
    EXPECT_TRUE(listener.ok());
    listener_ = *std::move(listener);
  }
  void stop(Task done) override { std::move(done)(); }

 private:
  struct Peer final : env::ConnectionEvents {
    Peer(FakeController& o, std::unique_ptr<env::Connection> c) : owner(o), connection(std::move(c)) {
      connection->start(*this);
      connection->set_reading(true);
    }
    void on_readable() override {
      std::byte buffer[512];
      while (true) {
        auto const outcome = connection->read_some(buffer);
        if (outcome.state != env::ReadState::some) return;
        received.append(reinterpret_cast<char const*>(buffer), outcome.count);
        while (received.size() >= 4) {
          auto const bytes = static_cast<size_t>(Reader(as_bytes(received)).i32());
          if (received.size() < 4 + bytes) break;
          owner.answer(*connection, as_bytes(received).subspan(4, bytes));
          received.erase(0, 4 + bytes);
        }
      }
    }
    void on_sent() override {}
    void on_closed(std::string const&) override {}
    FakeController& owner;
    std::unique_ptr<env::Connection> connection;
    std::string received;
  };

  template <class Response>
  static void reply(env::Connection& connection, int32_t correlation_id, int16_t version, Response const& response) {
    auto encoded = protocol::encode_response(correlation_id, version, response);
    ASSERT_TRUE(encoded.ok());
    env::Response out;
    out.chunks.emplace_back(std::move(encoded->bytes));
    connection.send(std::move(out));
  }

  void answer(env::Connection& connection, ByteView frame) {
    auto const prefix = protocol::peek_request(frame);
    ASSERT_TRUE(prefix.ok());
    if (prefix->api_key == static_cast<int16_t>(ApiKey::api_versions)) {
      protocol::ApiVersionsResponse response;
      std::vector<protocol::ApiVersionsResponse::ApiVersion> apis(1);
      apis[0].api_key = static_cast<int16_t>(ApiKey::allocate_producer_ids);
      response.api_keys = apis;
      return reply(connection, prefix->correlation_id, prefix->api_version, response);
    }
    ++asked_;
    if (manner_ == Manner::is_silent) return;
    protocol::AllocateProducerIdsResponse response;
    response.error_code = manner_ == Manner::answers ? ErrorCode::none : ErrorCode::not_controller;
    response.producer_id_start = number_;
    reply(connection, prefix->correlation_id, prefix->api_version, response);
  }

  int const number_;
  Manner const& manner_;
  int& asked_;
  std::unique_ptr<env::Listener> listener_;
  std::vector<std::unique_ptr<Peer>> peers_;
};

// What became of the calls: "1: 2" answered by node 2, "1: here", "1: late".
class Call final : public ControllerCall {
 public:
  Call(int number, Mono at, std::vector<std::string>& told) : ControllerCall(at), number_(number), told_(told) {}
  Result<SharedBytes> encode(client::Connection const& peer, int32_t correlation_id) override {
    return protocol::encode_request(correlation_id, Str(peer.options().client_id), 0, protocol::AllocateProducerIdsRequest());
  }
  bool answered(SharedBytes frame) override {
    Reader in(frame.view());
    in.skip(5);  // correlation id, tags
    Arena arena;
    protocol::AllocateProducerIdsResponse response;
    EXPECT_TRUE(protocol::decode(in, 0, arena, response).ok());
    if (response.error_code == ErrorCode::not_controller) return false;
    told_.push_back(fmt::format("{}: {}", number_, response.producer_id_start));
    return true;
  }
  void run_here() override { told_.push_back(fmt::format("{}: here", number_)); }
  void fail(ErrorCode error) override {
    EXPECT_EQ(error, ErrorCode::request_timed_out);
    told_.push_back(fmt::format("{}: late", number_));
  }

 private:
  int const number_;
  std::vector<std::string>& told_;
};

class Asker final : public sim::Process {
 public:
  Asker(sim::NodeEnv& env, std::optional<RaftAddress> const& leader)
      : channel(env, {BrokerId{9}, 2s}, [&leader] { return leader; }) {}
  void stop(Task done) override {
    channel.stop();
    std::move(done)();
  }
  ControllerChannel channel;
};

class Channel : public ::testing::Test {
 protected:
  Channel() {
    for (int i : {1, 2}) {
      controllers[i] = &world.add_machine(fmt::format("c{}", i));
      start_controller(i);
    }
    asker.start([this](sim::NodeEnv& env) { return std::make_unique<Asker>(env, leader); });
    world.run_for(1s);
  }
  void start_controller(int i) {
    controllers[i]->start(
        [this, i](sim::NodeEnv& env) { return std::make_unique<FakeController>(env, i, manners[i], asked[i]); });
  }
  // On the asker's own reactor.
  void on_asker(std::function<void(ControllerChannel&)> what) {
    asker.node()->control_reactor().post(
        [this, what = std::move(what)] { what(static_cast<Asker&>(*asker.process()).channel); });
  }
  void call(int number, Duration within = 10s) {
    on_asker([this, number, within](ControllerChannel& channel) {
      channel.send(ControllerChannel::Line::partitions,
                   std::make_unique<Call>(number, asker.node()->control_reactor().now() + within, told));
    });
  }
  void lead(int i) {
    leader = i == 0 ? std::nullopt : std::optional(RaftAddress{BrokerId{i}, fmt::format("c{}", i), kPort});
    on_asker([](ControllerChannel& channel) { channel.on_leader_changed(); });
  }
  bool wait(size_t count, Duration limit = 30s) {
    return world.run_while_not([&] { return told.size() >= count; }, limit);
  }
  using Told = std::vector<std::string>;

  sim::World world{{.seed = 1, .has_chaos = false}};
  sim::Machine& asker = world.add_machine("asker");
  std::map<int, sim::Machine*> controllers;
  std::map<int, Manner> manners;
  std::map<int, int> asked;
  std::optional<RaftAddress> leader;
  Told told;
};

TEST_F(Channel, calls_wait_for_a_leader_and_are_answered_in_order) {
  for (int i = 1; i <= 3; ++i) call(i);
  world.run_for(3s);
  EXPECT_TRUE(told.empty());
  lead(2);
  ASSERT_TRUE(wait(3));
  EXPECT_EQ(told, (Told{"1: 2", "2: 2", "3: 2"}));
  EXPECT_EQ(asked[1], 0);
}

TEST_F(Channel, who_does_not_lead_is_asked_again_until_somebody_does) {
  manners[1] = Manner::does_not_lead;
  lead(1);
  call(1);
  world.run_for(1s);
  EXPECT_TRUE(told.empty());
  EXPECT_GT(asked[1], 5);
  lead(2);
  ASSERT_TRUE(wait(1));
  EXPECT_EQ(told, (Told{"1: 2"}));
}

TEST_F(Channel, a_call_goes_to_the_next_leader_at_once_when_the_old_one_says_nothing) {
  manners[1] = Manner::is_silent;
  lead(1);
  call(1);
  world.run_for(500ms);
  EXPECT_EQ(asked[1], 1);
  lead(2);
  ASSERT_TRUE(wait(1, 1s));  // well before the try's own timeout
  EXPECT_EQ(told, (Told{"1: 2"}));
}

TEST_F(Channel, a_leader_that_was_killed_is_tried_until_it_is_back) {
  lead(1);
  call(1);
  ASSERT_TRUE(wait(1));
  controllers[1]->kill(sim::CrashKind::process);
  call(2);
  world.run_for(1s);
  EXPECT_EQ(told.size(), 1u);
  start_controller(1);
  ASSERT_TRUE(wait(2));
  EXPECT_EQ(told, (Told{"1: 1", "2: 1"}));
}

TEST_F(Channel, each_call_ends_at_its_deadline) {
  manners[1] = Manner::is_silent;
  lead(1);
  call(1, 3s);
  call(2, 1s);  // behind it, and due before it
  world.run_for(2s);
  EXPECT_EQ(told, (Told{"2: late"}));
  ASSERT_TRUE(wait(2));
  EXPECT_EQ(told, (Told{"2: late", "1: late"}));
  manners[1] = Manner::answers;
  call(3);
  ASSERT_TRUE(wait(3));
  EXPECT_EQ(told.back(), "3: 1");
  lead(0);
  call(4, 1s);
  ASSERT_TRUE(wait(4, 2s));
  EXPECT_EQ(told.back(), "4: late");
}

TEST_F(Channel, calls_come_back_when_this_process_leads) {
  call(1);
  call(2);
  world.run_for(100ms);
  lead(9);
  ASSERT_TRUE(wait(2));
  EXPECT_EQ(told, (Told{"1: here", "2: here"}));
}

}  // namespace
}  // namespace millrace::runtime
