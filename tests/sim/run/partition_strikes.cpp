#include "sim/run/partition_strikes.h"

#include <algorithm>

namespace millrace::sim {

using namespace std::chrono_literals;

namespace {

constexpr Duration kLaggingPauseMax = 2500ms;
constexpr Duration kUsurperPauseMax = 1500ms;
constexpr Duration kLateFetchPauseMax = 1200ms;
constexpr Duration kStallMax = 2s;
constexpr Duration kThinPause = 2s;
constexpr Duration kJoiningPause = 1500ms;
constexpr Duration kLateCutPauseMax = 1s;
constexpr Duration kLateCutMax = 1500ms;
constexpr Duration kLateCutLook = 200us;

}  // namespace

PartitionStrikes::PartitionStrikes(World& world, Cluster& cluster, Means means)
    : world_(world), cluster_(cluster), means_(std::move(means)), random_(world.random("partition strikes")) {
  world_.on_probe([this](Machine& machine, std::string_view name) {
    if (name != "partition.diverging_fetch" || !is_on_) return;
    for (size_t i = 0; i < cluster_.size(); ++i) {
      if (&cluster_.machine(i) == &machine) on_diverging_fetch(i);
    }
  });
}

void PartitionStrikes::after(Duration wait, Task task) {
  world_.schedule(world_.now() + wait, kWorldLife, "partition strike", [this, task = std::move(task)]() mutable {
    if (is_on_) std::move(task)();
  });
}

void PartitionStrikes::note(FaultKind kind, size_t node) {
  world_.trace().note(world_.now(), "strike", name_of(kind), node);
  means_.count(kind);
}

void PartitionStrikes::start() {
  is_on_ = true;
  if (has(FaultKind::lagging_successor)) next_lagging();
  if (has(FaultKind::strike_usurper)) next_usurper();
  if (has(FaultKind::late_fetch)) next_late_fetch();
  if (has(FaultKind::late_cut)) next_late_cut();
}

void PartitionStrikes::cut_for(size_t from, size_t to, Duration span) {
  cluster_.cut(from, to);
  after(span, [this, from, to] { cluster_.heal(from, to); });
}

void PartitionStrikes::part_for(size_t a, size_t b, Duration span) {
  cut_for(a, b, span);
  cut_for(b, a, span);
}

void PartitionStrikes::isolate_for(size_t node, Duration span) {
  for (size_t i = 0; i < cluster_.size(); ++i) {
    if (i != node) part_for(node, i, span);
  }
}

void PartitionStrikes::strike_suddenly(size_t node) {
  switch (random_.below(4)) {
    case 0: return isolate_for(node, draw(200ms, 5s));
    case 1: return cluster_.machine(node).pause(draw(100ms, 3s));
    case 2:
      if (has(FaultKind::power_loss) && means_.may_lose_power(node)) return cluster_.machine(node).kill(CrashKind::power_loss);
      [[fallthrough]];
    default: return cluster_.machine(node).kill(CrashKind::process);
  }
}

void PartitionStrikes::power_cycle(size_t node, CrashKind how) {
  cluster_.machine(node).kill(how);
  after(draw(1ms, 50ms), [this, node] { cluster_.start(node); });
}

std::vector<PartitionStrikes::Found> PartitionStrikes::find(
    std::function<bool(Partition const&)> const& condition) const {
  std::vector<Found> out;
  if (image_ == nullptr) return out;
  image_->topics_by_id.for_each([&](TopicId const& topic_id, metadata::TopicImagePtr const& topic) {
    // The many partitions of groups get enough of what is meant for the others.
    if (topic->name.starts_with("__")) return;
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      if (partition->leader != kNoBroker && condition(*partition)) out.push_back({{topic_id, index}, partition});
    });
  });
  return out;
}

// ---- who leads next has less than another, which does not hear of it at once

void PartitionStrikes::next_lagging() {
  after(draw(100ms, kLaggingPauseMax), [this] {
    auto const choices = find([](Partition const& partition) { return partition.isr.size() > 1; });
    if (!choices.empty()) strike_lagging(*choices[random_.below(choices.size())].partition);
    next_lagging();
  });
}

