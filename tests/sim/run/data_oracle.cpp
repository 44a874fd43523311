#include "sim/run/data_oracle.h"

#include <algorithm>
#include <limits>

namespace millrace::sim {
namespace {

BrokerId id_of(size_t node) { return BrokerId(static_cast<int32_t>(node + 1)); }

// The first offset at or past `start` and below `end` that is of one epoch here and of another there.
std::optional<Offset> first_difference(storage::LeaderEpochs const& a, storage::LeaderEpochs const& b, Offset start, Offset end) {
  std::vector<Offset> places{start};
  for (auto const* list : {&a, &b}) {
    for (auto const& each : list->entries()) places.push_back(each.start);
  }
  std::ranges::sort(places);
  for (auto const place : places) {
    if (place < start || place >= end || a.epoch_of(place) == b.epoch_of(place)) continue;
    return place;
  }
  return std::nullopt;
}

}  // namespace

DataOracle::DataOracle(Cluster& cluster, Run& run, Fail fail) : cluster_(cluster), run_(run), fail_(std::move(fail)), partitions_(run.partitions.size()), brokers_(cluster.size()) {
  for (auto& partition : partitions_) partition.replicas.resize(cluster.size());
}

bool DataOracle::is_known(runtime::PartitionDriver const& driver) {
  auto const status = driver.status();
  return status == runtime::PartitionStatus::leader || status == runtime::PartitionStatus::follower;
}

void DataOracle::on_power_loss(size_t node) {
  for (auto& partition : partitions_) {
    auto& replica = partition.replicas[node];
    // What its last registration told may outlive processes that were killed since; of what a loss has left it nobody
    // is told before it is registered again.
    if (replica.told_broker_epoch >= 0) replica.lost_ends.try_emplace(replica.told_broker_epoch, replica.end);
    replica.end = Offset{0};
  }
}

void DataOracle::observe(size_t node, ClusterNode& of) {
  if (of.told() != nullptr && of.told()->offset > newest_image_) observe_image(*of.told());
  if (!cluster_.plan().nodes[node].is_broker) return;
  for (size_t p = 0; p < partitions_.size(); ++p) observe_partition(p, node, of);
}

void DataOracle::observe_image(metadata::Image const& image) {
  newest_image_ = image.offset;
  for (size_t node = 0; node < brokers_.size(); ++node) {
    auto const* broker = image.find_broker(id_of(node));
    brokers_[node] = broker == nullptr ? Broker() : Broker{broker->epoch, broker->is_active()};
  }
  observe_elections(image);
  for (size_t p = 0; p < partitions_.size(); ++p) {
    auto const* topic = image.find_topic(run_.partitions[p].topic_id);
    auto const* partition = topic == nullptr ? nullptr : topic->find_partition(run_.partitions[p].number);
    if (partition == nullptr) continue;
    if (partition->partition_epoch != partitions_[p].partition_epoch) observe_sets(p, *partition);
    check_members(p);
  }
}

void DataOracle::observe_elections(metadata::Image const& image) {
  auto const has = [](std::vector<BrokerId> const& list, BrokerId id) { return std::ranges::find(list, id) != list.end(); };
  image.topics_by_id.for_each([&](TopicId const& id, metadata::TopicImagePtr const& topic) {
    auto const before = std::exchange(topics_[id], topic);
    if (before == nullptr || before == topic) return;
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      auto const* old = before->find_partition(index);
      if (old == nullptr || partition->leader == kNoBroker || partition->leader_epoch == old->leader_epoch) return;
      // Two changes at once may have had others in sync in between.
      if (partition->partition_epoch != old->partition_epoch + 1) return;
      if (has(old->isr, partition->leader) || has(old->elr, partition->leader)) return;
      ++unclean_elections_;
      if (partition->isr == std::vector{partition->leader} && partition->elr.empty()) return;
      fail_(fmt::format("R6: {}-{}: node {} was elected though it was neither in sync nor eligible, and {} others are in sync, {} eligible",
                        topic->name, index, partition->leader, partition->isr.size() - 1, partition->elr.size()));
    });
  });
}

void DataOracle::observe_sets(size_t p, metadata::PartitionImage const& image) {
  auto& partition = partitions_[p];
  for (auto const id : image.isr) {
    bool const is_new = std::ranges::find(partition.in_sync, id) == partition.in_sync.end();
    if (!is_new || partition.partition_epoch < 0 || brokers_[static_cast<size_t>(id.value - 1)].is_active) continue;
    fail_(fmt::format("R6: partition {}: node {} is taken into the in-sync set of partition epoch {} while it is fenced or stopping", p, id,
                      image.partition_epoch));
  }
  partition.partition_epoch = image.partition_epoch;
  partition.in_sync = image.isr;
  partition.eligible = image.elr;
}

