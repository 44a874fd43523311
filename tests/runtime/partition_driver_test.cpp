// The partition's driver with its log on a simulated disk: one user of the log at a time, and what an answer waits for.
#include "millrace/runtime/partition_driver.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "millrace/record/builder.h"
#include "sim/node.h"
#include "sim/world.h"

namespace millrace::runtime {
namespace {

using namespace std::chrono_literals;

class Sink final : public AppendSink {
 public:
  explicit Sink(std::vector<std::string>& log) : log_(log) {}
  std::vector<std::byte>& keep(std::vector<std::byte> bytes) { return kept_.emplace_back(std::move(bytes)); }
  void on_appended(uint32_t) override {}
  void on_answer(uint32_t index, AppendAnswer const& answer) override {
    log_.push_back(fmt::format("{}: {} at {}", index, static_cast<int>(answer.error), answer.base_offset));
  }

 private:
  std::vector<std::string>& log_;
  std::deque<std::vector<std::byte>> kept_;
};

// One leader of epoch 0, alone.
struct Node final : sim::Process {
  Node(sim::NodeEnv& env, TopicConfig const& config) : lists(env), files(env.disk(), 32) {
    storage::LogDirectoryOptions options;
    options.path = "/data";
    options.cluster_id = "cluster";
    options.node_id = BrokerId(1);
    options.fresh_directory_id.bytes.fill(7);
    options.boot_id = env.boot_id();
    options.low_space_bytes = 0;
    directory = *storage::LogDirectory::open(env.disk(), files, options);
    TopicId id;
    id.bytes.fill(3);
    PartitionIdentity identity{{id, 0}, {"orders", 0}, "orders-0"};
    driver = std::make_shared<PartitionDriver>(env, identity, std::make_shared<TopicConfig const>(config));
    driver->open(*directory->create_log(identity.name, id, config.log, Wall{0}), here());
    lead({});
  }
  ~Node() override { driver->abandon(); }
  RunList& here() { return lists.control(); }

  struct Leads {
    int32_t epoch = 0;
    int32_t partition_epoch = 0;
    std::vector<BrokerId> replicas{BrokerId(1)};
    int32_t min_in_sync = 1;
  };
  void lead(Leads const& leads) {
    replication::BecomeLeader event;
    event.epoch = LeaderEpoch(leads.epoch);
    event.partition_epoch = leads.partition_epoch;
    event.self = BrokerId(1);
    event.replicas = leads.replicas;
    event.in_sync_replicas = {BrokerId(1)};
    event.min_in_sync = leads.min_in_sync;
    driver->lead(std::move(event), here());
  }

  void append(std::shared_ptr<Sink> const& sink, uint32_t index, bool wants_all_replicas = true,
              record::BatchOptions const& options = {}) {
    record::BatchBuilder builder(options);
    auto const value = fmt::format("value {}", index);
    record::NewRecord record;
    record.value = as_bytes(value);
    builder.append(record);
    driver->append({.sink = sink,
                    .index = index,
                    .batch = MutableByteView(sink->keep(builder.build())),
                    .wants_all_replicas = wants_all_replicas},
                   here());
  }

  RunLists lists;
  storage::FileCache files;
  std::unique_ptr<storage::LogDirectory> directory;
  std::shared_ptr<PartitionDriver> driver;
};

class PartitionDrivers : public testing::Test {
 protected:
  sim::World world{{.seed = 1, .has_chaos = false}};
  sim::Machine& machine = world.add_machine("a");
  TopicConfig config;
  std::vector<std::string> log;

