#include "sim/run/cluster_run.h"

namespace millrace::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSettleLimit = 100s;
constexpr double kQuietRestartChance = 0.3;
constexpr int64_t kSmallSnapshotInterval = 5000;
constexpr int kQuietTriesMax = 20;  // until a snapshot holds all
constexpr Duration kRestartLimit = 10s;  // an orderly stop, two seconds down, a start
constexpr uint64_t kFaultsMin = 3;  // that strike while there is load
constexpr std::string_view kMetadataLog = "/__cluster_metadata-0/";
constexpr std::string_view kOffsetsLogs = "/__consumer_offsets-";

// What runs on a client machine: it is there until the end of the run.
class ClusterClients final : public Process {
 public:
  std::vector<std::unique_ptr<AdminWriter>> writers;
};

}  // namespace

ClusterRun::ClusterRun(ScenarioInput const& input, std::string name, ClusterPlan plan)
    : input_(input),
      name_(std::move(name)),
      plan_(std::move(plan)),
      random_(Random(input.seed).fork("cluster run")),
      world_({.seed = input.seed, .mutant = input.mutant, .has_chaos = true, .trace = input.trace}),
      cluster_(world_, plan_),
      oracle_(cluster_, [this](std::string text) { fail(std::move(text)); }),
      faults_(world_, cluster_, [this] { return oracle_.leader(); }, [this](size_t i) { return may_lose_power(i); },
              [this](size_t i) { return may_lose_disk(i); }, [this](size_t i) { return oracle_.can_do_without(i); }),
      strikes_(world_, cluster_, {.may_lose_power = [this](size_t i) { return may_lose_power(i); },
                                  .controller = [this] { return oracle_.leader(); },
                                  .elect_preferred = [this] { if (operator_ != nullptr) operator_->elect_now(); },
                                  .count = [this](FaultKind kind) { faults_.note(kind); }}),
      client_machine_(world_.add_machine("clients", 2)),
      data_machine_(world_.add_machine("data-clients", 2)),
      group_machine_(world_.add_machine("group-clients", 2)),
      run_(world_),
      loose_run_(world_) {}

ClusterRun::~ClusterRun() = default;

bool ClusterRun::may_lose_power(size_t index) {
  return !plan_.nodes[index].is_broker || plan_.is_flush || may_lose_disk(index);
}

// With min.insync.replicas of two one broker may come back without what it had acknowledged. Where a second one does before
// the first is in sync again, Kafka too has nobody who is eligible, and elects the last leader with what it has. Where
// min.insync.replicas changes, not even one may: when all were killed, two come back and leave the in-sync set to the
// third, and the change makes them no longer eligible, what the third has not on its disk is lost for good.
// Nor may the only one left that is eligible for a partition: who was killed before it heard how it had been registered may
// come back as one that has lost records, though it has not.
bool ClusterRun::may_lose_disk(size_t index) {
  if (plan_.changes_min_in_sync()) return false;
  if (!lossy_.empty() && !lossy_.contains(index)) return false;
  if (auto const* image = newest_image(); image != nullptr && is_sole_copy(*image, index)) return false;
  lossy_[index] = cluster_.machine(index).lives();
  return true;
}

void ClusterRun::on_ended(size_t index, bool has_lost) {
  if (has_lost && data_oracle_ != nullptr) data_oracle_->on_power_loss(index);
  if (has_lost && !cluster_.has_metadata(index)) oracle_.on_lost_disk(index);
}

// The newest that any node has published.
metadata::Image const* ClusterRun::newest_image() {
  metadata::Image const* out = nullptr;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto const* image = cluster_.node(i) == nullptr ? nullptr : cluster_.node(i)->image();
    if (image != nullptr && (out == nullptr || image->offset > out->offset)) out = image;
  }
  return out;
}

bool ClusterRun::is_sole_copy(metadata::Image const& image, size_t index) {
  BrokerId const id(static_cast<int32_t>(index + 1));
  return !image.topics.for_each([&](auto const& name, auto const& topic) {
    return name == kLooseTopic || topic->partitions.for_each([&](auto, auto const& partition) {
      if (partition->replicas.size() < 2) return true;
      auto const is_other = [&](BrokerId each) { return each != id; };
      return !partition->has_replica(id) || std::ranges::any_of(partition->isr, is_other) || std::ranges::any_of(partition->elr, is_other);
    });
  });
}