void DataOracle::check_members(size_t p) {
  auto const& partition = partitions_[p];
  // Whose leader has not heard of a min.insync.replicas that was raised shrinks the in-sync set by the old one.
  bool const is_min_in_sync_fixed = !cluster_.plan().changes_min_in_sync();
  for (auto const* members : {&partition.in_sync, &partition.eligible}) {
    if (members == &partition.eligible && !is_min_in_sync_fixed) continue;
    for (auto const id : *members) {
      auto const node = static_cast<size_t>(id.value - 1);
      auto const& replica = partition.replicas[node];
      if (replica.known_broker_epoch != brokers_[node].epoch) continue;
      auto const what = members == &partition.in_sync ? "in sync" : "eligible";
      // Nothing is deleted here: all logs start at 0.
      auto const end = std::min(replica.known_end, partition.committed_end);
      auto const other = replica.known_epochs == nullptr ? std::nullopt : first_difference(*replica.known_epochs, partition.committed, Offset{0}, end);
      if (other) {
        return fail_(fmt::format("R4 R5: partition {}: node {} is {} in partition epoch {}; its record at offset {} is not the one that is committed",
                                 p, node + 1, what, partition.partition_epoch, *other));
      }
      if (replica.known_end >= partition.committed_end) continue;
      return fail_(fmt::format("R4 R5: partition {}: node {} is {} in partition epoch {} with a log that ends at {}; everything below {} is committed",
                               p, node + 1, what, partition.partition_epoch, replica.known_end,
                               partition.committed_end));
    }
  }
}

void DataOracle::on_served(size_t p, size_t node, LeaderEpoch epoch, checker::Nanos start) {
  auto const& partition = partitions_[p];
  auto const leader = partition.leaders.find(epoch);
  if (leader == partition.leaders.end() || leader->second != node) {
    return fail_(fmt::format("R3: partition {}: node {} answers for epoch {}, which it has not led", p, node + 1, epoch));
  }
  for (auto at = std::next(leader); at != partition.leaders.end(); ++at) {
    if (at->second != node || partition.begun.at(at->first) >= start) continue;
    return fail_(fmt::format("R3: partition {}: node {} answers for epoch {} when it leads epoch {}", p, node + 1, epoch, at->first));
  }
}

bool DataOracle::has_led_since(size_t p, size_t node, checker::Nanos when) const {
  auto const& partition = partitions_[p];
  if (partition.leaders.empty()) return false;
  auto const& [epoch, leader] = *partition.leaders.rbegin();
  return leader == node && partition.begun.at(epoch) <= when;
}

void DataOracle::on_claim(size_t p, Offset end, std::string_view what) {
  auto const& commits = partitions_[p].commits;
  auto const committed = commits.empty() ? Offset{0} : commits.back().end;
  if (end > committed) fail_(fmt::format("D1: partition {}: {} claims everything below {}, nobody has called more than {} committed", p, what, end, committed));
}

