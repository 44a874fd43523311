// Two and three brokers whose images the test writes, joined by the simulated network: followers copy, cut what their
// leader has not, start again where its log starts, and tell what they have. Files are compared byte for byte.
#include "millrace/net/net_server.h"
#include "millrace/protocol/api/delete_records.h"
#include "millrace/protocol/api/fetch.h"
#include "millrace/protocol/api/list_offsets.h"
#include "millrace/protocol/api/produce.h"
#include "node.h"
#include "sim/network.h"

namespace millrace::broker {
namespace {

using protocol::FetchRequest;
using protocol::FetchResponse;
using protocol::ListOffsetsRequest;
using protocol::ListOffsetsResponse;
using protocol::ProduceRequest;
using protocol::ProduceResponse;

constexpr int16_t kProduceVersion = 9;
constexpr int16_t kFetchVersion = 12;

// Takes in-sync sets as leaders want them; the test answers.
class IsrController final : public runtime::ControllerClient {
 public:
  using Decide = std::function<metadata::AlterPartitionAnswer(metadata::AlterPartition const&)>;
  explicit IsrController(Decide decide) : decide_(std::move(decide)) {}
  void submit(metadata::ControllerRequest request, Mono, env::Reactor& back,
              Callback<void(metadata::ControllerAnswer)> done) override {
    auto answer = decide_(std::get<metadata::AlterPartition>(request));
    back.post([answer = std::move(answer), done = std::move(done)]() mutable { std::move(done)(std::move(answer)); });
  }
  void next_producer_id(Mono, env::Reactor&, Callback<void(Result<ProducerId>)>) override {}
  runtime::QuorumDescription describe_quorum() const override { return {}; }
  BrokerId active_controller() const override { return BrokerId(1); }
  runtime::LeaderStanding const& standing() const override { return own_standing; }

  runtime::LeaderStanding own_standing;

 private:
  Decide decide_;
};

// A broker that others reach.
struct Served final : sim::Process {
  Served(sim::NodeEnv& env, metadata::ImagePtr image, runtime::PartitionManagerOptions const& options, int64_t broker_epoch,
         IsrController::Decide decide, bool has_rack_aware_reads)
      : controller(std::move(decide)), broker(env, std::move(image), options, has_rack_aware_reads), net(env, net::NetOptions{}) {
    broker.partitions_->set_controller(&controller);
    net::ListenerOptions listener;
    listener.name = "PLAINTEXT";
    listener.addresses.push_back({"0.0.0.0", 9092});
    EXPECT_TRUE(net.listen(listener).ok());
    net.open(*broker.broker_);
    broker.partitions_->set_broker_epoch(broker_epoch);
  }
  IsrController controller;
  BrokerProcess broker;
  net::NetServer net;
};

class Replication : public testing::Test {
 protected:
  static constexpr std::string_view kTopic = "t";

  void SetUp() override {
    for (int32_t id = 1; id <= 3; ++id) machines.push_back(&world.add_machine(fmt::format("broker{}", id)));
    options.replication.inter_broker_listener = "PLAINTEXT";
    options.replication.lag_max = 10s;
  }

  // ---- The image: one topic of `count` partitions on `replicas`.

  void assign(LeaderEpoch epoch, int32_t leader, std::vector<int32_t> replicas, std::vector<int32_t> isr, int32_t count = 1) {
    auto const before = image;
    auto next = std::make_shared<metadata::Image>(*image);
    next->offset += 1;
    for (int32_t id = 1; id <= 3; ++id) {
      auto broker = std::make_shared<metadata::BrokerImage>();
      broker->id = BrokerId(id);
      broker->epoch = 10 * id;
      broker->is_fenced = fenced.contains(id);
      if (racks.contains(id)) broker->rack = racks[id];
      broker->endpoints.push_back({"PLAINTEXT", fmt::format("broker{}", id), 9092, 0});
      next->brokers.set(BrokerId(id), broker);
    }
    auto topic = std::make_shared<metadata::TopicImage>();
    topic->id.bytes.fill(5);
    topic->name = kTopic;
    for (int32_t i = 0; i < count; ++i) {
      metadata::PartitionImage partition;
      for (auto const id : replicas) partition.replicas.emplace_back(id);
      for (auto const id : isr) partition.isr.emplace_back(id);
      partition.directories.assign(replicas.size(), metadata::kDirectoryUnassigned);
      partition.leader = BrokerId(leader);
      partition.leader_epoch = epoch;
      partition.partition_epoch = static_cast<int32_t>(next->offset.value);
      topic->partitions.set(i, std::make_shared<metadata::PartitionImage const>(partition));
    }
    next->topics.set(std::string(kTopic), topic);
    next->topics_by_id.set(topic->id, topic);
    metadata::ConfigMap configs;
    for (auto const& [key, value] : topic_configs) configs.set(key, value);
    next->configs.set({metadata::ConfigResourceType::topic, std::string(kTopic)}, configs);
    image = next;
    publish(before);
  }
  void publish(metadata::ImagePtr const& before) {
    for (int32_t id = 1; id <= 3; ++id) {
      if (!machine(id).is_running()) continue;
      machine(id).node()->control_reactor().post([this, id, before, after = image] { node(id).publish(before, after); });
    }
  }
  // As a process that was just started does; nothing else changes.
  void register_again(int32_t id, Uuid incarnation) {
    auto const before = image;
    auto next = std::make_shared<metadata::Image>(*image);
    next->offset += 1;
    auto broker = std::make_shared<metadata::BrokerImage>(*image->find_broker(BrokerId(id)));
    broker->incarnation_id = incarnation;
    next->brokers.set(BrokerId(id), broker);
    image = next;
    publish(before);
  }