  Node& start() {
    machine.start([this](sim::NodeEnv& env) { return std::make_unique<Node>(env, config); });
    world.run_for(1s);
    return static_cast<Node&>(*machine.process());
  }
  void on_node(Task task) { machine.node()->sim_control().post(std::move(task)); }
};

}  // namespace

// The deletion is an event and the append a request of the same round: the append must wait until the log is free, or
// two threads write the same log, and the end of the one counts as the end of the other.
TEST_F(PartitionDrivers, an_append_of_the_round_in_which_a_job_takes_the_log_waits_for_it) {
  auto& node = start();
  auto const sink = std::make_shared<Sink>(log);
  on_node([&] { node.append(sink, 0); });
  world.run_for(1s);
  on_node([&] {
    node.driver->delete_records(
        Offset(1), [this] { log.push_back("waits for other replicas"); },
        [this](ErrorCode error, Offset start) {
          log.push_back(fmt::format("deleted: {} to {}", static_cast<int>(error), start));
        },
        node.here());
    node.append(sink, 1);
    node.here().reactor().post([&] { node.append(sink, 2); });
  });
  world.run_for(1s);
  EXPECT_EQ(log, (std::vector<std::string>{"0: 0 at 0", "deleted: 0 to 1", "1: 0 at 1", "2: 0 at 2"}));
  EXPECT_EQ(node.driver->marks().high_watermark.offset, Offset(3));
}

// Kafka's append itself flushes when so many messages are not on the disk yet, so an acks=1 is answered after that.
TEST_F(PartitionDrivers, acks_of_the_leader_wait_for_the_sync_that_flush_messages_asks_for) {
  machine.disk().speed().sync = 100ms;
  config.flush_messages = 2;
  auto& node = start();
  auto const sink = std::make_shared<Sink>(log);
  on_node([&] { node.append(sink, 0, false); });
  world.run_for(20ms);
  EXPECT_EQ(log, (std::vector<std::string>{"0: 0 at 0"}));
  on_node([&] { node.append(sink, 1, false); });
  world.run_for(20ms);
  EXPECT_EQ(log.size(), 1u);
  world.run_for(3s);
  EXPECT_EQ(log, (std::vector<std::string>{"0: 0 at 0", "1: 0 at 1"}));
}

TEST_F(PartitionDrivers, acks_of_the_leader_are_refused_when_their_sync_fails) {
  config.flush_messages = 1;
  auto& node = start();
  auto const sink = std::make_shared<Sink>(log);
  machine.disk().add_fault({.call = sim::DiskCall::sync, .path_part = ".log"});
  on_node([&] { node.append(sink, 0, false); });
  world.run_for(1s);
  EXPECT_EQ(log,
            (std::vector<std::string>{fmt::format("0: {} at 0", static_cast<int>(ErrorCode::kafka_storage_error))}));
}

// One line a second and partition at most; it tells what was expected, and how many were refused without one.
TEST_F(PartitionDrivers, refused_sequences_are_logged_but_not_each) {
  auto& node = start();
  auto const sink = std::make_shared<Sink>(log);
  std::unique_ptr<std::FILE, decltype(&std::fclose)> const trace(std::tmpfile(), &std::fclose);
  world.trace().print_to(trace.get());
  auto const produce = [&](int16_t epoch, int32_t sequence) {
    on_node([&, epoch, sequence] {
      node.append(sink, 0, true,
                  {.producer_id = ProducerId(7), .producer_epoch = ProducerEpoch(epoch), .base_sequence = sequence});
    });
    world.run_for(100ms);
  };
  produce(1, 0);
  produce(1, 5);
  produce(1, 6);
  produce(0, 1);
  world.run_for(1s);
  produce(0, 1);
  world.run_for(1s);
  produce(1, 8);
  world.trace().print_to(nullptr);

  std::rewind(trace.get());
  std::vector<std::string> lines;
  std::array<char, 1000> line{};
  while (std::fgets(line.data(), line.size(), trace.get()) != nullptr) {
    std::string_view const text(line.data());
    auto const at = text.find("a partition: ");
    if (at != std::string_view::npos) lines.emplace_back(text.substr(at + 13, text.find('\n') - at - 13));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "orders-0: sequences 5 to 5 of producer 7 epoch 1 refused with OUT_OF_ORDER_SEQUENCE_NUMBER: next is 1 "
                       "of epoch 1; leader epoch 0",
                       "orders-0: sequences 1 to 1 of producer 7 epoch 0 refused with INVALID_PRODUCER_EPOCH: next is 1 of "
                       "epoch 1; leader epoch 0; 2 more refused since the last such line",
                       "orders-0: sequences 8 to 8 of producer 7 epoch 1 refused with OUT_OF_ORDER_SEQUENCE_NUMBER: next is 1 "
                       "of epoch 1; leader epoch 0"}));
  EXPECT_EQ(log.size(), 6u);
}

// 19: NOT_ENOUGH_REPLICAS, 45: OUT_OF_ORDER_SEQUENCE_NUMBER, 56: KAFKA_STORAGE_ERROR. The sequence is also the index.
class Gaps : public PartitionDrivers {
 protected:
  std::vector<std::string> produce(int64_t producer, int32_t sequence, int16_t epoch = 0) {
    log.clear();
    on_node([&] {
      node.append(sink, static_cast<uint32_t>(sequence), true,
                  {.producer_id = ProducerId(producer), .producer_epoch = ProducerEpoch(epoch), .base_sequence = sequence});
    });
    world.run_for(100ms);
    return log;
  }
  void lead(Node::Leads leads) {
    on_node([this, leads = std::move(leads)] { node.lead(leads); });
  }

  using Answers = std::vector<std::string>;
  Node& node = start();
  std::shared_ptr<Sink> sink = std::make_shared<Sink>(log);
  std::vector<BrokerId> const both{BrokerId(1), BrokerId(2)};
};