bool ClusterRun::is_in_sync_everywhere(metadata::Image const& image, size_t index) {
  BrokerId const id(static_cast<int32_t>(index + 1));
  return image.topics.for_each([&](auto const&, auto const& topic) {
    return topic->partitions.for_each([&](auto, auto const& partition) { return !partition->has_replica(id) || partition->is_in_isr(id); });
  });
}

// Who lost what was not on its disk counts as a copy again once it is in sync everywhere. What a disk that failed has lost
// is known when its process is started anew, and not before.
void ClusterRun::forgive_lossy() {
  auto const* image = newest_image();
  if (image == nullptr) return;
  std::erase_if(lossy_, [&](auto const& each) {
    auto const [index, life] = each;
    return cluster_.machine(index).lives() != life && cluster_.is_serving(index) && is_in_sync_everywhere(*image, index);
  });
}

void ClusterRun::fail(std::string text) {
  if (run_.failure) return;
  world_.trace().say(world_.now(), "FAILED", text);
  run_.fail(std::move(text));
}

bool ClusterRun::wait_for(std::string_view what, std::function<bool()> const& condition, Duration limit) {
  bool const done = world_.run_while_not(
      [&] {
        observe();
        return run_.failure.has_value() || condition();
      },
      limit);
  if (!done) fail(fmt::format("within {} ms: {}; the nodes:{}", to_ms(limit), what, cluster_.describe() + describe_clients()));
  return !run_.failure;
}

bool ClusterRun::run_for(Duration span) {
  world_.run_while_not(
      [this] {
        observe();
        return run_.failure.has_value();
      },
      span);
  return !run_.failure;
}

// Only its own events change what a node is.
void ClusterRun::observe() {
  auto const owner = world_.last_owner();
  if (owner == kWorldLife || world_.events_run() == observed_events_) return;
  observed_events_ = world_.events_run();
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto* env = cluster_.machine(i).node();
    if (env == nullptr || env->life() != owner) continue;
    auto* node = cluster_.node(i);
    if (node == nullptr) return;
    node->listen();
    auto const elections = oracle_.elections();
    oracle_.observe(i, *node);
    if (oracle_.elections() != elections) faults_.on_new_leader(i, true);
    if (data_oracle_ != nullptr) {
      auto const changes = data_oracle_->leader_changes();
      data_oracle_->observe(i, *node);
      tell_image(node->told());
      if (data_oracle_->leader_changes() != changes) faults_.on_new_leader(i, false);
    }
    if (!lossy_.empty()) forgive_lossy();
  }
}

void ClusterRun::tell_image(metadata::ImagePtr const& image) {
  if (image == nullptr || image->offset <= told_image_) return;
  told_image_ = image->offset;
  strikes_.on_image(image);
  if (late_requests_ != nullptr) late_requests_->on_image(image);
}

std::vector<ClusterClient::Address> ClusterRun::addresses(bool of_brokers) {
  std::vector<ClusterClient::Address> out;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    // A client's list of brokers has a place for every node: its number there is its id.
    if (of_brokers) out.push_back({cluster_.machine(i).name(), kClientPort});
    else if (plan_.nodes[i].is_controller) out.push_back({cluster_.machine(i).name(), kControllerPort});
  }
  return out;
}

void ClusterRun::start_clients() {
  client_machine_.start([this](NodeEnv& env) {
    auto clients = std::make_unique<ClusterClients>();
    for (uint32_t i = 0; i < plan_.admin_writers; ++i) {
      clients->writers.push_back(std::make_unique<AdminWriter>(env, i % 2, fmt::format("admin-{}", i), addresses(i % 2 == 1 && plan_.has_brokers())));
      writers_.push_back(clients->writers.back().get());
      clients->writers.back()->start();
    }
    return clients;
  });
}

size_t ClusterRun::acknowledged() const {
  size_t out = 0;
  for (auto const* writer : writers_) out += writer->acknowledged();
  return out;
}

