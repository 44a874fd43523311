// One broker with scripted metadata, its clients and, when wanted, the scripted follower: what the scenarios share.
// Phases: load with faults → faults end, everything is up → producers finish → everything is read → checks.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "checker/checker.h"
#include "sim/run/actor.h"
#include "sim/run/follower.h"
#include "sim/run/scenario.h"
#include "sim/run/scripted_broker.h"

namespace millrace::sim {

// What a seed was expanded to.
struct BrokerPlan {
  bool is_whole_node = false;     // with its own metadata log, instead of a scripted image
  bool has_orderly_stops = false;
  bool has_follower = false;
  bool is_flush = false;          // flush.messages=1
  bool has_power_loss = false;
  bool has_crashes = false;
  bool crashes_at_disk_calls = false;
  bool has_epoch_bumps = false;
  bool has_isr_changes = false;
  bool has_disk_faults = false;
  bool has_full_disk = false;
  bool has_slow_disk = false;
  int32_t min_in_sync = 1;
  uint32_t partitions = 1;
  uint32_t producers = 1;
  uint32_t consumers = 1;
  double deletes = 0;
  int64_t segment_bytes = 1 << 20;
  int64_t index_interval = 4096;
  Duration load_span = 5s;
  // A power loss may take what was acknowledged.
  bool is_lossy() const { return has_power_loss && !is_flush; }
  std::string text() const;
};

class BrokerRun {
 public:
  BrokerRun(ScenarioInput const& input, std::string name, BrokerPlan plan);
  ~BrokerRun();
  ScenarioResult go();

 private:
  void start_broker();
  void start_clients();
  void on_broker_end(bool was_crash);
  void arm_crash();
  void publish(Task published = [] {});
  void change_something();
  void fail_disk();
  void after(Duration wait, Task task);
  void shrink();
  void try_expand();
  void watch_expansion(uint32_t lives);
  void claim(checker::PartitionIndex partition, int64_t offset, std::string_view what);
  bool wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit);
  bool make_topic();
  void compare_replicas();
  BrokerUnderTest* broker();
  ScriptedBroker* scripted();
  int64_t log_end(checker::PartitionIndex partition);

  ScenarioInput const& input_;
  std::string name_;
  BrokerPlan plan_;
  Random random_;
  World world_;
  Run run_;
  ScriptedTopic topic_;
  int64_t image_offset_ = 1;
  Machine& broker_machine_;
  Machine& client_machine_;
  Machine& follower_machine_;
  std::vector<Producer*> producers_;
  Follower* follower_ = nullptr;
  FinalReader* final_reader_ = nullptr;
  TopicMaker* topic_maker_ = nullptr;
  bool has_faults_ = true;
  bool is_topic_made_ = true;
  // The oracle: offsets at or past max(promised by the follower, floor) are not committed while both are in sync.
  bool is_alone_ = false;        // the leader alone is in sync, or this is just changing
  bool is_expanding_ = false;
  uint32_t boots_ = 1;
  std::vector<int64_t> floor_;
  uint64_t crashes_ = 0;
};

}  // namespace millrace::sim
