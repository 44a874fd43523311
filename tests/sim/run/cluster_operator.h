// Somebody who looks after a cluster while it is under load: elects preferred leaders, raises and lowers
// min.insync.replicas. Nothing depends on whether that succeeds.
#pragma once
#include "sim/run/data_actor.h"

namespace millrace::sim {

class ClusterOperator final : public DataActor {
 public:
  ClusterOperator(NodeEnv& env, size_t reactor, Run& run, std::vector<ClusterClient::Address> brokers, int32_t min_in_sync_low,
                  int32_t min_in_sync_high);

  // Elects preferred leaders at once.
  void elect_now();

 private:
  void on_metadata() override;
  void act();
  void elect_leaders(size_t broker, std::function<void()> done);
  void set_min_in_sync(size_t broker);

  int32_t const low_;
  int32_t const high_;
  bool is_started_ = false;
};

}  // namespace millrace::sim