  // The one partition's leader asks; it gets what it wants, unless its epochs are old.
  metadata::AlterPartitionAnswer decide(metadata::AlterPartition const& request) {
    metadata::AlterPartitionAnswer answer;
    for (auto const& wanted : request.partitions) {
      auto const* now = image->find_partition(wanted.topic, wanted.partition);
      auto text = fmt::format("{}@{}:", request.broker, request.broker_epoch);
      std::vector<int32_t> isr;
      for (auto const& member : wanted.isr) {
        text += fmt::format(" {}@{}", member.id, member.broker_epoch);
        isr.push_back(member.id.value);
      }
      asked.push_back(text);
      auto& out = answer.partitions.emplace_back();
      out.topic = wanted.topic;
      out.partition = wanted.partition;
      if (wanted.partition_epoch != now->partition_epoch || wanted.leader_epoch != now->leader_epoch) {
        out.error = ErrorCode::invalid_update_version;
        continue;
      }
      std::vector<int32_t> replicas;
      for (auto const id : now->replicas) replicas.push_back(id.value);
      assign(now->leader_epoch, now->leader.value, replicas, isr);
      out.leader = now->leader;
      out.leader_epoch = now->leader_epoch;
      for (auto const id : isr) out.isr.emplace_back(id);
      out.partition_epoch = image->find_partition(wanted.topic, wanted.partition)->partition_epoch;
    }
    return answer;
  }

  // ---- The processes

  sim::Machine& machine(int32_t id) { return *machines[static_cast<size_t>(id) - 1]; }
  BrokerProcess& node(int32_t id) { return static_cast<Served&>(*machine(id).process()).broker; }
  void start(std::vector<int32_t> const& ids) {
    for (auto const id : ids) {
      auto own = options;
      own.node_id = BrokerId(id);
      machine(id).start([this, own](sim::NodeEnv& env) {
        return std::make_unique<Served>(env, image, own, 10 * own.node_id.value,
                                        [this](auto const& request) { return decide(request); }, has_rack_aware_reads);
      });
    }
    world.run_for(1s);
  }
  runtime::LeaderStanding& standing(int32_t id) { return static_cast<Served&>(*machine(id).process()).controller.own_standing; }
  void kill(int32_t id, sim::CrashKind kind) {
    machine(id).kill(kind);
    world.run_for(1ms);
  }
  std::shared_ptr<runtime::PartitionDriver> replica(int32_t id, int32_t index = 0) {
    TopicId topic;
    topic.bytes.fill(5);
    return node(id).partitions_->find({topic, index});
  }
  storage::Marks marks(int32_t id, int32_t index = 0) { return replica(id, index)->marks(); }
  std::string log_bytes(int32_t id, int32_t index = 0) {
    std::string out;
    for (auto const& path : machine(id).disk().files()) {
      if (!path.starts_with(fmt::format("/data/{}-{}/", kTopic, index)) || !path.ends_with(".log")) continue;
      auto content = *machine(id).disk().content(path);
      content.resize(std::min(content.size(), static_cast<size_t>(replica(id, index)->size_bytes())));  // what is preallocated
      out += path.substr(path.rfind('/')) + "=" + content + ";";
    }
    return out;
  }
  bool wait_until(std::function<bool()> const& condition, Duration limit = 10s) { return world.run_while_not(condition, limit); }
  bool is_caught_up(int32_t leader, int32_t follower, int32_t index = 0) {
    return wait_until([&] {
      return marks(follower, index).end.offset == marks(leader, index).end.offset &&
             marks(follower, index).high_watermark.offset == marks(leader, index).high_watermark.offset &&
             marks(follower, index).log_start == marks(leader, index).log_start;
    });
  }