// All up, one leader whom all follow, and all have published the same.
bool ClusterRun::has_settled() {
  auto const leader = oracle_.leader();
  if (!leader) return false;
  auto const epoch = cluster_.node(*leader)->quorum()->epoch();
  auto const end = cluster_.node(*leader)->quorum()->log_end();
  for (size_t i = 0; i < cluster_.size(); ++i) {
    if (!cluster_.is_serving(i)) return false;
    auto const& machine = *cluster_.node(i)->quorum();
    if (machine.epoch() != epoch || machine.leader().value != static_cast<int32_t>(*leader + 1)) return false;
    // A slow disk may still be at work with what it was told before it was healed.
    if (machine.log_end() != end || machine.durable_end() != end.offset || !machine.is_election_durable()) return false;
    auto const* image = cluster_.node(i)->image();
    if (image == nullptr || image->offset + 1 < end.offset || machine.high_watermark() < end.offset) return false;
  }
  return true;
}

bool ClusterRun::settle() {
  for (auto* writer : writers_) writer->set_paused(true);
  // A job that a slow disk was given before it was healed still takes its time: some syncs that stall, half a minute each.
  if (auto const busy_until = cluster_.busy_until(); busy_until > world_.now() && !run_for(busy_until - world_.now())) return false;
  if (!wait_for("all nodes are up, follow one leader and have committed what it has", [this] { return has_settled(); }, kSettleLimit)) return false;
  for (auto* writer : writers_) writer->set_paused(false);
  auto const before = acknowledged();
  return wait_for("metadata can be changed", [&] { return acknowledged() > before; }, kSettleLimit);
}

// While nobody changes anything: who comes back must not need news to know what there is. The hardest is a log of which
// nothing is left behind the newest snapshot.
bool ClusterRun::restart_quietly() {
  auto random = random_.fork("quiet restart");
  if (!random.chance(kQuietRestartChance)) return true;
  // Not the leader: the epoch of the next one is news.
  auto const index = (*oracle_.leader() + 1 + random.below(cluster_.size() - 1)) % cluster_.size();
  auto const is_all_in_snapshot = [&] {
    auto const& machine = *cluster_.node(index)->quorum();
    return machine.latest_snapshot() && machine.latest_snapshot()->end_offset == machine.log_end().offset;
  };
  int tries_left = plan_.snapshot_interval_bytes <= kSmallSnapshotInterval ? kQuietTriesMax : 0;
  for (;; --tries_left) {
    for (auto* writer : writers_) writer->set_paused(true);
    if (!wait_for("all know what is committed", [this] { return has_settled(); }, kSettleLimit)) return false;
    if (tries_left <= 0 || is_all_in_snapshot()) break;
    for (auto* writer : writers_) writer->set_paused(false);
    if (!wait_for_progress("a pause")) return false;
  }
  trial_ += is_all_in_snapshot() ? "+quiet_restart_from_snapshot" : "+quiet_restart";
  auto const ends = cluster_.ends();
  cluster_.machine(index).stop();
  auto const is_back = [&] { return cluster_.ends() > ends && has_settled(); };
  if (!wait_for(fmt::format("node {} has stopped, come back, and knows what is committed", index + 1), is_back, election_bound() + kRestartLimit)) return false;
  for (auto* writer : writers_) writer->set_paused(false);
  return true;
}

bool ClusterRun::run_load() {
  if (plan_.loyal_askers > 0) return run_pauses();
  faults_.start();
  if (plan_.has_brokers()) strikes_.start();
  bool const is_well = run_for(plan_.load_span) && wait_for("enough faults have struck", [this] { return faults_.count() >= kFaultsMin; }, kSettleLimit);
  strikes_.stop();
  faults_.stop();
  return is_well;
}

