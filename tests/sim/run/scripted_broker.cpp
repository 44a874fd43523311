#include "sim/run/scripted_broker.h"

#include "millrace/broker/broker.h"
#include "millrace/net/net_server.h"
#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/driver.h"
#include "millrace/runtime/partition_manager.h"
#include "millrace/storage/log_directory.h"
#include "sim/run/follower.h"

namespace millrace::sim {
namespace {

constexpr char const* kClusterId = "sim-cluster";
constexpr char const* kListener = "PLAINTEXT";

// Nobody may change metadata but the scenario.
class RefusingController final : public runtime::ControllerClient {
 public:
  explicit RefusingController(int64_t first_producer_id) : next_id_(first_producer_id) {}
  void submit(metadata::ControllerRequest request, Mono, env::Reactor& back,
              Callback<void(metadata::ControllerAnswer)> done) override {
    auto answer = metadata::error_answer(request, {ErrorCode::not_controller, std::nullopt});
    back.post([answer = std::move(answer), done = std::move(done)]() mutable { std::move(done)(std::move(answer)); });
  }
  void next_producer_id(Mono, env::Reactor& back, Callback<void(Result<ProducerId>)> done) override {
    back.post([id = ProducerId(next_id_++), done = std::move(done)]() mutable { std::move(done)(id); });
  }
  runtime::QuorumDescription describe_quorum() const override { return {}; }
  BrokerId active_controller() const override { return kNoBroker; }

 private:
  int64_t next_id_;
};

class Node final : public ScriptedBroker {
 public:
  Node(NodeEnv& env, uint16_t port, metadata::ImagePtr first, Configure configure)
      : env_(env), port_(port), configure_(std::move(configure)), image_(std::make_shared<metadata::Image>()), first_(std::move(first)), run_lists_(std::make_unique<runtime::RunLists>(env)),
        controller_(static_cast<int64_t>(env.life()) * 1'000'000) {
    auto result = std::make_shared<Result<std::unique_ptr<storage::LogDirectory>>>(Error{});
    files_ = std::make_unique<storage::FileCache>(env_.disk(), 16 + env_.random("descriptors").below(64));
    env_.pool(kDataDirectory)
        .run(env_.control_reactor(),
             [this, result] {
               storage::LogDirectoryOptions options;
               options.path = kDataDirectory;
               options.cluster_id = kClusterId;
               options.node_id = BrokerId(kBrokerId);
               options.fresh_directory_id.bytes.fill(9);
               options.boot_id = env_.boot_id();
               options.now = static_cast<env::Env&>(env_).wall_now();
               options.low_space_bytes = 0;
               options.log = &env_.log();
               options.hooks = &env_.hooks();
               *result = storage::LogDirectory::open(env_.disk(), *files_, options);
             },
             [this, result] {
               if (!result->ok()) return env_.log().error("node", "open: {}", result->error().message);
               directory_ = std::move(**result);
               directory_->set_offline_handler([this](std::string const&) {
                 env_.control_reactor().post([this] {
                   if (partitions_) partitions_->on_directory_offline(*directory_);
                 });
               });
               come_up();
             });
  }
  ~Node() override {
    // Reverse order of making.
    net_.reset();
    broker_.reset();
    partitions_.reset();
    run_lists_.reset();  // a driver that was to run still holds its log's files
    directory_.reset();
    files_.reset();
  }

  void publish(metadata::ImagePtr image, Task published) override {
    if (broker_ == nullptr) {
      // Still coming up: it starts with this one.
      first_ = std::move(image);
      waiting_.push_back(std::move(published));
      return;
    }
    metadata::Publication publication;
    publication.before = std::exchange(image_, image);
    publication.after = image_;
    publication.delta = metadata::compare_images(*publication.before, *publication.after);
    partitions_->on_publication(publication);
    broker_->on_publication(publication);
    broker_->publish(image_, env_.control_reactor(), std::move(published));
  }
  void settle(Task done) override {
    auto const drivers = partitions_->all();
    auto left = std::make_shared<size_t>(drivers.size());
    auto shared = std::make_shared<Task>(std::move(done));
    for (auto const& driver : drivers) {
      // Any question that waits for its turn at the log.
      driver->describe_producers(
          [this, left, shared](ErrorCode, runtime::PartitionDriver::Producers const&) {
            env_.control_reactor().post([left, shared] {
              if (--*left == 0) std::move (*shared)();
            });
          },
          run_lists_->control());
    }
  }
  bool is_serving() const override { return net_ != nullptr; }
  int64_t log_end(TopicIdPartition const& partition) const override {
    return partitions_ ? log_end_of(*partitions_, partition) : -1;
  }
  std::string describe() const override { return partitions_ ? describe_partitions(*partitions_) : " still coming up"; }

  void stop(Task done) override {
    if (!net_) return std::move(done)();
    auto& back = env_.control_reactor();
    broker_->stop_groups();
    net_->stop(back.now() + 5s, back, [this, done = std::move(done)]() mutable {
      partitions_->stop(1, [done = std::move(done)](Status) mutable { std::move(done)(); });
    });
  }