  // ---- Requests, without a network

  struct Sent {
    std::shared_ptr<std::string> bytes = std::make_shared<std::string>();
    std::shared_ptr<bool> is_answered = std::make_shared<bool>(false);
  };
  template <protocol::Message M>
  Sent send(int32_t id, M const& request, int16_t version, std::string const& listener = "PLAINTEXT") {
    struct Answer final : net::Answer {
      explicit Answer(Sent s) : sent(std::move(s)) {}
      void send(env::Response response, Duration) override {
        *sent.is_answered = true;
        for (auto& chunk : response.chunks) {
          if (auto const* piece = std::get_if<SharedBytes>(&chunk)) *sent.bytes += as_text(piece->view());
        }
      }
      void send_nothing(Duration) override { *sent.is_answered = true; }
      void close(std::string) override { *sent.is_answered = true; }
      void let_next_produce_start() override {}
      Sent sent;
    };
    auto frame = protocol::encode_request(77, Str("test"), version, request);
    EXPECT_TRUE(frame.ok());
    auto connection = std::make_shared<net::ConnectionInfo>();
    connection->listener_name = listener;
    connection->reactor = &machine(id).node()->reactor(0);
    Sent sent;
    connection->reactor->post([this, id, sent, connection, bytes = std::string(as_text(frame->view().subspan(4)))] {
      net::Request one{SharedBytes::copy_of(as_bytes(bytes)), connection, connection->reactor->now()};
      node(id).broker_->on_request(std::move(one), std::make_unique<Answer>(sent));
    });
    return sent;
  }
  template <protocol::Message M>
  M decode(Sent const& sent, int16_t version) {
    M message;
    auto const& bytes = answers.emplace_back(*sent.bytes);
    Reader in(as_bytes(bytes));
    EXPECT_EQ(in.i32(), 77);
    if (protocol::api_info(M::kKey).response_header_version(version) == 1) in.skip(1);
    EXPECT_TRUE(protocol::decode(in, version, arena, message).ok());
    return message;
  }
  Sent produce(int32_t id, std::string const& value, int16_t acks = -1, int32_t index = 0) {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.append({.timestamp = 1000, .key = std::nullopt, .value = as_bytes(value)});
    auto const records = builder.build();
    ProduceRequest::PartitionProduceData data;
    data.index = index;
    data.records = protocol::Records(ByteView(records));
    ProduceRequest::TopicProduceData topic;
    topic.name = kTopic;
    topic.partition_data = Array(&data, 1);
    ProduceRequest request;
    request.acks = acks;
    request.timeout_ms = 20'000;
    request.topic_data = Array(&topic, 1);
    return send(id, request, kProduceVersion);
  }
  // "error at offset", or "-" while there is no answer.
  std::string answer(Sent const& sent) {
    if (!*sent.is_answered) return "-";
    auto const response = decode<ProduceResponse>(sent, kProduceVersion);
    auto const& one = response.responses[0].partition_responses[0];
    return fmt::format("{} at {}", static_cast<int>(one.error_code), one.base_offset);
  }
  std::string produced(int32_t id, std::string const& value, int16_t acks = -1, int32_t index = 0) {
    auto const sent = produce(id, value, acks, index);
    wait_until([&] { return *sent.is_answered; });
    return answer(sent);
  }

