// Proves on the simulated disk that a node alone forms its quorum, that what was acknowledged outlives crashes at any
// disk call and power loss, that a snapshot and its tail give the same image as the log, and that a clean stop leaves
// everything as it was.
#include "millrace/runtime/controller_driver.h"

#include <gtest/gtest.h>

#include <set>

#include "millrace/metadata/features.h"
#include "millrace/metadata/snapshot.h"
#include "sim/node.h"
#include "sim/world.h"

namespace millrace::runtime {
namespace {

using namespace std::chrono_literals;

struct Outcome {
  std::optional<int64_t> previous_epoch;  // of the data, to start with
  std::optional<Result<int64_t>> started;
  std::set<std::string> asked, created;
  std::vector<int64_t> producer_ids;
  metadata::ImagePtr image;
  std::string failed;
  int snapshots = 0;
  bool is_stopped = false;
};

class ControllerNode final : public sim::Process {
 public:
  ControllerNode(sim::NodeEnv& env, Outcome& outcome, int64_t snapshot_bytes, int topic_count)
      : env_(env), outcome_(outcome), files_(env.disk(), 64), topics_left_(topic_count) {
    storage::LogDirectoryOptions options;
    options.path = "/data";
    options.cluster_id = "sim-cluster";
    options.node_id = BrokerId{1};
    options.fresh_directory_id = env.random_uuid();
    options.boot_id = env.boot_id();
    options.now = env.wall_now();
    auto opened = storage::LogDirectory::open(env.disk(), files_, options);
    if (!opened) {
      outcome_.failed = opened.error().message;
      return;
    }
    directory_ = *std::move(opened);
    ControllerDriverOptions driver;
    driver.controller.node_id = BrokerId{1};
    driver.controller.cluster_id = "sim-cluster";
    driver.log.self = {BrokerId{1}, directory_->directory_id()};
    driver.log.endpoints = {{"CONTROLLER", "localhost", 9093}};
    driver.snapshot_interval_bytes = snapshot_bytes;
    driver_ = std::make_unique<ControllerDriver>(env, *directory_, driver,
                                                 [this](Error const& error) { outcome_.failed = error.message; });
    driver_->publisher().subscribe([this](metadata::Publication const& publication) {
      publication.after->check_invariants();
      // The delta names at least what a comparison finds.
      auto const compared = metadata::compare_images(*publication.before, *publication.after);
      for (auto const& [id, topic] : compared.topics) EXPECT_TRUE(publication.delta.topics.contains(id)) << topic.name;
      for (auto id : compared.brokers) EXPECT_TRUE(publication.delta.brokers.contains(id));
      outcome_.image = publication.after;
    });
    LocalBroker broker;
    broker.incarnation_id = env.random_uuid();
    broker.endpoints = {{"PLAINTEXT", "localhost", 9092, 0}};
    broker.directories = {directory_->directory_id()};
    broker.previous_epoch = outcome_.previous_epoch;
    if (directory_->previous_stop() == storage::PreviousStop::machine_lost) broker.previous_epoch = -1;
    driver_->start(std::move(broker), [this](Result<int64_t> epoch) {
      outcome_.started = std::move(epoch);
      if (outcome_.started->ok()) create_next();
    });
  }

  void stop(Task done) override {
    driver_->stop_broker([this, done = std::move(done)]() mutable {
      driver_->close([this, done = std::move(done)](Status status) mutable {
        EXPECT_TRUE(status) << status.error().message;
        outcome_.is_stopped = true;
        std::move(done)();
      });
    });
  }

  ControllerDriver& driver() { return *driver_; }

 private:
  void create_next() {
    if (topics_left_-- <= 0) return;
    auto const name = fmt::format("topic-{}-{}", env_.life(), topics_left_);
    outcome_.asked.insert(name);
    metadata::CreateTopics request;
    request.topics.push_back({name, 3, 1, {}, {{"retention.ms", "5"}}});
    auto& back = env_.reactor(0);
    submit_as<metadata::CreateTopicsAnswer>(*driver_, std::move(request), back.now() + 30s, back,
                                            [this, name](metadata::CreateTopicsAnswer answer) {
                                              EXPECT_TRUE(answer.error.ok());
                                              EXPECT_TRUE(answer.topics.front().error.ok());
                                              EXPECT_NE(outcome_.image->find_topic(name), nullptr);
                                              outcome_.created.insert(name);
                                              take_id();
                                            });
  }
  void take_id() {
    driver_->next_producer_id(Mono::never(), env_.reactor(0), [this](Result<ProducerId> id) {
      if (id) outcome_.producer_ids.push_back(id->value);
      env_.control_reactor().post([this] { create_next(); });
    });
  }

