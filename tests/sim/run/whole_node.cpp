#include "millrace/broker/local_node.h"
#include "sim/run/scripted_broker.h"

namespace millrace::sim {
namespace {

constexpr uint16_t kControllerPort = 9093;

class WholeNode final : public BrokerUnderTest {
 public:
  WholeNode(NodeEnv& env, WholeNodeOptions const& options)
      : env_(env),
        node_(env, make(env, options), [this](std::string const& reason) { give_up(reason); }) {
    node_.start([this](Status status) {
      if (!status.ok()) give_up(status.error().message);
    });
  }

  bool is_serving() const override { return node_.phase() == broker::LocalNode::Phase::serving; }
  int64_t log_end(TopicIdPartition const&) const override { return -1; }  // it keeps its partitions to itself
  std::string describe() const override {
    if (!is_serving()) return fmt::format(" in phase {}", static_cast<int>(node_.phase()));
    auto const state = node_.state();
    return fmt::format(" {} partitions, {} led, {} opening, {} offline, quorum {}", state.partitions, state.leaders,
                       state.opening, state.offline, state.has_quorum);
  }
  void stop(Task done) override {
    node_.stop([this, done = std::move(done)](Status status) mutable {
      if (!status.ok()) env_.log().error("node", "stop: {}", status.error().message);
      std::move(done)();
    });
  }

 private:
  // As the server does: the process ends and is started again.
  void give_up(std::string const& reason) {
    env_.log().error("node", "ends: {}", reason);
    env_.machine().kill(CrashKind::process);
  }

  static broker::LocalNodeOptions make(NodeEnv& env, WholeNodeOptions const& wanted) {
    broker::LocalNodeOptions out;
    out.config.node_id = BrokerId(kBrokerId);
    auto random = env.random("config");
    out.config.region_bytes_min = random.chance(0.5) ? 1 : 1 << static_cast<int>(random.below(17));
    for (bool const is_broker : {true, false}) {
      broker::NodeListener listener;
      listener.net.name = is_broker ? "PLAINTEXT" : "CONTROLLER";
      listener.net.addresses.push_back({"0.0.0.0", is_broker ? wanted.port : kControllerPort});
      listener.kind = is_broker ? broker::ListenerKind::broker : broker::ListenerKind::controller;
      listener.registered_host = env.machine().name();
      out.listeners.push_back(std::move(listener));
    }
    out.log_directories = {kDataDirectory};
    out.metadata_directory = kDataDirectory;
    out.may_draw_cluster_id = true;
    out.directory.low_space_bytes = 0;
    out.directory.preallocate_bytes = random.chance(0.5) ? 0 : 64 << 10;
    out.open_files_max = 16 + random.below(64);
    out.partitions.node_id = BrokerId(kBrokerId);
    auto& defaults = out.partitions.topic_defaults;
    defaults.log.segment_bytes = wanted.segment_bytes;
    defaults.log.index_interval_bytes = wanted.index_interval;
    defaults.timestamp_after_ms_max = std::numeric_limits<int64_t>::max();  // clocks jump here
    if (wanted.is_flush) defaults.flush_messages = 1;
    out.partitions.retention_check_interval = 10s;
    out.controller.controller.node_id = BrokerId(kBrokerId);
    out.controller.snapshot_interval_bytes = random.chance(0.5) ? 2000 : 20 << 20;
    return out;
  }

  NodeEnv& env_;
  broker::LocalNode node_;
};

}  // namespace

std::unique_ptr<BrokerUnderTest> make_whole_node(NodeEnv& env, WholeNodeOptions const& options) {
  return std::make_unique<WholeNode>(env, options);
}

}  // namespace millrace::sim
