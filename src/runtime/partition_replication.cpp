#include "millrace/runtime/partition_replication.h"

#include "millrace/metadata/image.h"

namespace millrace::runtime {

PartitionReplication::PartitionReplication(env::Env& env, RunLists& run_lists, BrokerId self, ReplicationOptions options)
    : env_(env),
      run_lists_(run_lists),
      self_(self),
      options_(std::move(options)),
      isr_changes_(env, run_lists, self, broker_epoch_) {}

PartitionReplication::~PartitionReplication() = default;

void PartitionReplication::set_broker_epoch(int64_t epoch) {
  broker_epoch_.store(epoch, std::memory_order_relaxed);
  for (auto const& [key, fetcher] : fetchers_) fetcher->registered();
}

std::vector<replication::BrokerFact> PartitionReplication::facts_of(std::vector<BrokerId> const& replicas,
                                                                    metadata::Image const& image) const {
  std::vector<replication::BrokerFact> out;
  for (auto const id : replicas) {
    if (id == self_) continue;
    auto const* broker = image.find_broker(id);
    if (broker == nullptr) continue;
    out.push_back({id, broker->epoch, !broker->is_fenced, broker->is_in_controlled_shutdown});
  }
  return out;
}

void PartitionReplication::lead(std::shared_ptr<PartitionDriver> const& driver, metadata::PartitionImage const& partition,
                                metadata::Image const& image, int32_t min_in_sync) {
  auto const& id = driver->identity().id;
  leave_fetcher(id);
  driver->set_isr_changes(&isr_changes_);
  driver->set_standing(standing_);
  replication::BecomeLeader event;
  event.epoch = partition.leader_epoch;
  event.partition_epoch = partition.partition_epoch;
  event.self = self_;
  event.replicas = partition.replicas;
  event.in_sync_replicas = partition.isr;
  event.min_in_sync = min_in_sync;
  event.lag_max = options_.lag_max;
  event.brokers = facts_of(partition.replicas, image);
  auto const told = run_lists_.control().reactor().now();
  driver->lead(std::move(event), run_lists_.control(), [times = takeovers_, told](Mono now) { times->add(now - told); });
  if (partition.replicas.size() < 2) {
    leading_.erase(id);
    return;
  }
  leading_[id] = {driver, partition.replicas};
  if (check_ == env::kNoTimer && !is_stopped_) arm_check();
}

void PartitionReplication::follow(std::shared_ptr<PartitionDriver> const& driver, storage::LogDirectory const* directory,
                                  metadata::PartitionImage const& partition, metadata::Image const& image) {
  auto const& id = driver->identity().id;
  leading_.erase(id);
  FetcherKey const key{partition.leader, directory};
  auto const known = followed_.find(id);
  if (known != followed_.end() && known->second != key) leave_fetcher(id);
  replication::BecomeFollower event;
  event.epoch = partition.leader_epoch;
  event.leader = partition.leader;
  driver->follow(event, run_lists_.control());
  if (partition.leader == kNoBroker || is_stopped_) return leave_fetcher(id);
  followed_[id] = key;
  fetcher(partition.leader, directory, image).add(driver, partition.leader_epoch);
}

void PartitionReplication::leave_fetcher(TopicIdPartition const& id) {
  auto const known = followed_.find(id);
  if (known == followed_.end()) return;
  fetchers_.at(known->second)->remove(id);
  followed_.erase(known);
}

void PartitionReplication::forget(TopicIdPartition const& id) {
  leave_fetcher(id);
  leading_.erase(id);
}

std::optional<BrokerAddress> PartitionReplication::address_of(BrokerId id, metadata::Image const& image) const {
  auto const* broker = image.find_broker(id);
  if (broker == nullptr) return std::nullopt;
  auto const* endpoint = broker->find_endpoint(options_.inter_broker_listener);
  if (endpoint == nullptr) {
    env_.log().warn("replication", "broker {} has no listener {}: nothing is fetched from it", id, options_.inter_broker_listener);
    return std::nullopt;
  }
  return BrokerAddress{endpoint->host, endpoint->port};
}

// The fetchers of a node are dealt out among its reactors; there are at most brokers times directories of them.
ReplicaFetcher& PartitionReplication::fetcher(BrokerId leader, storage::LogDirectory const* directory,
                                              metadata::Image const& image) {
  auto& slot = fetchers_[{leader, directory}];
  if (slot == nullptr) {
    auto& reactor = env_.reactor(fetchers_.size() % env_.reactor_count());
    slot = std::make_shared<ReplicaFetcher>(env_, run_lists_.of(reactor), self_, leader, broker_epoch_, options_.fetch);
    slot->set_address(address_of(leader, image));
  }
  return *slot;
}

void PartitionReplication::on_brokers(metadata::Publication const& publication) {
  auto const& image = *publication.after;
  auto const& changed = publication.delta.brokers;
  if (changed.empty()) return;
  // Registered once more by this process; before its first registration the image may still hold that of an earlier one.
  auto const* self = image.find_broker(self_);
  auto const known = broker_epoch_.load(std::memory_order_relaxed);
  if (known >= 0 && self != nullptr && self->epoch > known) set_broker_epoch(self->epoch);
  for (auto const& [key, fetcher] : fetchers_) {
    if (changed.contains(key.first)) fetcher->set_address(address_of(key.first, image));
  }
  for (auto const& [id, leading] : leading_) {
    bool const is_touched = std::ranges::any_of(leading.replicas, [&](BrokerId broker) { return changed.contains(broker); });
    if (is_touched) leading.driver->brokers_changed(facts_of(leading.replicas, image), run_lists_.control());
  }
}

void PartitionReplication::arm_check() {
  auto& reactor = run_lists_.control().reactor();
  check_ = reactor.call_at(reactor.now() + options_.lag_max / 2, [this] {
    check_ = env::kNoTimer;
    if (is_stopped_ || leading_.empty()) return;
    for (auto const& [id, leading] : leading_) leading.driver->check_in_sync(run_lists_.control());
    arm_check();
  });
}

void PartitionReplication::stop() {
  is_stopped_ = true;
  run_lists_.control().reactor().cancel(std::exchange(check_, env::kNoTimer));
  isr_changes_.stop();
  for (auto const& [key, fetcher] : fetchers_) fetcher->stop();
  followed_.clear();
  leading_.clear();
}

}  // namespace millrace::runtime