ScenarioResult ClusterRun::go() {
  ScenarioResult result;
  result.options = fmt::format("scenario={} {}", name_, plan_.text());
  note_options(result.options);
  cluster_.on_ended([this](size_t index, bool has_lost) { on_ended(index, has_lost); });
  cluster_.start_all();
  start_clients();
  if (settle() && start_data() && start_members()) {
    if (run_load() && settle() && run_trial() && settle() && restart_quietly() && check_data() && check_members()) check_at_rest();
  }
  result.failure = run_.failure.value_or("");
  result.hash = world_.trace().hash();
  result.events = world_.events_run();
  result.probes = world_.probes();
  result.counts = counts();
  result.options += fmt::format(" | trial={} virtual_s={} ends={} faults={} ({}) epochs={} committed={} images={} acknowledged={}",
                                trial_, world_.now() / 1s, cluster_.ends(), faults_.count(), faults_.text(), oracle_.elections(),
                                oracle_.committed_end(), oracle_.images_compared(), acknowledged());
  if (data_oracle_ != nullptr) {
    uint64_t seen = 0, commits = 0;
    for (auto const* consumer : consumers_) seen += consumer->records_seen();
    for (auto const* committer : committers_) commits += committer->acknowledged();
    if (group_ != nullptr) result.options += fmt::format(" generations={} member_commits={}", group_->newest_generation(), group_->commits_ok());
    if (cycler_ != nullptr) result.options += fmt::format(" topics={}", cycler_->topics());
    result.options += fmt::format(" produces={} records_ok={} records_seen={} polls={} commits={} leader_changes={} unclean={}", acknowledged_requests(), acknowledged_records(),
                                  seen, run_.history.polls.size(), commits, data_oracle_->leader_changes(), data_oracle_->unclean_elections());
  }
  if (run_.failure && input_.trace != nullptr) fmt::print(input_.trace, "{}", run_.history.text());
  for (size_t i = 0; i < cluster_.size(); ++i) cluster_.machine(i).on_end(nullptr);
  return result;
}

uint64_t ClusterRun::acknowledged_requests() const {
  uint64_t out = 0;
  for (auto const* producer : producers_) out += producer->requests_ok();
  return out;
}

uint64_t ClusterRun::acknowledged_records() const {
  uint64_t out = 0;
  for (auto const* producer : producers_) out += producer->records_ok();
  return out;
}

Counts ClusterRun::counts() const {
  Counts out;
  out[std::string(kVirtualMs)] = static_cast<uint64_t>(to_ms(world_.now()));
  out[std::string(kAcknowledgedRecords)] = acknowledged_records();
  out[std::string(kProduceRequests)] = acknowledged_requests();
  for (size_t i = 0; i < kFaultKinds; ++i) {
    auto const kind = static_cast<FaultKind>(i);
    out[fmt::format("{}{}", kFaultPrefix, name_of(kind))] = faults_.count(kind);
  }
  return out;
}

void ClusterRun::check_at_rest() {
  for (auto* writer : writers_) writer->finish();
  auto const is_idle = [this] { return std::ranges::all_of(writers_, [](auto const* w) { return w->is_idle(); }); };
  if (!wait_for("every change of metadata is acknowledged", is_idle, kSettleLimit)) return;
  auto const is_equal = [this] {
    for (size_t i = 0; i < cluster_.size(); ++i) {
      if (!cluster_.is_serving(i) || cluster_.node(i)->image() == nullptr) return false;
      if (cluster_.node(i)->image()->offset + 1 != oracle_.committed_end()) return false;
    }
    return true;
  };
  if (!wait_for("all nodes have published everything that is committed", is_equal, kSettleLimit)) return;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    for (auto const* writer : writers_) {
      if (auto const missing = writer->missing_in(*cluster_.node(i)->image()); !missing.empty()) {
        return fail(fmt::format("M2: the image of node {} lacks {}", i + 1, missing));
      }
    }
  }
  compare_logs(kMetadataLog, oracle_.committed_end());
  // At rest nobody has a tail of his own.
  if (!run_.failure) compare_logs(kOffsetsLogs, Offset(std::numeric_limits<int64_t>::max()));
  if (!run_.failure && cycler_ != nullptr && run_for(1s)) {
    compare_logs(fmt::format("/{}-0/", TopicCycler::kTopic), Offset(std::numeric_limits<int64_t>::max()));
  }
}

void ClusterRun::compare_logs(std::string_view directory, Offset end) {
  if (auto const difference = cluster_.first_difference(directory, end); !difference.empty()) fail("C14: " + difference);
}

// Controllers alone.
ScenarioResult run_quorum(ScenarioInput const& input) {
  auto plan = draw_quorum_plan(Random(input.seed).fork("quorum plan"), input.node_count);
  draw_disk_losses(Random(input.seed).fork("disk losses"), plan);
  return ClusterRun(input, "quorum", std::move(plan)).go();
}

ScenarioResult run_cluster(ScenarioInput const& input) {
  return ClusterRun(input, "cluster", draw_cluster_plan(Random(input.seed).fork("cluster plan"), input.node_count)).go();
}

ScenarioResult run_late_cut(ScenarioInput const& input) {
  return ClusterRun(input, "late_cut", draw_late_cut_plan(Random(input.seed).fork("late cut plan"))).go();
}

}  // namespace millrace::sim