void PartitionStrikes::strike_lagging(Partition const& partition) {
  // Whom the controller would elect, and who else would follow it.
  std::vector<size_t> others;
  for (auto const id : partition.replicas) {
    if (id != partition.leader && partition.is_in_isr(id)) others.push_back(node_of(id));
  }
  auto const leader = node_of(partition.leader);
  auto const successor = others[0];
  note(FaultKind::lagging_successor, successor);
  auto const lead = draw(30ms, 400ms);
  part_for(leader, successor, lead + 10ms);
  after(lead, [this, leader, successor, others] {
    strike_suddenly(leader);
    if (others.size() > 1 && random_.chance(0.7)) part_for(successor, others[1], draw(100ms, 2s));
  });
}

// ---- a leader is deposed alive, and its successor has less

void PartitionStrikes::next_usurper() {
  after(draw(200ms, kUsurperPauseMax), [this] {
    auto const choices = find([](Partition const& partition) {
      return partition.leader != partition.replicas.front() && partition.is_in_isr(partition.replicas.front());
    });
    if (!choices.empty()) {
      auto const& partition = *choices[random_.below(choices.size())].partition;
      part_for(node_of(partition.leader), node_of(partition.replicas.front()), draw(300ms, 1500ms));
      after(draw(30ms, 300ms), [this] { means_.elect_preferred(); });
    } else if (random_.chance(0.5)) {
      // Then there will be somebody to elect.
      cluster_.machine(random_.below(cluster_.size())).kill(CrashKind::process);
    }
    next_usurper();
  });
}

// The old leader keeps what nobody has of it, and the new one gets some of its own that nobody has either.
void PartitionStrikes::on_deposed_alive(Partition const& partition, size_t old_leader) {
  if (!has(FaultKind::strike_usurper)) return;
  auto const usurper = node_of(partition.leader);
  note(FaultKind::strike_usurper, usurper);
  if (random_.chance(0.3)) return isolate_for(usurper, draw(1s, 6s));
  part_for(usurper, old_leader, draw(100ms, 2s));
  if (usurped_ && usurped_->stalled) return;
  for (auto const id : partition.isr) {
    if (node_of(id) != usurper && node_of(id) != old_leader) usurped_ = {usurper, node_of(id), {}};
  }
}

// Somebody is about to be told to cut its log. The thread that is to hear it is put aside; the leader goes meanwhile, and
// the one before, who has what was to be cut, leads again.
void PartitionStrikes::on_diverging_fetch(size_t leader) {
  if (late_cut_ && late_cut_->usurper == leader && !late_cut_->stalled) return stop_usurper();
  if (!usurped_ || usurped_->usurper != leader || usurped_->stalled) return;
  auto* env = cluster_.machine(usurped_->bystander).node();
  if (env == nullptr || env->is_dead()) return usurped_.reset();
  usurped_->stalled = random_.below(env->reactor_count());
  env->sim_reactor(*usurped_->stalled).stall(kStallMax);
  after(draw(1ms, 10ms), [this, leader] { power_cycle(leader, CrashKind::process); });
  after(kStallMax, [this] { usurped_.reset(); });
}

// It comes back just after the next leader has been asked.
void PartitionStrikes::on_usurper_gone() {
  auto const usurped = *std::exchange(usurped_, std::nullopt);
  if (!usurped.stalled) return;
  after(draw(1ms, 60ms), [this, usurped] {
    auto* env = cluster_.machine(usurped.bystander).node();
    if (env != nullptr && !env->is_dead()) env->sim_reactor(*usurped.stalled).resume();
  });
}

// ---- no more are in sync than must be

