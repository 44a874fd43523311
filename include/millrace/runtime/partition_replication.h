// Replication between this node and the others, for all its partitions: who is fetched from, and what leaders must know
// of the brokers that follow them. Told by the partition manager; control reactor only.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "millrace/metadata/delta.h"
#include "millrace/runtime/isr_changes.h"
#include "millrace/runtime/partition_driver.h"
#include "millrace/runtime/replica_fetcher.h"

namespace millrace::runtime {

struct ReplicationOptions {
  ReplicaFetchOptions fetch;
  Duration lag_max = 30s;              // replica.lag.time.max.ms
  std::string inter_broker_listener;  // where other brokers are reached: inter.broker.listener.name
};

// How often partitions were taken over here, and how long that took from the metadata that said so. Any thread.
struct TakeoverTimes {
  std::atomic<int64_t> count{0};
  std::atomic<int64_t> sum_ns{0};
  void add(Duration took) {
    count.fetch_add(1, std::memory_order_relaxed);
    sum_ns.fetch_add(took.count(), std::memory_order_relaxed);
  }
};

class PartitionReplication {
 public:
  PartitionReplication(env::Env& env, RunLists& run_lists, BrokerId self, ReplicationOptions options);
  ~PartitionReplication();

  // Whom leaders ask for other in-sync sets; without one they keep those that the image has.
  void set_controller(ControllerClient* controller) {
    isr_changes_.set_controller(controller);
    standing_ = controller == nullptr ? nullptr : &controller->standing();
  }
  IsrChanges const& isr_changes() const { return isr_changes_; }
  TakeoverTimes const& takeovers() const { return *takeovers_; }
  // This node was registered under that epoch. Nothing is fetched before.
  void set_broker_epoch(int64_t epoch);
  std::atomic<int64_t> const& broker_epoch() const { return broker_epoch_; }  // -1: not registered

  // `min_in_sync` is of the same image: by it the controller made the in-sync set, and chose who else is eligible.
  void lead(std::shared_ptr<PartitionDriver> const& driver, metadata::PartitionImage const& partition,
            metadata::Image const& image, int32_t min_in_sync);
  void follow(std::shared_ptr<PartitionDriver> const& driver, storage::LogDirectory const* directory,
              metadata::PartitionImage const& partition, metadata::Image const& image);
  void forget(TopicIdPartition const& id);
  // Brokers changed: addresses, and who may join an ISR. `leading` are the partitions that this node leads.
  void on_brokers(metadata::Publication const& publication);
  void stop();

 private:
  using FetcherKey = std::pair<BrokerId, storage::LogDirectory const*>;
  struct Leading {
    std::shared_ptr<PartitionDriver> driver;
    std::vector<BrokerId> replicas;
  };

  ReplicaFetcher& fetcher(BrokerId leader, storage::LogDirectory const* directory, metadata::Image const& image);
  std::optional<BrokerAddress> address_of(BrokerId broker, metadata::Image const& image) const;
  std::vector<replication::BrokerFact> facts_of(std::vector<BrokerId> const& replicas, metadata::Image const& image) const;
  void leave_fetcher(TopicIdPartition const& id);
  void arm_check();

  env::Env& env_;
  RunLists& run_lists_;
  BrokerId const self_;
  ReplicationOptions const options_;
  std::atomic<int64_t> broker_epoch_{-1};
  IsrChanges isr_changes_;
  LeaderStanding const* standing_ = nullptr;
  std::shared_ptr<TakeoverTimes> const takeovers_ = std::make_shared<TakeoverTimes>();  // drivers add to it late
  std::map<FetcherKey, std::shared_ptr<ReplicaFetcher>> fetchers_;
  std::map<TopicIdPartition, FetcherKey> followed_;
  std::map<TopicIdPartition, Leading> leading_;  // with other replicas
  env::TimerId check_ = env::kNoTimer;
  bool is_stopped_ = false;
};

}  // namespace millrace::runtime