void DataOracle::observe_partition(size_t p, size_t node, ClusterNode& of) {
  auto& replica = partitions_[p].replicas[node];
  auto const life = cluster_.machine(node).node()->life();
  if (replica.life != life) {
    auto const before = replica;
    replica = Replica();
    replica.life = life;
    replica.end = before.end;
    replica.epochs = before.epochs;
    replica.known_epochs = before.known_epochs;
    replica.told_broker_epoch = before.told_broker_epoch;
    replica.known_end = before.known_end;
    replica.known_broker_epoch = before.known_broker_epoch;
    replica.lost_ends = before.lost_ends;
  }
  if (of.is_serving()) {
    auto const* self = of.image()->find_broker(id_of(node));
    if (self != nullptr) replica.broker_epoch = replica.told_broker_epoch = self->epoch;
  }
  auto driver = replica.driver.lock();
  if (driver == nullptr) {
    if (run_.partitions[p].topic_id.is_zero()) return;
    driver = of.node().partition({run_.partitions[p].topic_id, run_.partitions[p].number});
    if (driver == nullptr) return;
    replica.driver = driver;
  }
  if (!is_known(*driver)) return;
  auto const marks = driver->marks();
  replica.end = marks.end.offset;
  replica.epochs = driver->epochs();
  if (replica.broker_epoch >= 0) {
    bool const may_have_less = replica.known_broker_epoch != replica.broker_epoch || replica.end < replica.known_end || replica.epochs != replica.known_epochs;
    replica.known_broker_epoch = replica.broker_epoch;
    replica.known_end = replica.end;
    replica.known_epochs = replica.epochs;
    if (may_have_less) check_members(p);
  }
  if (driver->status() == runtime::PartitionStatus::follower) {
    on_follower(p, node, marks);
    // Its mark may have moved and its leadership ended in one turn: what it called committed it did as a leader.
    auto const led = std::exchange(replica.leads, LeaderEpoch{-1});
    if (replica.mark != marks.high_watermark.offset) {
      replica.mark = marks.high_watermark.offset;
      if (led < LeaderEpoch{0}) on_claim(p, replica.mark, "a follower's mark");
      else on_mark(p, node, of, *driver, marks, led);
    }
  }
  // Nobody reaches a node that comes back before it has caught up and is registered. One that stops leads until its
  // partitions were moved.
  if (driver->status() != runtime::PartitionStatus::leader || replica.broker_epoch < 0) return;
  if (replica.leads != marks.epoch) {
    replica.leads = marks.epoch;
    replica.mark = Offset{-1};
    replica.registrations.clear();
    on_leads(p, node, *driver, marks);
  }
  if (replica.mark != marks.high_watermark.offset) {
    replica.mark = marks.high_watermark.offset;
    on_mark(p, node, of, *driver, marks, marks.epoch);
  }
  auto const has_lost = [](Replica const& each) { return !each.lost_ends.empty(); };
  if (std::ranges::none_of(partitions_[p].replicas, has_lost)) return;
  for (auto const& follower : driver->followers()) replica.registrations[follower.id] = follower.known_broker_epoch;
}

void DataOracle::on_follower(size_t p, size_t node, storage::Marks const& marks) {
  auto& partition = partitions_[p];
  auto& replica = partition.replicas[node];
  if (!on_caught_up_ || replica.broker_epoch < 0 || partition.leaders.empty() || replica.caught_up_in == partition.partition_epoch) return;
  auto const& [epoch, leader] = *partition.leaders.rbegin();
  bool const has_all = marks.epoch == epoch && marks.end.offset >= partition.replicas[leader].end;
  if (!has_all || std::ranges::find(partition.in_sync, id_of(node)) != partition.in_sync.end()) return;
  replica.caught_up_in = partition.partition_epoch;
  on_caught_up_(p, node, leader);
}

std::string DataOracle::compare(Partition const& partition, runtime::PartitionDriver const& driver, storage::Marks const& marks, Offset end) {
  auto const epochs = driver.epochs();
  if (epochs == nullptr) return {};
  auto const& committed = partition.committed;
  auto const place = first_difference(committed, *epochs, marks.log_start, std::min(end, marks.end.offset));
  if (!place) return {};
  return fmt::format("offset {} was committed in epoch {}, and is of epoch {} here", *place, committed.epoch_of(*place).value_or(kNoLeaderEpoch),
                     epochs->epoch_of(*place).value_or(kNoLeaderEpoch));
}

bool DataOracle::is_holder(size_t p, size_t node, storage::LeaderEpochs const& leaders, Offset log_start, Offset end) {
  auto const& replica = partitions_[p].replicas[node];
  if (replica.end < end) return false;
  if (replica.epochs != nullptr && first_difference(*replica.epochs, leaders, log_start, end)) return false;
  auto const& partition = run_.partitions[p];
  return !cluster_.plan().is_flush || cluster_.durable_end(node, partition.topic, partition.number) >= end;
}

void DataOracle::on_leads(size_t p, size_t node, runtime::PartitionDriver const& driver, storage::Marks const& marks) {
  auto& partition = partitions_[p];
  ++leader_changes_;
  auto const [at, is_first] = partition.leaders.try_emplace(marks.epoch, node);
  partition.begun.try_emplace(marks.epoch, run_.now());
  if (!is_first && at->second != node) {
    return fail_(fmt::format("R3: partition {}: nodes {} and {} both lead epoch {}", p, at->second + 1, node + 1, marks.epoch));
  }
  // It may not have heard yet that it was deposed.
  if (marks.epoch < partition.leaders.rbegin()->first) return;
  if (marks.end.offset < partition.committed_end) {
    return fail_(fmt::format("R1: partition {}: node {} leads epoch {} with a log that ends at {}; everything below {} was committed", p,
                             node + 1, marks.epoch, marks.end.offset, partition.committed_end));
  }
  if (auto const difference = compare(partition, driver, marks, partition.committed_end); !difference.empty()) {
    fail_(fmt::format("R1: partition {}: node {} leads epoch {}: {}", p, node + 1, marks.epoch, difference));
  }
}