  sim::World world{{.seed = 7, .has_chaos = false}};
  std::vector<sim::Machine*> machines;
  runtime::PartitionManagerOptions options;
  std::map<std::string, std::string> topic_configs;
  std::set<int32_t> fenced;
  std::map<int32_t, std::string> racks;
  bool has_rack_aware_reads = false;
  std::vector<std::string> asked;  // what leaders wanted of the controller
  metadata::ImagePtr image = std::make_shared<metadata::Image const>();
  Arena arena;
  std::deque<std::string> answers;
};

}  // namespace

TEST_F(Replication, followers_hold_what_was_acknowledged_byte_for_byte) {
  assign(LeaderEpoch(3), 1, {1, 2, 3}, {1, 2, 3});
  start({1, 2, 3});
  for (int i = 0; i < 50; ++i) EXPECT_EQ(produced(1, fmt::format("value {}", i)), fmt::format("0 at {}", i));
  EXPECT_EQ(marks(2).end.offset, Offset(50));
  EXPECT_EQ(marks(3).end.offset, Offset(50));
  EXPECT_TRUE(is_caught_up(1, 2));
  EXPECT_TRUE(is_caught_up(1, 3));
  EXPECT_EQ(log_bytes(1), log_bytes(2));
  EXPECT_EQ(log_bytes(1), log_bytes(3));
  EXPECT_EQ(replica(2)->epochs()->entries(), replica(1)->epochs()->entries());
  // A follower that is away holds the mark, and a replica that is not one is not heard.
  kill(3, sim::CrashKind::process);
  auto const waiting = produce(1, "waits");
  world.run_for(2s);
  EXPECT_EQ(answer(waiting), "-");
  EXPECT_EQ(marks(1).high_watermark.offset, Offset(50));
  start({3});
  EXPECT_TRUE(wait_until([&] { return *waiting.is_answered; }));
  EXPECT_EQ(answer(waiting), "0 at 50");
}

TEST_F(Replication, a_leader_of_old_cuts_what_its_successor_has_not) {
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "both have it"), "0 at 0");
  // The follower is gone; the leader alone writes on, and crashes.
  kill(2, sim::CrashKind::process);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(produced(1, "only here", 1), fmt::format("0 at {}", i + 1));
  kill(1, sim::CrashKind::process);
  assign(LeaderEpoch(2), 2, {1, 2}, {2});
  start({2});
  EXPECT_EQ(produced(2, "of the second epoch"), "0 at 1");
  start({1});
  EXPECT_TRUE(is_caught_up(2, 1));
  EXPECT_EQ(log_bytes(1), log_bytes(2));
  EXPECT_EQ(replica(1)->epochs()->entries(), replica(2)->epochs()->entries());
}

// A leadership of before the restart is over: nobody may be answered in its epoch by what is left of it.
TEST_F(Replication, roles_wait_for_the_registration_of_this_life) {
  assign(LeaderEpoch(3), 1, {1}, {1}, 2);
  start({1});
  for (int i = 0; i < 3; ++i) produced(1, "old");
  bool is_deleted = false;
  machine(1).node()->control_reactor().post([&] {
    replica(1)->delete_records(Offset(2), {}, [&](ErrorCode, Offset) { is_deleted = true; }, node(1).run_lists_.control());
  });
  EXPECT_TRUE(wait_until([&] { return is_deleted; }));
  kill(1, sim::CrashKind::process);
  Uuid incarnation;
  incarnation.bytes.fill(2);
  options.incarnation_id = incarnation;
  options.retention_check_interval = 100ms;  // other work on the log goes on
  start({1});
  EXPECT_EQ(replica(1)->status(), runtime::PartitionStatus::opening);
  // What is told between the start and the registration is told to a replica that still waits.
  assign(LeaderEpoch(4), 1, {1}, {1}, 2);
  world.run_for(1s);
  EXPECT_EQ(replica(1)->status(), runtime::PartitionStatus::opening);
  EXPECT_EQ(produced(1, "too early"), "6 at -1");
  register_again(1, incarnation);
  world.run_for(1s);
  EXPECT_EQ(produced(1, "new"), "0 at 3");
  for (int32_t index = 0; index < 2; ++index) {
    EXPECT_EQ(replica(1, index)->status(), runtime::PartitionStatus::leader);
    EXPECT_EQ(marks(1, index).epoch, LeaderEpoch(4));
  }
}

// Elections without a record: epochs that nobody wrote in leave no endless cut behind.
TEST_F(Replication, epochs_without_records_do_not_keep_a_follower_from_fetching) {
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "first"), "0 at 0");
  for (int32_t epoch = 2; epoch <= 6; ++epoch) {
    assign(LeaderEpoch(epoch), 1 + epoch % 2, {1, 2}, {1, 2});
    world.run_for(epoch == 4 ? 1ms : 100ms);
  }
  assign(LeaderEpoch(7), 2, {1, 2}, {1, 2});
  world.run_for(50ms);
  EXPECT_EQ(produced(2, "second"), "0 at 1");
  EXPECT_TRUE(is_caught_up(2, 1));
  EXPECT_EQ(log_bytes(1), log_bytes(2));
}

TEST_F(Replication, a_follower_behind_its_leaders_log_start_begins_there) {
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  for (int i = 0; i < 3; ++i) produced(1, "old");
  EXPECT_TRUE(is_caught_up(1, 2));
  kill(2, sim::CrashKind::process);
  fenced.insert(2);
  assign(LeaderEpoch(1), 1, {1, 2}, {1});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(produced(1, "newer"), fmt::format("0 at {}", i + 3));
  ErrorCode error{};
  machine(1).node()->control_reactor().post([&] {
    replica(1)->delete_records(Offset(6), {}, [&](ErrorCode e, Offset) { error = e; }, node(1).run_lists_.control());
  });
  world.run_for(100ms);
  EXPECT_EQ(marks(1).log_start, Offset(6));
  fenced.clear();
  assign(LeaderEpoch(1), 1, {1, 2}, {1});
  start({2});
  EXPECT_TRUE(is_caught_up(1, 2));
  EXPECT_EQ(marks(2).log_start, Offset(6));
  EXPECT_EQ(marks(2).end.offset, Offset(8));
}

