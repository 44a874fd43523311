// A broker under test whose metadata the scenario writes itself: real net, broker, partition drivers and storage on
// one machine, and an image that the scenario publishes. Its other replica is the scripted follower.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millrace/metadata/image.h"
#include "sim/node.h"

namespace millrace::runtime {
class PartitionManager;
}
namespace millrace::broker {
struct NodeConfig;
}

namespace millrace::sim {

inline constexpr int32_t kBrokerId = 1;
inline constexpr char const* kDataDirectory = "/data";

// What the scenario's controller has decided so far.
struct ScriptedPartition {
  std::vector<BrokerId> replicas{BrokerId(kBrokerId)};
  std::vector<BrokerId> isr{BrokerId(kBrokerId)};
  BrokerId leader{kBrokerId};
  LeaderEpoch leader_epoch{0};
  int32_t partition_epoch = 0;
};
struct ScriptedTopic {
  std::string name;
  Uuid id;
  std::vector<ScriptedPartition> partitions;
  std::vector<std::pair<std::string, std::string>> configs;
};
metadata::ImagePtr make_image(std::vector<ScriptedTopic> const& topics, int64_t offset);

// What the scenarios need of a broker under test.
class BrokerUnderTest : public Process {
 public:
  virtual bool is_serving() const = 0;
  // The end of the leader's log, as its driver publishes it; -1: not open.
  virtual int64_t log_end(TopicIdPartition const& partition) const = 0;
  // Every partition's marks and status, for the report of a failure.
  virtual std::string describe() const = 0;
};

class ScriptedBroker : public BrokerUnderTest {
 public:
  // Starts to come up; `published` tells when an image has reached every thread.
  // `configure` may change the node's configuration before it is used.
  using Configure = std::function<void(broker::NodeConfig&)>;
  static std::unique_ptr<ScriptedBroker> make(NodeEnv& env, uint16_t port, metadata::ImagePtr first,
                                              Configure configure = {});
  virtual void publish(metadata::ImagePtr image, Task published) = 0;  // on the control reactor
  // `done` runs there once every partition has done what it was told before.
  virtual void settle(Task done) = 0;
};

// A whole node as the server composes it, with its own metadata log and controller.
struct WholeNodeOptions {
  uint16_t port = 9092;
  int64_t segment_bytes = 1 << 20;
  int64_t index_interval = 4096;
  bool is_flush = false;
};
std::unique_ptr<BrokerUnderTest> make_whole_node(NodeEnv& env, WholeNodeOptions const& options);

// For describe() and log_end().
std::string describe_partitions(runtime::PartitionManager& partitions);
int64_t log_end_of(runtime::PartitionManager& partitions, TopicIdPartition const& partition);

}  // namespace millrace::sim
