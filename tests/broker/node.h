// A broker without a network, on the simulated environment: requests go in as frames and answers come out as decoded
// messages. Its topics come from an image that the test writes.
#pragma once
#include <gtest/gtest.h>

#include <map>

#include "millrace/broker/broker.h"
#include "millrace/metadata/delta.h"
#include "millrace/record/builder.h"
#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/partition_manager.h"
#include "sim/node.h"
#include "sim/world.h"

namespace millrace::broker {

// What came back for one request.
struct Outcome {
  bool is_answered = false;  // in any way
  bool is_closed = false;
  bool is_nothing = false;
  bool may_next_start = false;
  std::string bytes;  // of the response, with its header
  Duration throttle{};
};

// Answers nothing, unless the test gives it a script.
class ScriptedController final : public runtime::ControllerClient {
 public:
  std::function<metadata::ControllerAnswer(metadata::ControllerRequest const&)> script;

  std::vector<metadata::fencing::HeartbeatConnectionEnded> ended;
  void heartbeat_connection_ended(metadata::fencing::HeartbeatConnectionEnded one) override { ended.push_back(one); }

  void submit(metadata::ControllerRequest request, Mono, env::Reactor& back,
              Callback<void(metadata::ControllerAnswer)> done) override {
    if (!script) return;
    back.post([answer = script(request), done = std::move(done)]() mutable { std::move(done)(std::move(answer)); });
  }
  bool is_active() const override { return active; }
  void forward(SharedBytes frame, runtime::ForwardedFrom from, Mono, env::Reactor& back,
               Callback<void(std::optional<SharedBytes>)> done) override {
    forwarded.push_back({std::string(as_text(frame.view())), std::move(from)});
    back.post([made = forward_answer, done = std::move(done)]() mutable { std::move(done)(std::move(made)); });
  }
  void next_producer_id(Mono, env::Reactor&, Callback<void(Result<ProducerId>)>) override {}
  runtime::QuorumDescription describe_quorum() const override { return {}; }
  BrokerId active_controller() const override { return BrokerId(1); }

  std::atomic<bool> active{true};
  std::vector<std::pair<std::string, runtime::ForwardedFrom>> forwarded;
  std::optional<SharedBytes> forward_answer;
};

// The objects of one life of the broker.
class BrokerProcess final : public sim::Process {
 public:
  BrokerProcess(sim::NodeEnv& env, metadata::ImagePtr first_image, runtime::PartitionManagerOptions options,
                bool has_rack_aware_reads = false)
      : env_(env), run_lists_(env), files_(env.disk(), 64) {
    storage::LogDirectoryOptions directory;
    directory.path = "/data";
    directory.cluster_id = "AAAAAAAAAAAAAAAAAAAAAQ";
    directory.node_id = options.node_id;
    directory.fresh_directory_id = env.random_uuid();
    directory.boot_id = env.boot_id();
    directory.now = env.wall_now();
    directory.low_space_bytes = 0;
    directory.preallocate_bytes = 0;
    directory.hooks = &env.hooks();
    auto opened = storage::LogDirectory::open(env.disk(), files_, std::move(directory));
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    directory_ = std::move(*opened);
    partitions_ = std::make_unique<runtime::PartitionManager>(env, run_lists_, std::vector{directory_.get()}, options);
    directory_->set_offline_handler([this](std::string const&) {
      env_.control_reactor().post([this] { partitions_->on_directory_offline(*directory_); });
    });
    NodeConfig config;
    config.node_id = options.node_id;
    config.has_rack_aware_reads = has_rack_aware_reads;
    config.cluster_id = "AAAAAAAAAAAAAAAAAAAAAQ";
    config.listeners = {{"PLAINTEXT", "localhost", 9092, "PLAINTEXT"},
                        {"CONTROLLER", "localhost", 9093, "PLAINTEXT", ListenerKind::controller}};
    broker_ = std::make_unique<Broker>(env, config, run_lists_, *partitions_, controller_,
                                       std::make_shared<metadata::Image const>());
    partitions_->start([this, first_image](Status status) {
      EXPECT_TRUE(status.ok());
      if (first_image == nullptr) return;  // the metadata log has nothing to say yet
      publish(std::make_shared<metadata::Image const>(), first_image);
    });
  }

  void publish(metadata::ImagePtr before, metadata::ImagePtr after) {
    partitions_->on_publication({before, after, metadata::compare_images(*before, *after)});
    broker_->on_publication({before, after, metadata::compare_images(*before, *after)});
    broker_->publish(after, env_.control_reactor(), [] {});
  }
  void stop(Task done) override {
    auto finished = std::make_shared<Task>(std::move(done));
    partitions_->stop(broker_epoch_, [finished](Status status) {
      EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
      std::move (*finished)();
    });
  }

  sim::NodeEnv& env_;
  int64_t broker_epoch_ = 1;
  runtime::RunLists run_lists_;
  storage::FileCache files_;
  ScriptedController controller_;
  std::unique_ptr<storage::LogDirectory> directory_;
  std::unique_ptr<runtime::PartitionManager> partitions_;
  std::unique_ptr<Broker> broker_;
};

class BrokerTest : public testing::Test {
 protected:
  static constexpr auto kLongEnough = 10s;

  explicit BrokerTest(uint64_t seed = 1, bool has_chaos = false) : world({.seed = seed, .has_chaos = has_chaos}) {
    options.node_id = BrokerId(1);
  }

  // ---- The image