void PartitionStrikes::on_thin_set(Partition const& partition) {
  if (!has(FaultKind::strike_thin_set) || !has(FaultKind::power_loss) || world_.now() < no_thin_before_ || !random_.chance(0.3)) return;
  auto const node = node_of(partition.isr[random_.below(partition.isr.size())]);
  no_thin_before_ = world_.now() + kThinPause;
  note(FaultKind::strike_thin_set, node);
  after(draw(0ms, 300ms), [this, node] {
    if (means_.may_lose_power(node)) power_cycle(node, CrashKind::power_loss);
  });
}

// ---- what a follower told is heard when it is no longer true

void PartitionStrikes::next_late_fetch() {
  after(draw(300ms, kLateFetchPauseMax), [this] {
    auto const controller = means_.controller();
    // All but the one Fetch must get through: to the controller, and from it.
    auto const choices = find([&](Partition const& partition) {
      return controller && partition.isr.size() > 1 && !partition.has_replica(BrokerId(static_cast<int32_t>(*controller + 1)));
    });
    if (!choices.empty()) strike_late_fetch(*choices[random_.below(choices.size())].partition);
    next_late_fetch();
  });
}

void PartitionStrikes::strike_late_fetch(Partition const& partition) {
  auto const leader = node_of(partition.leader);
  std::vector<size_t> followers;
  for (auto const id : partition.isr) {
    if (id != partition.leader) followers.push_back(node_of(id));
  }
  auto const node = followers[random_.below(followers.size())];
  note(FaultKind::late_fetch, node);
  auto const span = draw(500ms, 3s);
  cut_for(node, leader, span);
  // Nothing is committed meanwhile, or it would not be taken back so soon.
  for (auto const id : partition.replicas) {
    if (id != partition.leader && node_of(id) != node) part_for(node_of(id), leader, span + 50ms);
  }
  after(draw(50ms, 300ms), [this, node] {
    if (means_.may_lose_power(node)) power_cycle(node, CrashKind::power_loss);
  });
}

// ---- a follower hears late that it is to cut its log

void PartitionStrikes::next_late_cut() {
  after(draw(200ms, kLateCutPauseMax), [this] {
    next_late_cut();
    if (late_cut_) return;
    auto const choices = find([](Partition const& partition) {
      return partition.replicas.size() == 3 && partition.leader == partition.replicas[1] && partition.isr.size() == 3;
    });
    if (!choices.empty()) return strike_late_cut(choices[random_.below(choices.size())]);
    auto const away = find([](Partition const& partition) { return partition.isr.size() == 3; });
    // Then somebody else will lead what it has led.
    if (!away.empty()) cluster_.machine(node_of(away[random_.below(away.size())].partition->leader)).stop();
  });
}

// Whom the controller prefers falls behind, is elected, tells the third that it has too much, and goes. Who led before
// has all of it, and leads again.
void PartitionStrikes::strike_late_cut(Found const& found) {
  auto const& replicas = found.partition->replicas;
  late_cut_ = {found.id, node_of(replicas[1]), node_of(replicas[0]), node_of(replicas[2]), {}, {}};
  part_for(late_cut_->holder, late_cut_->usurper, kLateCutMax);
  after(draw(30ms, 300ms), [this] { elect_usurper(); });
  after(kLateCutMax, [this] { late_cut_.reset(); });
}

// Again and again: whoever is asked may not be there.
void PartitionStrikes::elect_usurper() {
  if (!late_cut_ || late_cut_->stalled) return;
  means_.elect_preferred();
  after(draw(50ms, 150ms), [this] { elect_usurper(); });
}

// It has sent its answer. The thread that is to hear it is put aside.
void PartitionStrikes::stop_usurper() {
  auto const* topic = image_->find_topic(late_cut_->id.topic_id);
  auto const* partition = topic == nullptr ? nullptr : topic->find_partition(late_cut_->id.partition);
  if (partition == nullptr || partition->leader == kNoBroker || node_of(partition->leader) != late_cut_->usurper)
    return;
  auto* env = cluster_.machine(late_cut_->bystander).node();
  if (env == nullptr || env->is_dead()) return;
  note(FaultKind::late_cut, late_cut_->bystander);
  late_cut_->told_in = partition->leader_epoch;
  late_cut_->stalled = random_.below(env->reactor_count());
  env->sim_reactor(*late_cut_->stalled).stall(kLateCutMax);
  after(draw(1ms, 10ms), [this] {
    if (late_cut_) cluster_.machine(late_cut_->usurper).stop();
  });
  watch_late_cut();
}