 private:
  void come_up() {
    runtime::PartitionManagerOptions options;
    options.node_id = BrokerId(kBrokerId);
    options.retention_check_interval = 10s;
    options.cleaner.backoff = 500ms;
    partitions_ = std::make_unique<runtime::PartitionManager>(env_, *run_lists_,
                                                              std::vector{directory_.get()}, options);
    partitions_->start([this](Status status) {
      if (!status.ok()) return env_.log().error("node", "start: {}", status.error().message);
      broker::NodeConfig config;
      config.node_id = BrokerId(kBrokerId);
      config.cluster_id = kClusterId;
      config.listeners.push_back({kListener, "", port_, "PLAINTEXT", broker::ListenerKind::broker});
      auto random = env_.random("config");
      config.region_bytes_min = random.chance(0.5) ? 1 : 1 << static_cast<int>(random.below(17));
      if (configure_) configure_(config);
      broker_ = std::make_unique<broker::Broker>(env_, config, *run_lists_, *partitions_, controller_, image_);
      publish(first_, [this] {
        partitions_->when_all_open([this] {
          net_ = std::make_unique<net::NetServer>(env_, net::NetOptions{});
          net::ListenerOptions listener;
          listener.name = kListener;
          listener.addresses.push_back({"0.0.0.0", port_});
          if (auto listening = net_->listen(listener); !listening.ok()) {
            env_.log().error("node", "listen: {}", listening.error().message);
          }
          net_->open(*broker_);
          for (auto& task : std::exchange(waiting_, {})) env_.control_reactor().post(std::move(task));
        });
      });
    });
  }

  NodeEnv& env_;
  uint16_t port_;
  Configure configure_;
  metadata::ImagePtr image_;
  metadata::ImagePtr first_;
  std::unique_ptr<runtime::RunLists> run_lists_;
  RefusingController controller_;
  std::unique_ptr<storage::FileCache> files_;
  std::unique_ptr<storage::LogDirectory> directory_;
  std::unique_ptr<runtime::PartitionManager> partitions_;
  std::unique_ptr<broker::Broker> broker_;
  std::unique_ptr<net::NetServer> net_;
  std::vector<Task> waiting_;
};

}  // namespace

std::unique_ptr<ScriptedBroker> ScriptedBroker::make(NodeEnv& env, uint16_t port, metadata::ImagePtr first,
                                                     Configure configure) {
  return std::make_unique<Node>(env, port, std::move(first), std::move(configure));
}

int64_t log_end_of(runtime::PartitionManager& partitions, TopicIdPartition const& partition) {
  auto const driver = partitions.find(partition);
  if (!driver || driver->status() == runtime::PartitionStatus::opening) return -1;
  return driver->marks().end.offset.value;
}

std::string describe_partitions(runtime::PartitionManager& partitions) {
  std::string out;
  for (auto const& driver : partitions.all()) {
    auto const& name = driver->identity().name;
    out += fmt::format("\n  {}-{}: status {}", name.topic, name.partition, static_cast<int>(driver->status()));
    if (driver->status() == runtime::PartitionStatus::opening) continue;
    auto const marks = driver->marks();
    out += fmt::format(" epoch {} start {} last stable {} mark {} end {}", marks.epoch, marks.log_start,
                       marks.last_stable.offset, marks.high_watermark.offset, marks.end.offset);
  }
  return out;
}

metadata::ImagePtr make_image(std::vector<ScriptedTopic> const& topics, int64_t offset) {
  auto image = std::make_shared<metadata::Image>();
  image->offset = Offset(offset);
  image->epoch = LeaderEpoch(1);
  for (int32_t id : {kBrokerId, kFollowerId}) {
    auto broker = std::make_shared<metadata::BrokerImage>();
    broker->id = BrokerId(id);
    broker->epoch = id;
    broker->incarnation_id.bytes.fill(static_cast<uint8_t>(id));
    broker->endpoints.push_back({kListener, id == kBrokerId ? "broker" : "follower", 9092, 0});
    broker->is_fenced = false;
    DirectoryId directory;
    directory.bytes.fill(id == kBrokerId ? 9 : 8);
    broker->directories.push_back(directory);
    image->brokers.set(BrokerId(id), broker);
  }
  image->features.set("metadata.version", int16_t{27});
  for (auto const& topic : topics) {
    auto made = std::make_shared<metadata::TopicImage>();
    made->id = topic.id;
    made->name = topic.name;
    for (size_t p = 0; p < topic.partitions.size(); ++p) {
      auto const& scripted = topic.partitions[p];
      auto partition = std::make_shared<metadata::PartitionImage>();
      partition->replicas = scripted.replicas;
      for (auto replica : scripted.replicas) {
        DirectoryId directory;
        directory.bytes.fill(replica.value == kBrokerId ? 9 : 8);
        partition->directories.push_back(directory);
      }
      partition->isr = scripted.isr;
      partition->leader = scripted.leader;
      partition->leader_epoch = scripted.leader_epoch;
      partition->partition_epoch = scripted.partition_epoch;
      made->partitions.set(static_cast<int32_t>(p), partition);
    }
    image->topics.set(topic.name, made);
    image->topics_by_id.set(topic.id, made);
    metadata::ConfigMap configs;
    for (auto const& [key, value] : topic.configs) configs.set(key, value);
    if (!configs.empty()) image->configs.set({metadata::ConfigResourceType::topic, topic.name}, configs);
  }
  return image;
}

}  // namespace millrace::sim