TEST_F(Replication, deleted_records_are_gone_on_live_followers_before_the_answer) {
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  for (int i = 0; i < 3; ++i) produced(1, "old");
  std::string waits, told;
  machine(1).node()->control_reactor().post([&] {
    replica(1)->delete_records(
        Offset(-1), [&] { waits = fmt::format("follower at {}", marks(2).log_start); },
        [&](ErrorCode e, Offset low) {
          told = fmt::format("{} {} follower at {}", static_cast<int>(e), low, marks(2).log_start);
        },
        node(1).run_lists_.control());
  });
  EXPECT_TRUE(wait_until([&] { return !told.empty(); }));
  EXPECT_EQ(waits, "follower at 0");
  EXPECT_EQ(told, "0 3 follower at 3");
}

TEST_F(Replication, a_follower_fetches_again_only_after_its_own_sync_where_acks_wait_for_syncs) {
  topic_configs["flush.messages"] = "1";
  machine(2).disk().speed().sync = 300ms;
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  auto const sent = produce(1, "to be synced");
  world.run_for(200ms);
  EXPECT_EQ(answer(sent), "-");
  EXPECT_EQ(marks(2).end.offset, Offset(1));
  EXPECT_TRUE(wait_until([&] { return *sent.is_answered; }));
  // What it has said it has is there after a power loss.
  kill(2, sim::CrashKind::power_loss);
  start({2});
  EXPECT_EQ(marks(2).end.offset, Offset(1));
}

// A partition that comes new is fetched at once, not when the Fetch that waits at the leader comes back.
TEST_F(Replication, a_new_partition_does_not_wait_for_the_fetch_that_is_parked) {
  options.replication.fetch.wait_max = 5s;
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "first"), "0 at 0");
  world.run_for(1s);
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2}, 2);
  world.run_for(50ms);
  auto const sent = produce(1, "to the second partition", -1, 1);
  EXPECT_TRUE(wait_until([&] { return *sent.is_answered; }, 200ms));
  EXPECT_EQ(answer(sent), "0 at 0");
}

// A session holds an entry for each partition: those that were given up would add up to much memory.
TEST_F(Replication, a_follower_that_begins_a_new_session_ends_its_old_one) {
  options.replication.fetch.wait_max = 5s;
  assign(LeaderEpoch(1), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "first"), "0 at 0");
  for (int32_t count = 2; count <= 5; ++count) {
    world.run_for(1s);
    assign(LeaderEpoch(1), 1, {1, 2}, {1, 2}, count);  // its parked Fetch is given up for one with the new partition
  }
  world.run_for(10s);
  auto const figures = node(1).broker_->request_figures();
  EXPECT_EQ(figures.fetch_sessions, 1);
  EXPECT_EQ(figures.fetch_session_partitions, 5);
}

TEST_F(Replication, who_is_silent_leaves_the_in_sync_set_and_comes_back_when_it_has_caught_up) {
  topic_configs["min.insync.replicas"] = "2";
  options.replication.lag_max = 2s;
  assign(LeaderEpoch(4), 1, {1, 2, 3}, {1, 2, 3});
  start({1, 2, 3});
  EXPECT_EQ(produced(1, "all"), "0 at 0");
  kill(3, sim::CrashKind::process);
  auto const sent = produce(1, "waits for the third");
  world.run_for(1s);
  EXPECT_EQ(answer(sent), "-");
  EXPECT_TRUE(wait_until([&] { return *sent.is_answered; }, 3s));
  EXPECT_EQ(answer(sent), "0 at 1");
  EXPECT_EQ(asked, (std::vector<std::string>{"1@10: 1@10 2@20"}));
  auto const figures = replica(1)->replication_figures();
  EXPECT_EQ(fmt::format("{} {} {}", figures.replicas, figures.in_sync, figures.is_under_min_in_sync), "3 2 false");

  // Below the minimum nothing is taken that all must have, and what was taken is not acknowledged.
  kill(2, sim::CrashKind::process);
  auto const hangs = produce(1, "nobody has it");
  world.run_for(4s);
  EXPECT_EQ(asked.back(), "1@10: 1@10");
  EXPECT_EQ(answer(hangs), "-");
  EXPECT_EQ(produced(1, "refused"), fmt::format("{} at -1", static_cast<int>(ErrorCode::not_enough_replicas)));
  EXPECT_EQ(produced(1, "by the leader alone", 1), "0 at 3");
  EXPECT_EQ(marks(1).high_watermark.offset, Offset(2));

  start({2, 3});
  EXPECT_TRUE(wait_until([&] { return *hangs.is_answered; }, 3s));
  EXPECT_EQ(answer(hangs), "0 at 2");
  EXPECT_TRUE(wait_until([&] { return replica(1)->replication_figures().in_sync == 3; }));
  EXPECT_EQ(produced(1, "all again"), "0 at 4");
  EXPECT_EQ(node(1).partitions_->replication().isr_changes().shrinks(), 2);
  EXPECT_EQ(node(1).partitions_->replication().isr_changes().expands(), 2);
}

