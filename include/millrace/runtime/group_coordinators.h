// The group coordinators of this node: one for each partition of __consumer_offsets that it leads. Follows the image;
// finds the coordinator of a group.
#pragma once
#include <map>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "millrace/metadata/delta.h"
#include "millrace/runtime/coordinator_driver.h"
#include "millrace/runtime/partition_manager.h"

namespace millrace::runtime {

inline constexpr std::string_view kGroupTopicName = "__consumer_offsets";

class GroupCoordinators {
 public:
  // All outlive it.
  GroupCoordinators(env::Env& env, RunLists& run_lists, PartitionManager& partitions, BrokerId node_id,
                    CoordinatorOptions options);
  ~GroupCoordinators();

  // On the control reactor, after the partitions have seen the publication.
  void on_publication(metadata::Publication const& publication);
  // On the control reactor, before the end: who waits is sent away.
  void resign_all();

  // Any thread. `done` runs on `back`, once.
  void submit(std::string_view group_id, coordinator::Event request, env::Reactor& back,
              Callback<void(coordinator::Answer)> done, RunList& here);
  // The same request to each coordinator of this node; the answers in no order.
  void submit_to_all(coordinator::ListGroups const& request, env::Reactor& back,
                     Callback<void(std::vector<coordinator::ListAnswer>)> done, RunList& here);
  // `done` runs on `back`, once.
  void figures(FiguresRequest const& request, env::Reactor& back, Callback<void(CoordinatorFigures)> done,
               RunList& here);

 private:
  using Coordinators = std::map<int32_t, std::shared_ptr<CoordinatorDriver>>;  // by partition
  std::shared_ptr<CoordinatorDriver> find(std::string_view group_id) const;

  env::Env& env_;
  RunLists& run_lists_;
  PartitionManager& partitions_;
  BrokerId const node_id_;
  CoordinatorOptions const options_;

  TopicId topic_id_;  // control reactor only
  mutable std::shared_mutex mutex_;
  Coordinators coordinators_;    // mutex_; changed by the control reactor only
  int32_t partition_count_ = 0;  // mutex_
};

}  // namespace millrace::runtime