int64_t DataOracle::known_registration(Replica const& leader, ClusterNode const& of, size_t node) {
  auto const known = leader.registrations.find(id_of(node));
  if (known != leader.registrations.end()) return known->second;
  auto const* broker = of.image()->find_broker(id_of(node));
  return broker == nullptr ? std::numeric_limits<int64_t>::max() : broker->epoch;
}

void DataOracle::on_mark(size_t p, size_t node, ClusterNode const& of, runtime::PartitionDriver const& driver, storage::Marks const& marks,
                         LeaderEpoch led) {
  auto& partition = partitions_[p];
  auto const mark = marks.high_watermark.offset;
  if (auto const difference = compare(partition, driver, marks, std::min(mark, partition.committed_end)); !difference.empty()) {
    return fail_(fmt::format("R2: partition {}: node {} calls everything below {} committed: {}", p, node + 1, mark, difference));
  }
  if (partition.commits.empty() || mark > partition.commits.back().end) partition.commits.push_back({led, mark});
  if (mark <= partition.committed_end || led < partition.leaders.rbegin()->first) return;
  auto const epochs = driver.epochs();
  size_t holders = 0;
  for (size_t i = 0; i < partition.replicas.size(); ++i) {
    auto const& replica = partition.replicas[i];
    // A leader takes the word of any registration but an earlier one, and may know of a later one only by its word.
    // What it hears of in this very event may have come after the mark moved.
    auto const lost = replica.lost_ends.lower_bound(known_registration(partition.replicas[node], of, i));
    bool const is_taken_to_have_it =
        std::any_of(lost, replica.lost_ends.end(), [&](auto const& each) { return each.second >= mark; });
    if (is_taken_to_have_it || is_holder(p, i, *epochs, marks.log_start, mark)) ++holders;
  }
  auto const needed = std::min<size_t>(static_cast<size_t>(cluster_.plan().min_in_sync), static_cast<size_t>(cluster_.plan().replication_factor));
  if (holders < needed) {
    return fail_(fmt::format("D1: partition {}: node {} calls everything below {} committed, which {} replicas hold; {} must be in sync", p,
                             node + 1, mark, holders, needed));
  }
  for (auto const& each : epochs->entries()) {
    if (each.start < mark) partition.committed.assign(each.epoch, std::max(each.start, partition.committed_end));
  }
  partition.committed_end = mark;
  check_members(p);
}

int32_t DataOracle::committed_in(size_t partition, int64_t end) const {
  for (auto const& each : partitions_[partition].commits) {
    if (each.end >= Offset(end)) return each.by.value;
  }
  return -1;
}

bool DataOracle::is_at_rest() {
  for (auto const& partition : partitions_) {
    size_t leaders = 0, replicas = 0;
    std::optional<Offset> end;
    for (auto const& replica : partition.replicas) {
      auto const driver = replica.driver.lock();
      if (driver == nullptr) continue;
      if (!is_known(*driver)) return false;
      ++replicas;
      auto const marks = driver->marks();
      if (driver->status() == runtime::PartitionStatus::leader) ++leaders;
      if (marks.high_watermark.offset != marks.end.offset || end.value_or(marks.end.offset) != marks.end.offset) return false;
      end = marks.end.offset;
    }
    if (leaders != 1 || replicas != static_cast<size_t>(cluster_.plan().replication_factor)) return false;
  }
  return true;
}

int64_t DataOracle::records_missing() {
  int64_t missing = 0;
  for (auto const& partition : partitions_) {
    std::vector<Offset> ends;
    for (auto const& replica : partition.replicas) {
      auto const driver = replica.driver.lock();
      ends.push_back(driver == nullptr ? Offset(0) : driver->marks().end.offset);
    }
    for (auto const end : ends) missing += std::ranges::max(ends) - end;
  }
  return missing;
}

std::string DataOracle::describe() {
  std::string out;
  for (size_t p = 0; p < partitions_.size(); ++p) {
    out += fmt::format("\n  partition {}, committed {}:", p, partitions_[p].committed_end);
    for (size_t node = 0; node < cluster_.size(); ++node) {
      auto const driver = partitions_[p].replicas[node].driver.lock();
      if (driver == nullptr) continue;
      out += fmt::format(" [node {} status {}", node + 1, static_cast<int>(driver->status()));
      if (is_known(*driver)) {
        auto const marks = driver->marks();
        out += fmt::format(" epoch {} mark {} end {}", marks.epoch, marks.high_watermark.offset, marks.end.offset);
      }
      out += ']';
    }
  }
  return out;
}

}  // namespace millrace::sim
