// A stop is clean and final whenever it comes: also while logs are still being opened.
#include "node.h"

namespace millrace::broker {
namespace {

constexpr char const* kMark = "/data/.kafka_cleanshutdown";

class Stops : public BrokerTest {
 protected:
  // Starts with a slow disk and stops as soon as partitions are being opened.
  void start_and_stop_at_once() {
    machine.disk().speed().call = 5ms;
    machine.start([this](sim::NodeEnv& env) { return std::make_unique<BrokerProcess>(env, image(), options); });
    ASSERT_TRUE(world.run_while_not(
        [this] { return machine.process() != nullptr && process().partitions_->opening_count() > 20; }, 10s));
    process().partitions_->set_broker_epoch(1);
    machine.stop();
    ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 120s));
    machine.disk().speed() = {};
    EXPECT_TRUE(machine.disk().durable_content(kMark).has_value());
  }
  void stop() {
    machine.stop();
    ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
    EXPECT_TRUE(machine.disk().durable_content(kMark).has_value());
  }
  storage::PreviousStop previous_stop() { return process().directory_->previous_stop(); }
};

}  // namespace

TEST_F(Stops, while_logs_are_opening_that_were_closed_cleanly_leaves_them_so) {
  add_topic("orders", 100);
  start();
  stop();
  start_and_stop_at_once();
  start();
  EXPECT_EQ(previous_stop(), storage::PreviousStop::clean);
  EXPECT_EQ(process().partitions_->opening_count(), 0u);
}

// The mark would vouch for logs that nobody has looked at: they are recovered first.
TEST_F(Stops, while_logs_are_recovered_waits_for_all_of_them) {
  add_topic("orders", 100);
  start();
  for (auto const kind : {sim::CrashKind::process, sim::CrashKind::power_loss}) {
    machine.kill(kind);
    world.run_for(1s);
    start_and_stop_at_once();
    start();
    EXPECT_EQ(previous_stop(), storage::PreviousStop::clean);
    for (int32_t p = 0; p < 100; ++p)
      EXPECT_EQ(partition("orders", p)->status(), runtime::PartitionStatus::leader) << p;
  }
}

// Its clean stop would pass for that of a node that has lost nothing, and its replicas for complete ones.
TEST_F(Stops, after_a_lost_machine_leaves_no_mark_before_the_controller_has_heard_of_it) {
  add_topic("orders", 3);
  start();
  machine.kill(sim::CrashKind::power_loss);
  world.run_for(1s);
  for (bool const is_registered : {false, true}) {
    start();
    EXPECT_EQ(previous_stop(), storage::PreviousStop::machine_lost);
    if (is_registered) process().partitions_->set_broker_epoch(1);
    machine.stop();
    ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
    EXPECT_EQ(machine.disk().durable_content(kMark).has_value(), is_registered);
  }
}

// Nobody has looked at its logs yet.
TEST_F(Stops, after_a_killed_process_leaves_no_mark_before_the_first_publication) {
  add_topic("orders", 3);
  start();
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  machine.start([this](sim::NodeEnv& env) { return std::make_unique<BrokerProcess>(env, nullptr, options); });
  world.run_for(1s);
  machine.stop();
  ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
  EXPECT_FALSE(machine.disk().durable_content(kMark).has_value());
  start();
  EXPECT_EQ(previous_stop(), storage::PreviousStop::process_killed);
}

