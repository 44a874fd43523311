// A whole cluster, its clients and its faults. Phases: everybody starts → load with faults → faults end, everybody is
// up and agrees within a bound → one trial: a single fault with an exact demand → what was acknowledged is there.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/run/admin_writer.h"
#include "sim/run/cluster.h"
#include "sim/run/cluster_faults.h"
#include "sim/run/cluster_operator.h"
#include "sim/run/data_actor.h"
#include "sim/run/data_oracle.h"
#include "sim/run/group_member.h"
#include "sim/run/late_requests.h"
#include "sim/run/loyal_asker.h"
#include "sim/run/partition_strikes.h"
#include "sim/run/quorum_oracle.h"
#include "sim/run/scenario.h"
#include "sim/run/topic_cycler.h"

namespace millrace::sim {

// With unclean elections: of it only order, uniqueness and equal replicas are required.
inline constexpr std::string_view kLooseTopic = "loose";

class ClusterRun {
 public:
  ClusterRun(ScenarioInput const& input, std::string name, ClusterPlan plan);
  ~ClusterRun();
  ScenarioResult go();

 private:
  // Runs until `condition` holds; a broken invariant or `limit` ends it with false.
  bool wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit);
  bool wait_as_replicas_gain(std::string_view what, std::function<bool()> const& condition);
  // Lets time pass; false once an invariant is broken.
  bool run_for(Duration span);
  void fail(std::string text);
  std::vector<ClusterClient::Address> addresses(bool of_brokers);
  void start_clients();
  bool start_data();
  bool check_data();
  void add_producer(Run& run, Random& random);
  bool check_loose_topic();
  bool check_cycled_topic();
  bool are_all_in_sync();
  void check_history();

  // A group with members (cluster_groups.cpp).
  bool start_members();
  bool check_members();
  bool has_group_settled() const;
  std::string ask_coordinator();
  std::string group_at_rest();
  std::string describe_members() const;

  std::string describe_clients();
  std::string describe_replicas(TopicId const& topic, int32_t number);
  template <class A, class... Args>
  A& add_actor(Run& run, Args&&... args);
  void observe();
  bool settle();
  bool has_settled();
  bool run_load();
  bool restart_quietly();
  void tell_image(metadata::ImagePtr const& image);
  size_t acknowledged() const;
  uint64_t acknowledged_requests() const;  // of Produce
  uint64_t acknowledged_records() const;
  Counts counts() const;
  void check_at_rest();
  void compare_logs(std::string_view directory, Offset end);

  // The last copy of what was acknowledged must not be lost.
  bool may_lose_power(size_t index);
  bool may_lose_disk(size_t index);
  metadata::Image const* newest_image();
  static bool is_sole_copy(metadata::Image const& image, size_t index);
  static bool is_in_sync_everywhere(metadata::Image const& image, size_t index);
  void on_ended(size_t index, bool has_lost);
  void forgive_lossy();

  // Pauses in place of faults (cluster_pauses.cpp).
  bool run_pauses();
  bool is_leading(size_t node);
  void check_loyal_ends();

  // Trials (cluster_trials.cpp).
  bool run_trial();
  bool wait_for_another_leader(std::string_view after_what, size_t old_leader);
  bool wait_for_progress(std::string_view after_what);
  bool stays_leader(std::string_view during_what, Duration span);
  Duration election_bound() const;

  ScenarioInput const& input_;
  std::string name_;
  ClusterPlan plan_;
  Random random_;
  World world_;
  Cluster cluster_;
  QuorumOracle oracle_;
  ClusterFaults faults_;
  PartitionStrikes strikes_;
  Machine& client_machine_;
  Machine& data_machine_;
  Machine& group_machine_;
  Run run_;
  Run loose_run_;  // of the topic with unclean elections, which may lose what was acknowledged
  std::unique_ptr<DataOracle> data_oracle_;
  std::vector<AdminWriter*> writers_;
  std::vector<DataProducer*> producers_;
  std::vector<DataProducer*> loose_producers_;
  std::vector<DataConsumer*> consumers_;
  std::vector<OffsetCommitter*> committers_;
  TopicCycler* cycler_ = nullptr;
  LateRequests* late_requests_ = nullptr;
  std::vector<LoyalAsker*> loyal_askers_;
  ClusterOperator* operator_ = nullptr;
  Offset told_image_{-1};  // the newest that the strikes have been told
  std::unique_ptr<GroupLedger> group_;
  GroupRun group_run_;
  std::vector<GroupMember*> members_;
  // Brokers that may lose what they acknowledged, or have and are not in sync everywhere again, and in which life.
  std::map<size_t, uint32_t> lossy_;
  uint64_t observed_events_ = 0;
  std::string trial_;
};

}  // namespace millrace::sim