// The thread goes on once the next leader counts on what was to be cut.
void PartitionStrikes::watch_late_cut() {
  if (!late_cut_ || !late_cut_->stalled) return;
  if (!has_next_leader_counted(late_cut_->id, late_cut_->told_in, late_cut_->holder, late_cut_->bystander)) {
    return after(kLateCutLook, [this] { watch_late_cut(); });
  }
  auto* env = cluster_.machine(late_cut_->bystander).node();
  if (env != nullptr && !env->is_dead()) env->sim_reactor(*late_cut_->stalled).resume();
}

bool PartitionStrikes::has_next_leader_counted(TopicIdPartition id, LeaderEpoch after, size_t leader, size_t follower) {
  if (!cluster_.is_serving(leader) || !cluster_.is_serving(follower)) return false;
  auto const leads = cluster_.node(leader)->node().partition(id);
  auto const follows = cluster_.node(follower)->node().partition(id);
  if (leads == nullptr || follows == nullptr || leads->status() != runtime::PartitionStatus::leader) return false;
  auto const marks = leads->marks();
  return marks.epoch > after && marks.high_watermark.offset == marks.end.offset &&
         follows->marks().epoch == marks.epoch;
}

// ---- somebody is about to join

void PartitionStrikes::on_caught_up(size_t node, size_t leader) {
  if (!is_on_ || !has(FaultKind::strike_joining) || world_.now() < no_joining_before_ || !random_.chance(0.3)) return;
  no_joining_before_ = world_.now() + kJoiningPause;
  note(FaultKind::strike_joining, node);
  auto const controller = means_.controller();
  if (controller && *controller != leader && random_.chance(0.6)) {
    // It joins and dies. That it joins is heard when it is back, and cannot reach its leader.
    auto const span = draw(300ms, cluster_.plan().broker_session * 3 / 4);
    cut_for(leader, *controller, span);
    after(draw(1ms, 30ms), [this, node, leader, span] {
      part_for(node, leader, span + 300ms);
      bool const may_lose_power = has(FaultKind::power_loss) && means_.may_lose_power(node);
      power_cycle(node, may_lose_power ? CrashKind::power_loss : CrashKind::process);
    });
    return;
  }
  after(random_.chance(0.5) ? Duration::zero() : draw(0ms, 30ms), [this, node] {
    if (random_.chance(0.4)) return cluster_.machine(node).stop();
    strike_suddenly(node);
  });
}

// ---- what the newest image tells

void PartitionStrikes::on_image(metadata::ImagePtr const& image) {
  auto const before = std::exchange(image_, image);
  if (before == nullptr || !is_on_) return;
  image->topics_by_id.for_each([&](TopicId const& id, metadata::TopicImagePtr const& topic) {
    auto const* old_topic = before->find_topic(id);
    if (old_topic == nullptr || old_topic == topic.get()) return;
    topic->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const& partition) {
      auto const* old = old_topic->find_partition(index);
      if (old != nullptr && old != partition.get()) on_partition(*old, *partition);
    });
  });
}

void PartitionStrikes::on_partition(Partition const& before, Partition const& now) {
  if (usurped_ && now.leader != before.leader && before.leader != kNoBroker && node_of(before.leader) == usurped_->usurper) on_usurper_gone();
  bool const is_deposed_alive = now.leader != before.leader && now.leader != kNoBroker && before.leader != kNoBroker && now.is_in_isr(before.leader);
  if (is_deposed_alive) return on_deposed_alive(now, node_of(before.leader));
  auto const least = std::min(static_cast<size_t>(cluster_.plan().min_in_sync), now.replicas.size());
  if (now.isr.size() == least && now.isr.size() < before.isr.size()) on_thin_set(now);
}

}  // namespace millrace::sim