// The leader was deposed before min.insync.replicas was lowered; it hears of both at once.
TEST_F(Replication, a_deposed_leader_acknowledges_nothing_by_later_rules) {
  topic_configs["min.insync.replicas"] = "2";
  options.replication.lag_max = 2s;
  assign(LeaderEpoch(4), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "all"), "0 at 0");
  kill(2, sim::CrashKind::process);
  auto const hangs = produce(1, "nobody else has it");
  world.run_for(4s);
  EXPECT_EQ(asked.back(), "1@10: 1@10");
  EXPECT_EQ(answer(hangs), "-");
  // 2 was eligible, leads now, and then the operator lowers the number.
  topic_configs["min.insync.replicas"] = "1";
  assign(LeaderEpoch(5), 2, {1, 2}, {2});
  world.run_for(100ms);
  EXPECT_EQ(answer(hangs).substr(0, 2), "6 ") << answer(hangs);
}

TEST_F(Replication, a_consumer_is_sent_to_the_replica_of_its_rack) {
  has_rack_aware_reads = true;
  racks = {{1, "a"}, {2, "b"}};
  assign(LeaderEpoch(2), 1, {1, 2}, {1, 2});
  start({1, 2});
  for (int i = 0; i < 4; ++i) produced(1, "one");
  EXPECT_TRUE(is_caught_up(1, 2));
  auto const sent_to = [&](std::string const& rack, int64_t offset, int16_t version) {
    FetchRequest::FetchPartition partition;
    partition.fetch_offset = offset;
    partition.partition_max_bytes = 1 << 20;
    FetchRequest::FetchTopic topic;
    topic.topic = kTopic;
    topic.partitions = Array(&partition, 1);
    FetchRequest request;
    request.max_bytes = 1 << 20;
    request.rack_id = Str(rack);
    request.topics = Array(&topic, 1);
    auto const sent = send(1, request, version);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<FetchResponse>(sent, version);
    auto const& data = response.responses[0].partitions[0];
    return fmt::format("{} {}", data.preferred_read_replica, data.records.view().size() > 0 ? "records" : "nothing");
  };
  EXPECT_EQ(sent_to("b", 0, kFetchVersion), "2 nothing");
  EXPECT_EQ(sent_to("a", 0, kFetchVersion), "-1 records");
  EXPECT_EQ(sent_to("c", 0, kFetchVersion), "-1 records");
  EXPECT_EQ(sent_to("", 0, kFetchVersion), "-1 records");
  EXPECT_EQ(sent_to("b", 9, kFetchVersion), "-1 nothing");
}

TEST_F(Replication, consumers_read_from_followers_up_to_what_they_know_as_committed) {
  assign(LeaderEpoch(2), 1, {1, 2}, {1, 2});
  start({1, 2});
  for (int i = 0; i < 4; ++i) produced(1, "one");
  EXPECT_TRUE(is_caught_up(1, 2));
  auto const read = [&](int32_t epoch, int16_t version) {
    FetchRequest::FetchPartition partition;
    partition.fetch_offset = 0;
    partition.current_leader_epoch = epoch;
    partition.partition_max_bytes = 1 << 20;
    FetchRequest::FetchTopic topic;
    topic.topic = kTopic;
    topic.partitions = Array(&partition, 1);
    FetchRequest request;
    request.max_bytes = 1 << 20;
    request.topics = Array(&topic, 1);
    auto const sent = send(2, request, version);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<FetchResponse>(sent, version);
    auto const& data = response.responses[0].partitions[0];
    return fmt::format("{} mark {}", static_cast<int>(data.error_code), data.high_watermark);
  };
  EXPECT_EQ(read(2, kFetchVersion), "0 mark 4");
  EXPECT_EQ(read(1, kFetchVersion), "74 mark -1");
  EXPECT_EQ(read(3, kFetchVersion), "75 mark -1");
  EXPECT_EQ(read(2, 10), "6 mark -1");
}