// The mark names the registration that the records here go with: a start that was none changes nothing of that, and it
// cannot tell it after a kill.
TEST_F(Stops, without_a_registration_leaves_the_epoch_that_it_found) {
  add_topic("orders", 3);
  auto const stop_in_epoch = [this](int64_t epoch) {
    start();
    process().broker_epoch_ = epoch;
    machine.stop();
    EXPECT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
    return machine.disk().durable_content(kMark);
  };
  auto const mark = [](int64_t epoch) { return fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", epoch); };
  EXPECT_EQ(stop_in_epoch(-1), std::nullopt);  // a first start
  options.is_broker = false;  // nobody asks a controller for an epoch
  EXPECT_EQ(stop_in_epoch(-1), mark(-1));
  options.is_broker = true;
  EXPECT_EQ(stop_in_epoch(5), mark(5));
  EXPECT_EQ(stop_in_epoch(-1), mark(5));
  EXPECT_EQ(stop_in_epoch(8), mark(8));
  start();
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  EXPECT_EQ(stop_in_epoch(-1), std::nullopt);
  EXPECT_EQ(stop_in_epoch(9), mark(9));
  machine.disk().place(kMark, mark(-1));  // of Kafka, which had not registered
  EXPECT_EQ(stop_in_epoch(-1), mark(-1));
}

// Until the metadata log shows this process as registered, the next one is to name the epoch of the mark: also after a kill.
TEST_F(Stops, a_kill_before_the_registration_forgets_no_mark_and_one_after_it_does) {
  add_topic("orders", 3);
  start();
  stop();
  options.incarnation_id.emplace();
  options.incarnation_id->bytes[0] = 9;
  start();
  EXPECT_EQ(process().directory_->marked_epoch(), 1);
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  start();
  EXPECT_EQ(previous_stop(), storage::PreviousStop::process_killed);
  EXPECT_EQ(process().directory_->marked_epoch(), 1);
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  options.incarnation_id.reset();  // any image shows it
  start();
  EXPECT_EQ(process().directory_->marked_epoch(), 1);
  world.run_for(1s);
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  start();
  EXPECT_EQ(process().directory_->marked_epoch(), std::nullopt);
}

// A damaged log stays damaged: without the mark the next start looks at it again.
TEST_F(Stops, with_a_log_that_could_not_be_opened_leaves_no_mark) {
  add_topic("orders", 3);
  start();
  machine.kill(sim::CrashKind::process);
  world.run_for(1s);
  machine.disk().place("/data/orders-1/00000000000000000000.log", std::string(100, 'x') + std::string(8000, '\0'));
  machine.disk().place("/data/recovery-point-offset-checkpoint", "0\n1\norders 1 5\n");
  for (int restart = 0; restart < 2; ++restart) {
    start();
    EXPECT_NE(previous_stop(), storage::PreviousStop::clean);
    EXPECT_EQ(partition("orders", 1)->status(), runtime::PartitionStatus::offline);
    EXPECT_EQ(partition("orders", 0)->status(), runtime::PartitionStatus::leader);
    machine.stop();
    ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
    EXPECT_FALSE(machine.disk().durable_content(kMark).has_value());
  }
}

// It may be what is left of an earlier topic of that name.
TEST_F(Stops, a_directory_that_does_not_tell_its_topic_is_set_aside) {
  for (std::string const text : {"version: 0\ntopic_", ""}) {
    SCOPED_TRACE(text);
    add_topic("orders" + std::to_string(text.size()), 1);
    auto const name = "orders" + std::to_string(text.size());
    start();
    machine.kill(sim::CrashKind::process);
    world.run_for(1s);
    machine.disk().place(fmt::format("/data/{}-0/partition.metadata", name), text);
    machine.disk().place(fmt::format("/data/{}-0/00000000000000000000.log", name), "records of nobody knows whom");
    start();
    EXPECT_EQ(partition(name, 0)->status(), runtime::PartitionStatus::leader);
    EXPECT_EQ(machine.disk().content(fmt::format("/data/{}-0/00000000000000000000.log", name)), "");
    auto const entries = machine.node()->disk().list("/data");
    auto const is_kept = [&](auto const& entry) { return entry.name.starts_with(name + "-0.") && entry.name.ends_with("-stray"); };
    EXPECT_EQ(std::ranges::count_if(*entries, is_kept), 1);
    machine.kill(sim::CrashKind::process);
    world.run_for(1s);
  }
}

// Of what was synced nothing goes away by itself.
TEST_F(Stops, a_directory_with_synced_records_that_does_not_tell_its_topic_is_damage) {
  add_topic("orders", 1);
  start();
  machine.stop();
  ASSERT_TRUE(world.run_while_not([this] { return !machine.is_running(); }, 10s));
  machine.disk().place("/data/orders-0/partition.metadata", "version: 0\ntopic_");
  start();
  EXPECT_EQ(previous_stop(), storage::PreviousStop::clean);
  EXPECT_EQ(partition("orders", 0)->status(), runtime::PartitionStatus::offline);
  EXPECT_EQ(machine.disk().content("/data/orders-0/partition.metadata"), "version: 0\ntopic_");
}

}  // namespace millrace::broker