  metadata::Image& edit() {
    before_ = image_;
    edited_ = std::make_shared<metadata::Image>(*image_);
    return *edited_;
  }
  void commit() {
    edited_->offset += 1;
    image_ = edited_;
    if (machine.is_running()) {
      machine.node()->control_reactor().post([this, before = before_, after = image_] { process().publish(before, after); });
    }
    world.run_for(1s);
  }
  metadata::ImagePtr const& image() const { return image_; }
  static TopicId topic_id(std::string_view name) {
    TopicId id;
    id.bytes[0] = 1;
    for (size_t i = 0; i < name.size() && i < 15; ++i) id.bytes[i + 1] = static_cast<uint8_t>(name[i]);
    return id;
  }
  void add_topic(std::string const& name, int32_t partitions, std::map<std::string, std::string> configs = {},
                 std::vector<BrokerId> replicas = {BrokerId(1)}) {
    auto& image = edit();
    auto topic = std::make_shared<metadata::TopicImage>();
    topic->id = topic_id(name);
    topic->name = name;
    for (int32_t i = 0; i < partitions; ++i) {
      metadata::PartitionImage partition;
      partition.replicas = replicas;
      partition.isr = replicas;
      partition.directories.assign(replicas.size(), metadata::kDirectoryUnassigned);
      partition.leader = BrokerId(1);
      topic->partitions.set(i, std::make_shared<metadata::PartitionImage const>(partition));
    }
    image.topics.set(name, topic);
    image.topics_by_id.set(topic->id, topic);
    if (!configs.empty()) {
      metadata::ConfigMap map;
      for (auto const& [key, value] : configs) map.set(key, value);
      image.configs.set({metadata::ConfigResourceType::topic, name}, map);
    }
    commit();
  }

  // ---- The process

  void start() {
    machine.start([this](sim::NodeEnv& env) { return std::make_unique<BrokerProcess>(env, image_, options); });
    world.run_for(1s);
    connect();
  }
  BrokerProcess& process() { return static_cast<BrokerProcess&>(*machine.process()); }
  void connect(std::string listener = "PLAINTEXT") {
    connection = std::make_shared<net::ConnectionInfo>();
    connection->listener_name = std::move(listener);
    connection->reactor = &machine.node()->reactor(0);
  }
  std::shared_ptr<runtime::PartitionDriver> partition(std::string const& topic, int32_t index) {
    return process().partitions_->find({topic_id(topic), index});
  }

  // ---- Requests

  std::shared_ptr<Outcome> send_frame(std::string frame) {
    auto outcome = std::make_shared<Outcome>();
    struct Answer final : net::Answer {
      explicit Answer(std::shared_ptr<Outcome> o) : outcome(std::move(o)) {}
      ~Answer() override {
        if (!outcome->is_answered) outcome->is_answered = outcome->is_closed = true;
      }
      void send(env::Response response, Duration throttle) override {
        ASSERT_FALSE(outcome->is_answered);
        outcome->is_answered = true;
        outcome->throttle = throttle;
        for (auto& chunk : response.chunks) {
          if (auto const* bytes = std::get_if<SharedBytes>(&chunk)) {
            outcome->bytes += as_text(bytes->view());
          } else {
            auto& region = std::get<env::FileRegion>(chunk);
            std::string data(static_cast<size_t>(region.bytes), '\0');
            auto read = region.lease->file().read(region.position, std::as_writable_bytes(std::span(data)));
            ASSERT_TRUE(read.ok());
            outcome->bytes += data;
          }
        }
      }
      void send_nothing(Duration) override { outcome->is_answered = outcome->is_nothing = true; }
      void close(std::string) override { outcome->is_answered = outcome->is_closed = true; }
      void let_next_produce_start() override { outcome->may_next_start = true; }
      std::shared_ptr<Outcome> outcome;
    };
    connection->reactor->post([this, outcome, frame = std::move(frame)] {
      net::Request request{SharedBytes::copy_of(as_bytes(frame)), connection, connection->reactor->now()};
      process().broker_->on_request(std::move(request), std::make_unique<Answer>(outcome));
    });
    return outcome;
  }
  template <protocol::Message M>
  std::shared_ptr<Outcome> send(M const& request, int16_t version) {
    auto frame = protocol::encode_request(77, Str("test"), version, request);
    EXPECT_TRUE(frame.ok());
    return send_frame(std::string(as_text(frame->view().subspan(4))));
  }
  bool wait(std::shared_ptr<Outcome> const& outcome, Duration limit = kLongEnough) {
    return world.run_while_not([&] { return outcome->is_answered; }, limit);
  }
  template <protocol::Message M>
  M decode(Outcome const& outcome, int16_t version) {
    M message;
    auto const& bytes = frames_.emplace_back(outcome.bytes);
    Reader in(as_bytes(bytes));
    EXPECT_EQ(in.i32(), 77);
    if (protocol::api_info(M::kKey).response_header_version(version) == 1) in.skip(1);
    auto const status = protocol::decode(in, version, arena_, message);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
    EXPECT_TRUE(in.at_end());
    return message;
  }
  template <protocol::Message R, protocol::Message M>
  R call(M const& request, int16_t version) {
    auto const outcome = send(request, version);
    EXPECT_TRUE(wait(outcome));
    EXPECT_FALSE(outcome->is_closed);
    return decode<R>(*outcome, version);
  }

  sim::World world;
  sim::Machine& machine = world.add_machine("broker");
  runtime::PartitionManagerOptions options;
  std::shared_ptr<net::ConnectionInfo> connection;
  Arena arena_;

 private:
  std::deque<std::string> frames_;
  metadata::ImagePtr image_ = std::make_shared<metadata::Image const>();
  metadata::ImagePtr before_;
  std::shared_ptr<metadata::Image> edited_;
};

}  // namespace millrace::broker