namespace {

// KIP-951: the answer to who asked the wrong broker names the right one, its epoch, and where it listens.
class LeaderHints : public Replication {
 protected:
  // "error leader@epoch" of each partition, then "node=host:port/rack" of each endpoint.
  template <class Partitions, class Endpoints>
  static std::string text(Partitions const& partitions, Endpoints const& endpoints) {
    std::string out;
    for (auto const& p : partitions) {
      auto const& leader = p.current_leader;
      out += fmt::format("{} {}@{}, ", static_cast<int>(p.error_code), leader.leader_id, leader.leader_epoch);
    }
    out += "at";
    for (auto const& e : endpoints) out += fmt::format(" {}={}:{}/{}", e.node_id, e.host, e.port, e.rack.value_or("-"));
    return out;
  }
  std::string produced(int32_t id, int16_t version, std::string const& listener = "PLAINTEXT") {
    record::BatchBuilder builder{record::BatchOptions{}};
    builder.append({.timestamp = 1000, .key = std::nullopt, .value = as_bytes("value")});
    auto const records = builder.build();
    std::array<ProduceRequest::PartitionProduceData, 2> data;
    for (int32_t i = 0; i < 2; ++i) {
      data[static_cast<size_t>(i)].index = i;
      data[static_cast<size_t>(i)].records = protocol::Records(ByteView(records));
    }
    ProduceRequest::TopicProduceData topic;
    topic.name = kTopic;
    topic.topic_id = image->find_topic(kTopic)->id;
    topic.partition_data = Array(data.data(), data.size());
    ProduceRequest request;
    request.acks = -1;
    request.timeout_ms = 5'000;
    request.topic_data = Array(&topic, 1);
    auto const sent = send(id, request, version, listener);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<ProduceResponse>(sent, version);
    return text(response.responses[0].partition_responses, response.node_endpoints);
  }
  std::string fetched(int32_t id, int16_t version, int32_t epoch, std::string const& listener = "PLAINTEXT") {
    std::array<FetchRequest::FetchPartition, 2> partitions;
    for (int32_t i = 0; i < 2; ++i) {
      partitions[static_cast<size_t>(i)].partition = i;
      partitions[static_cast<size_t>(i)].current_leader_epoch = epoch;
      partitions[static_cast<size_t>(i)].partition_max_bytes = 1 << 20;
    }
    FetchRequest::FetchTopic topic;
    topic.topic = kTopic;
    topic.topic_id = image->find_topic(kTopic)->id;
    topic.partitions = Array(partitions.data(), partitions.size());
    FetchRequest request;
    request.max_bytes = 1 << 20;
    request.topics = Array(&topic, 1);
    auto const sent = send(id, request, version, listener);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<FetchResponse>(sent, version);
    return text(response.responses[0].partitions, response.node_endpoints);
  }
};

}  // namespace

TEST_F(LeaderHints, name_the_leader_its_epoch_and_its_address_once) {
  racks = {{1, "a"}};
  assign(LeaderEpoch(4), 1, {1, 2}, {1, 2}, 2);
  start({1, 2, 3});
  for (int16_t const version : {10, 11, 12, 13}) {
    SCOPED_TRACE(version);
    EXPECT_EQ(produced(2, version), "6 1@4, 6 1@4, at 1=broker1:9092/a");  // a follower
    EXPECT_EQ(produced(3, version), "6 1@4, 6 1@4, at 1=broker1:9092/a");  // no replica
    EXPECT_EQ(produced(1, version), "0 -1@-1, 0 -1@-1, at");
  }
  for (int16_t const version : {16, 17, 18}) {
    SCOPED_TRACE(version);
    EXPECT_EQ(fetched(3, version, 4), "6 1@4, 6 1@4, at 1=broker1:9092/a");
    EXPECT_EQ(fetched(1, version, 3), "74 1@4, 74 1@4, at 1=broker1:9092/a");  // FENCED_LEADER_EPOCH
    EXPECT_EQ(fetched(1, version, 5), "75 -1@-1, 75 -1@-1, at");  // who asks knows of a later leader than this broker
    EXPECT_EQ(fetched(2, version, 4), "0 -1@-1, 0 -1@-1, at");    // a follower serves consumers
  }
  // Before these versions there was no place for it.
  EXPECT_EQ(produced(2, 9), "6 -1@-1, 6 -1@-1, at");
  EXPECT_EQ(fetched(3, 15, 4), "6 -1@-1, 6 -1@-1, at");
}