  sim::NodeEnv& env_;
  Outcome& outcome_;
  storage::FileCache files_;
  std::unique_ptr<storage::LogDirectory> directory_;
  std::unique_ptr<ControllerDriver> driver_;
  int topics_left_;
};

void boot(sim::Machine& machine, Outcome& outcome, int64_t snapshot_bytes = 1 << 20, int topics = 5) {
  machine.start([&outcome, snapshot_bytes, topics](sim::NodeEnv& env) {
    return std::make_unique<ControllerNode>(env, outcome, snapshot_bytes, topics);
  });
}

TEST(ControllerDriver, AFreshNodeServesStopsAndComesBack) {
  sim::World world({.seed = 1, .has_chaos = false});
  auto& machine = world.add_machine("a");
  Outcome first;
  boot(machine, first);
  ASSERT_TRUE(world.run_while_not([&] { return first.created.size() == 5; }, 60s)) << first.failed;
  auto const& broker = *first.image->find_broker(BrokerId{1});
  EXPECT_FALSE(broker.is_fenced);
  EXPECT_EQ(first.image->metadata_version(), metadata::kMetadataVersionLatest);
  EXPECT_EQ(first.image->controllers.size(), 1U);
  EXPECT_EQ(first.image->find_partition("topic-1-0", 0)->leader, BrokerId{1});
  EXPECT_EQ(machine.disk().content("/data/__cluster_metadata-0/quorum-state"),
            R"({"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1})");
  machine.stop();
  ASSERT_TRUE(world.run_while_not([&] { return !machine.is_running(); }, 60s));
  EXPECT_TRUE(first.is_stopped);