TEST_F(Gaps, that_a_new_leader_finds_are_to_be_tried_again_until_the_producer_is_known_to_it) {
  EXPECT_EQ(produce(7, 0), Answers{"0: 0 at 0"});
  EXPECT_EQ(produce(7, 2), Answers{"2: 45 at -1"});
  lead({.epoch = 1, .replicas = both});
  EXPECT_EQ(produce(7, 2), Answers{"2: 19 at -1"});
  lead({.epoch = 1, .partition_epoch = 1, .replicas = both});  // told again: the epoch is as old as it was
  world.run_for(PartitionDriver::kGapMax - 300ms);
  EXPECT_EQ(produce(7, 2), Answers{"2: 19 at -1"});
  world.run_for(300ms);
  EXPECT_EQ(produce(7, 2), Answers{"2: 45 at -1"});
  lead({.epoch = 2, .replicas = both});
  EXPECT_EQ(produce(7, 2), Answers{"2: 19 at -1"});
  EXPECT_EQ(produce(7, 1), Answers{"1: 0 at 1"});
  EXPECT_EQ(produce(7, 3), Answers{"3: 45 at -1"});
  lead({.epoch = 3});  // alone: nobody has refused what is missing
  EXPECT_EQ(produce(7, 4), Answers{"4: 45 at -1"});
}

TEST_F(Gaps, after_too_few_replicas_were_in_sync_are_to_be_tried_again) {
  EXPECT_EQ(produce(7, 0), Answers{"0: 0 at 0"});
  lead({.partition_epoch = 1, .replicas = both, .min_in_sync = 2});
  EXPECT_EQ(produce(7, 1), Answers{"1: 19 at -1"});
  lead({.partition_epoch = 2, .replicas = both});
  EXPECT_EQ(produce(7, 2), Answers{"2: 19 at -1"});
  EXPECT_EQ(produce(7, 1), Answers{"1: 0 at 1"});
  EXPECT_EQ(produce(7, 3), Answers{"3: 45 at -1"});
}

TEST_F(Gaps, after_a_full_disk_are_to_be_tried_again_for_a_while) {
  EXPECT_EQ(produce(7, 0), Answers{"0: 0 at 0"});
  machine.disk().set_capacity(machine.disk().used_bytes());
  EXPECT_EQ(produce(7, 1), Answers{"1: 56 at -1"});
  machine.disk().set_capacity(int64_t{1} << 40);
  EXPECT_EQ(produce(7, 2), Answers{"2: 19 at -1"});
  world.run_for(PartitionDriver::kGapMax);
  EXPECT_EQ(produce(7, 2), Answers{"2: 45 at -1"});
}

// Otherwise what it sent second would be written first.
TEST_F(Gaps, of_an_unknown_producer_or_a_new_epoch_are_to_be_tried_again_where_its_first_batch_may_have_been_refused) {
  EXPECT_EQ(produce(7, 5), Answers{"5: 0 at 0"});
  lead({.partition_epoch = 1, .replicas = both, .min_in_sync = 2});
  EXPECT_EQ(produce(8, 0), Answers{"0: 19 at -1"});
  lead({.partition_epoch = 2, .replicas = both});
  EXPECT_EQ(produce(8, 1), Answers{"1: 19 at -1"});
  EXPECT_EQ(produce(8, 0), Answers{"0: 0 at 1"});
  EXPECT_EQ(produce(8, 1), Answers{"1: 0 at 2"});
  EXPECT_EQ(produce(7, 1, 1), Answers{"1: 19 at -1"});
  EXPECT_EQ(produce(7, 0, 1), Answers{"0: 0 at 3"});
  EXPECT_EQ(produce(9, 3), Answers{"3: 19 at -1"});
  world.run_for(PartitionDriver::kGapMax);
  EXPECT_EQ(produce(9, 3), Answers{"3: 0 at 4"});
}

// What the directory vouches for is taken back before the log is cut, and a full disk has no room for that.
TEST_F(PartitionDrivers, a_cut_that_a_full_disk_refuses_is_tried_again) {
  auto& node = start();
  auto const sink = std::make_shared<Sink>(log);
  for (uint32_t i = 0; i < 3; ++i) on_node([&, i] { node.append(sink, i); });
  world.run_for(1s);
  on_node([&] {
    MR_ASSERT(node.directory->flush_all().ok());
    replication::BecomeFollower event;
    event.epoch = LeaderEpoch(1);
    event.leader = BrokerId(2);
    node.driver->follow(event, node.here());
  });
  world.run_for(1s);
  log.clear();
  auto const hear_that_it_diverges = [&] {
    on_node([&] {
      FetchedPart part;
      part.asked = {LeaderEpoch(1), Offset(3), LeaderEpoch(0), Offset(0)};
      part.diverging = {LeaderEpoch(0), Offset(1)};
      node.driver->fetched(
          std::move(part),
          [this](FollowAnswer answer) {
            log.push_back(fmt::format("{} from {}", answer.what == FollowAnswer::What::retry ? "again" : "on", answer.next.offset));
          },
          node.here());
    });
    world.run_for(1s);
  };
  machine.disk().set_capacity(machine.disk().used_bytes());
  hear_that_it_diverges();
  machine.disk().set_capacity(int64_t{1} << 40);
  hear_that_it_diverges();
  EXPECT_EQ(log, (std::vector<std::string>{"again from 3", "on from 1"}));
  EXPECT_EQ(node.driver->status(), PartitionStatus::follower);
}

}  // namespace millrace::runtime