TEST_F(LeaderHints, leave_out_what_is_not_known) {
  assign(LeaderEpoch(4), 1, {1, 2}, {1, 2}, 2);
  start({1, 2, 3});
  // The leader has no address for who came through this listener.
  EXPECT_EQ(produced(2, 10, "ELSEWHERE"), "6 1@4, 6 1@4, at");
  EXPECT_EQ(fetched(3, 16, 4, "ELSEWHERE"), "6 1@4, 6 1@4, at");
  EXPECT_EQ(produced(2, 10), "6 1@4, 6 1@4, at 1=broker1:9092/-");
  // Nobody leads.
  assign(LeaderEpoch(5), -1, {1, 2}, {1, 2}, 2);
  world.run_for(1s);
  EXPECT_EQ(produced(1, 10), "6 -1@5, 6 -1@5, at");
  EXPECT_EQ(fetched(3, 16, -1), "6 -1@5, 6 -1@5, at");
}

// It has not heard since whether another replica leads. What has no other replica is led here all the same.
TEST_F(Replication, a_leader_that_did_not_run_tells_no_consumer_its_mark) {
  auto const offset_at = [&](int64_t timestamp, int16_t version, int32_t replica = -1) {
    ListOffsetsRequest::ListOffsetsPartition partition;
    partition.timestamp = timestamp;
    ListOffsetsRequest::ListOffsetsTopic topic;
    topic.name = kTopic;
    topic.partitions = Array(&partition, 1);
    ListOffsetsRequest request;
    request.replica_id = replica;
    request.topics = Array(&topic, 1);
    auto const sent = send(1, request, version);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<ListOffsetsResponse>(sent, version);
    auto const& one = response.topics[0].partitions[0];
    return fmt::format("{} at {}", static_cast<int>(one.error_code), one.offset);
  };
  auto const fetched = [&] {
    constexpr int16_t kVersion = 16;
    FetchRequest::FetchPartition partition;
    partition.partition_max_bytes = 1 << 20;
    FetchRequest::FetchTopic topic;
    topic.topic_id.bytes.fill(5);
    topic.partitions = Array(&partition, 1);
    FetchRequest request;
    request.max_bytes = 1 << 20;
    request.topics = Array(&topic, 1);
    auto const sent = send(1, request, kVersion);
    wait_until([&] { return *sent.is_answered; });
    auto const response = decode<FetchResponse>(sent, kVersion);
    auto const& data = response.responses[0].partitions[0];
    return fmt::format("{} mark {} hint {}", static_cast<int>(data.error_code), data.high_watermark, data.current_leader.leader_id);
  };
  constexpr int64_t kLatest = -1, kEarliest = -2, kLargestTimestamp = -3;
  constexpr Mono kDoubt{Duration::min()};
  assign(LeaderEpoch(2), 1, {1, 2}, {1, 2});
  start({1, 2});
  EXPECT_EQ(produced(1, "one"), "0 at 0");
  EXPECT_EQ(offset_at(kLatest, 7), "0 at 1");
  EXPECT_EQ(offset_at(kLargestTimestamp, 7), "0 at 0");
  EXPECT_EQ(fetched(), "0 mark 1 hint -1");

  standing(1).set(kDoubt);
  EXPECT_EQ(offset_at(kLatest, 7), "78 at -1");
  EXPECT_EQ(offset_at(kLatest, 4), "5 at -1");
  EXPECT_EQ(offset_at(kLargestTimestamp, 7), "78 at -1");
  EXPECT_EQ(offset_at(5000, 7), "78 at -1");
  EXPECT_EQ(offset_at(1000, 7), "0 at 0");
  EXPECT_EQ(offset_at(kEarliest, 7), "0 at 0");
  EXPECT_EQ(offset_at(kLatest, 7, 2), "0 at 1");
  EXPECT_EQ(fetched(), "6 mark -1 hint -1");
  // Followers in its epoch tell it that it leads; without any it would tell itself.
  EXPECT_EQ(produced(1, "two"), "0 at 1");
  EXPECT_TRUE(is_caught_up(1, 2));
  kill(2, sim::CrashKind::process);
  fenced = {2};
  assign(LeaderEpoch(2), 1, {1, 2}, {1});
  world.run_for(100ms);
  EXPECT_EQ(produced(1, "alone"), "6 at -1");
  EXPECT_EQ(produced(1, "alone", 1), "0 at 2");
  standing(1).set(Mono::never());
  EXPECT_EQ(produced(1, "alone"), "0 at 3");
  EXPECT_EQ(offset_at(kLatest, 7), "0 at 4");

  standing(1).set(kDoubt);
  assign(LeaderEpoch(2), 1, {1}, {1});
  world.run_for(100ms);
  EXPECT_EQ(offset_at(kLatest, 7), "0 at 4");
  EXPECT_EQ(fetched(), "0 mark 4 hint -1");
}

}  // namespace millrace::broker