  Outcome second;
  boot(machine, second);
  ASSERT_TRUE(world.run_while_not([&] { return second.created.size() == 5; }, 60s)) << second.failed;
  EXPECT_EQ(second.image->topics.size(), 10U);
  EXPECT_EQ(second.image->epoch, LeaderEpoch{2});
  auto const& partition = *second.image->find_partition(*first.created.begin(), 0);
  EXPECT_EQ(partition.leader, BrokerId{1});
  EXPECT_EQ(partition.leader_epoch, LeaderEpoch{2});  // given up, then taken again
  EXPECT_EQ(partition.recovery_state, metadata::LeaderRecoveryState::recovered);
  for (auto id : second.producer_ids) {
    EXPECT_EQ(std::count(first.producer_ids.begin(), first.producer_ids.end(), id), 0);
  }
}

// An old copy of the data beside the newer metadata log is what a lost machine leaves.
TEST(ControllerDriver, ANodeAloneTellsWhichRegistrationItsDataGoesWith) {
  auto const state_after = [](std::optional<int64_t> later_by) {
    sim::World world({.seed = 7, .has_chaos = false});
    auto& machine = world.add_machine("a");
    Outcome first, second;
    boot(machine, first);
    EXPECT_TRUE(world.run_while_not([&] { return first.created.size() == 5; }, 60s)) << first.failed;
    machine.stop();
    EXPECT_TRUE(world.run_while_not([&] { return !machine.is_running(); }, 60s));
    if (later_by) second.previous_epoch = first.started->value() + *later_by;
    boot(machine, second);
    EXPECT_TRUE(world.run_while_not([&] { return second.created.size() == 5; }, 60s)) << second.failed;
    return second.image->find_partition(*first.created.begin(), 0)->recovery_state;
  };
  EXPECT_EQ(state_after(std::nullopt), metadata::LeaderRecoveryState::recovered);
  EXPECT_EQ(state_after(0), metadata::LeaderRecoveryState::recovered);
  EXPECT_EQ(state_after(100), metadata::LeaderRecoveryState::recovered);  // its record did not reach the log
  EXPECT_EQ(state_after(-1), metadata::LeaderRecoveryState::recovering);
}

// The second process begins with the log that the first one, which was killed, has left.
void boot_again_after_five_topics(sim::World& world, sim::Machine& machine, Outcome& first, Outcome& second) {
  boot(machine, first);
  ASSERT_TRUE(world.run_while_not([&] { return first.created.size() == 5; }, 60s)) << first.failed;
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  boot(machine, second, 1 << 20, 0);
}

// A client's question that is answered from an image, as which id a name has, must not be answered from one that lacks
// what an earlier leader had committed.
TEST(ControllerDriver, IsActiveOnceEverybodyKnowsWhatItsLogHolds) {
  sim::World world({.seed = 5, .has_chaos = false});
  auto& machine = world.add_machine("a");
  Outcome first, second;
  ASSERT_NO_FATAL_FAILURE(boot_again_after_five_topics(world, machine, first, second));
  auto const is_active = [&] {
    auto* node = static_cast<ControllerNode*>(machine.process());
    return node != nullptr && node->driver().is_active();
  };
  ASSERT_TRUE(world.run_while_not(is_active, 60s)) << second.failed;
  ASSERT_NE(second.image, nullptr);
  EXPECT_EQ(second.image->topics.size(), 5U);
}

// Nor by the node itself, if a client asks it directly.
TEST(ControllerDriver, ClientsOfANodeThatWasJustElectedWaitUntilItKnowsWhatItsLogHolds) {
  sim::World world({.seed = 6, .has_chaos = false});
  auto& machine = world.add_machine("a");
  Outcome first, second;
  ASSERT_NO_FATAL_FAILURE(boot_again_after_five_topics(world, machine, first, second));
  auto const driver = [&] { return &static_cast<ControllerNode*>(machine.process())->driver(); };
  auto const leads = [&] {
    return machine.process() != nullptr && driver()->quorum() != nullptr && driver()->quorum()->role() == raft::Role::leader;
  };
  ASSERT_TRUE(world.run_while_not(leads, 60s)) << second.failed;
  ASSERT_FALSE(driver()->is_active());
  std::optional<bool> was_active;
  auto& reactor = machine.node()->reactor(0);
  driver()->forward({}, {}, reactor.now() + 30s, reactor, [&](std::optional<SharedBytes> const& answer) {
    EXPECT_FALSE(answer.has_value());  // it is this node's to answer
    was_active = driver()->is_active();
  });
  ASSERT_TRUE(world.run_while_not([&] { return was_active.has_value(); }, 60s)) << second.failed;
  EXPECT_TRUE(*was_active);
}

TEST(ControllerDriver, SnapshotsStandInForTheLog) {
  sim::World world({.seed = 3, .has_chaos = false});
  auto& machine = world.add_machine("a");
  Outcome first;
  boot(machine, first, 600, 12);
  ASSERT_TRUE(world.run_while_not([&] { return first.created.size() == 12; }, 60s)) << first.failed;
  world.run_for(1s);
  int checkpoints = 0;
  for (auto const& file : machine.disk().files()) checkpoints += file.ends_with(".checkpoint") ? 1 : 0;
  EXPECT_GE(checkpoints, 1);
  EXPECT_LE(checkpoints, static_cast<int>(RaftDriver::kSnapshotsKept) + 1);
  auto const before = metadata::fingerprint(*first.image);
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  Outcome second;
  boot(machine, second, 1 << 20, 0);
  ASSERT_TRUE(world.run_while_not([&] { return second.started.has_value(); }, 60s));
  ASSERT_TRUE(second.started->ok()) << second.started->error().message;
  EXPECT_EQ(second.image->topics.size(), 12U);
  EXPECT_NE(metadata::fingerprint(*second.image), before);  // another incarnation
}

TEST(ControllerDriver, WhatWasAcknowledgedOutlivesCrashes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    sim::World world({.seed = seed});
    auto& machine = world.add_machine("a");
    auto random = world.random("test");
    std::set<std::string> asked, created;
    std::set<int64_t> ids;
    int64_t offset = -1;
    for (int life = 0; life < 6; ++life) {
      Outcome outcome;
      boot(machine, outcome, 700, 8);
      if (life > 0) {
        machine.node()->crash_at_disk_call(static_cast<int64_t>(1 + random.below(life == 1 ? 40 : 150)),
                                           random.chance(0.5) ? sim::CrashKind::process : sim::CrashKind::power_loss);
      }
      world.run_while_not([&] { return !machine.is_running() || outcome.created.size() == 8; }, 20s);
      if (machine.is_running()) {
        EXPECT_EQ(outcome.failed, "");
      }
      if (outcome.image) {
        EXPECT_GE(outcome.image->offset.value, offset);
        for (auto const& name : created) EXPECT_NE(outcome.image->find_topic(name), nullptr) << name;
        outcome.image->topics.for_each([&](std::string const& name, auto const&) {
          EXPECT_TRUE(asked.contains(name) || outcome.asked.contains(name)) << name;
        });
        offset = outcome.image->offset.value;
      } else {
        EXPECT_FALSE(outcome.started && !machine.is_running() && outcome.started->ok());
      }
      asked.merge(outcome.asked);
      created.merge(outcome.created);
      for (auto id : outcome.producer_ids) EXPECT_TRUE(ids.insert(id).second) << id;
      if (machine.is_running()) machine.kill(random.chance(0.5) ? sim::CrashKind::process : sim::CrashKind::power_loss);
      world.run_for(100ms);
    }
    Outcome last;
    boot(machine, last, 1 << 20, 1);
    ASSERT_TRUE(world.run_while_not([&] { return last.created.size() == 1; }, 60s))
        << last.failed << (last.started && !last.started->ok() ? last.started->error().message : "");
    for (auto const& name : created) EXPECT_NE(last.image->find_topic(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace millrace::runtime
