#include "sim/run/cluster.h"

#include "millrace/base/assert.h"
#include "millrace/raft/quorum_state.h"
#include "millrace/record/batch.h"
#include "sim/trace.h"

namespace millrace::sim {

using namespace std::chrono_literals;

std::string rack_of(size_t index) { return fmt::format("rack-{}", index % 3); }

namespace {

constexpr char const* kClusterId = "Q2x1c3RlcnMgaW4gdGltZQ";
constexpr char const* kDirectory = "/data";
constexpr char const* kMetadataDirectory = "/metadata";  // of nodes with a disk of its own for it
constexpr Duration kQuickRestart = 50ms;  // sooner than anybody misses it

char const* metadata_directory(ClusterPlan const& plan) { return plan.has_own_metadata_disk ? kMetadataDirectory : kDirectory; }
std::string host_of(size_t index) { return fmt::format("node-{}", index + 1); }
BrokerId id_of(size_t index) { return BrokerId(static_cast<int32_t>(index + 1)); }

broker::LocalNodeOptions make_options(NodeEnv& env, ClusterPlan const& plan, size_t index, bool is_first_start) {
  broker::LocalNodeOptions out;
  auto const& role = plan.nodes[index];
  auto random = env.random("config");
  out.config.node_id = id_of(index);
  out.config.region_bytes_min = random.chance(0.5) ? 1 : 1 << static_cast<int>(random.below(17));
  for (bool const is_broker : {true, false}) {
    if (is_broker ? !role.is_broker : !role.is_controller) continue;
    broker::NodeListener listener;
    listener.net.name = is_broker ? "PLAINTEXT" : "CONTROLLER";
    listener.net.addresses.push_back({"0.0.0.0", is_broker ? kClientPort : kControllerPort});
    listener.kind = is_broker ? broker::ListenerKind::broker : broker::ListenerKind::controller;
    listener.registered_host = env.machine().name();
    out.listeners.push_back(std::move(listener));
  }
  out.log_directories = {kDirectory};
  out.metadata_directory = metadata_directory(plan);
  // An operator names the cluster once; a disk that is empty later was lost.
  if (is_first_start) out.cluster_id = kClusterId;
  out.directory.low_space_bytes = 0;
  out.directory.preallocate_bytes = random.chance(0.5) ? 0 : 64 << 10;
  out.open_files_max = 16 + random.below(64);
  out.partitions.node_id = id_of(index);
  out.controller.controller.node_id = id_of(index);
  out.partitions.retention_check_interval = 10s;
  out.partitions.replication.inter_broker_listener = "PLAINTEXT";
  out.partitions.replication.lag_max = plan.replica_lag_max;
  out.partitions.replication.fetch.partition_bytes_max = plan.replica_fetch_bytes_max;
  auto& defaults = out.partitions.topic_defaults;
  defaults.log.segment_bytes = plan.segment_bytes;
  defaults.log.index_interval_bytes = plan.index_interval;
  defaults.timestamp_after_ms_max = std::numeric_limits<int64_t>::max();  // clocks jump here
  if (plan.is_flush) defaults.flush_messages = 1;
  out.controller.is_broker = role.is_broker;
  out.controller.is_controller = role.is_controller;
  out.controller.controller.default_replication_factor = plan.replication_factor;
  out.controller.controller.min_isr = plan.min_in_sync;
  out.controller.controller.broker_session = plan.broker_session;
  out.controller.broker.session_timeout = plan.broker_session;
  out.controller.broker.heartbeat_interval = plan.broker_session / 4;
  out.controller.network.listener = "CONTROLLER";
  out.controller.snapshot_interval_bytes = plan.snapshot_interval_bytes;
  out.controller.quorum.election_timeout = plan.election_timeout;
  out.controller.quorum.election_backoff_max = plan.election_timeout;
  out.controller.quorum.fetch_timeout = plan.fetch_timeout;
  out.controller.quorum.fetch_bytes_max = plan.quorum_fetch_bytes_max;
  out.controller.quorum.snapshot_bytes_max = plan.snapshot_piece_bytes_max;
  out.controller.network.request_timeout = plan.request_timeout;
  if (plan.has_racks) out.config.rack = rack_of(index);
  out.config.default_replication_factor = plan.replication_factor;
  out.has_static_voters = true;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    if (plan.nodes[i].is_controller) out.static_voters.push_back({id_of(i), host_of(i), kControllerPort});
  }
  return out;
}

}  // namespace

// --- node --------------------------------------------------------------------------------------------------------

ClusterNode::ClusterNode(NodeEnv& env, ClusterPlan const& plan, size_t index, bool is_first_start, std::string& reason)
    : env_(env),
      reason_(reason),
      node_(std::make_unique<broker::LocalNode>(env, make_options(env, plan, index, is_first_start),
                                                [this](std::string const& why) { give_up(why); })) {
  node_->start([this](Status status) {
    if (!status.ok()) give_up(status.error().message);
  });
}

void ClusterNode::stop(Task done) {
  node_->stop([this, done = std::move(done)](Status status) mutable {
    if (!status.ok()) env_.log().error("node", "stop: {}", status.error().message);
    std::move(done)();
  });
}

// As the server does: the process ends and is started again.
void ClusterNode::give_up(std::string const& reason) {
  env_.log().error("node", "ends: {}", reason);
  reason_ = reason;
  env_.machine().kill(CrashKind::process);
}

void ClusterNode::listen() {
  if (is_listening_ || node_->controller() == nullptr) return;
  is_listening_ = true;
  // A listener changes nothing of the node, which shows its controller to be looked at only.
  auto& controller = const_cast<runtime::ControllerDriver&>(*node_->controller());
  controller.publisher().subscribe([this](metadata::Publication const& publication) { told_ = publication.after; });
}

std::string ClusterNode::describe() const {
  auto out = fmt::format("phase {}", static_cast<int>(node_->phase()));
  if (auto const* machine = quorum()) out += fmt::format(", quorum {}", machine->text());
  if (auto const* published = image()) out += fmt::format(", image at {}", published->offset);
  return out;
}

// --- cluster -----------------------------------------------------------------------------------------------------

Cluster::Cluster(World& world, ClusterPlan const& plan) : world_(world), plan_(plan), random_(world.random("cluster")) {
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    auto& machine = world.add_machine(host_of(i), 2);
    members_.push_back({&machine, {}, false, false, machine.boots()});
    machine.on_end([this, i](bool) { on_end(i); });
  }
}

ClusterNode* Cluster::node(size_t index) {
  auto* env = machine(index).node();
  if (env == nullptr || env->is_dead()) return nullptr;
  return static_cast<ClusterNode*>(machine(index).process());
}

bool Cluster::is_serving(size_t index) {
  auto* found = node(index);
  return found != nullptr && found->is_serving();
}

void Cluster::start(size_t index) {
  auto& member = members_[index];
  member.is_held_down = false;
  if (member.machine->is_running()) return;
  bool const is_first = member.machine->lives() == 0 || !has_metadata(index);
  member.machine->start([this, index, is_first, &member](NodeEnv& env) {
    return std::make_unique<ClusterNode>(env, plan_, index, is_first, member.reason);
  });
}

void Cluster::start_all() {
  for (size_t i = 0; i < size(); ++i) start(i);
}

void Cluster::on_end(size_t index) {
  ++ends_;
  bool const lost_power = members_[index].boots != machine(index).boots();
  members_[index].boots = machine(index).boots();
  bool const is_wiped = std::exchange(members_[index].is_wiped, false);
  auto& disk = machine(index).disk();
  if (is_wiped) disk.erase(kDirectory);
  if (on_ended_) on_ended_(index, lost_power || is_wiped);
  disk.clear_faults();
  disk.set_capacity(int64_t{1} << 40);
  auto wait = Duration(random_.between(0, random_.chance(0.3) ? kQuickRestart.count() : restart_wait_max_.count()));
  if (std::exchange(members_[index].is_back_at_once, false)) wait = Duration::zero();
  world_.schedule(world_.now() + wait, kWorldLife, "restart", [this, index] {
    if (!members_[index].is_held_down) start(index);
  });
}

void Cluster::wipe(size_t index) {
  if (node(index) == nullptr) return;
  members_[index].is_wiped = true;
  machine(index).kill(CrashKind::process);
}

void Cluster::restart_at_once(size_t index) {
  if (node(index) == nullptr) return;
  members_[index].is_back_at_once = true;
  machine(index).kill(CrashKind::process);
}

void Cluster::cut(size_t from, size_t to) { world_.network().cut(machine(from), machine(to)); }
void Cluster::heal(size_t from, size_t to) { world_.network().heal(machine(from), machine(to)); }

void Cluster::isolate(size_t index) {
  for (size_t i = 0; i < size(); ++i) {
    if (i == index) continue;
    cut(i, index);
    cut(index, i);
  }
}

void Cluster::heal_all() {
  world_.network().heal_all();
  world_.network().faults() = {};
  for (size_t i = 0; i < size(); ++i) {
    auto& disk = machine(i).disk();
    disk.clear_faults();
    disk.set_capacity(int64_t{1} << 40);
    disk.speed() = {};
  }
}

bool Cluster::has_metadata(size_t index) {
  return machine(index).disk().durable_content(fmt::format("{}/meta.properties", metadata_directory(plan_))).has_value();
}

std::optional<raft::ElectionState> Cluster::durable_election(size_t index) {
  auto const path = fmt::format("{}/__cluster_metadata-0/{}", metadata_directory(plan_), raft::kQuorumStateFile);
  auto const text = machine(index).disk().durable_content(path);
  if (!text) return std::nullopt;
  auto const state = raft::parse_quorum_state(*text);
  return state ? std::optional(*state) : std::nullopt;
}

Offset Cluster::durable_end(size_t index, std::string_view topic, int32_t partition) {
  auto const directory = fmt::format("{}/{}-{}/", kDirectory, topic, partition);
  auto const& disk = machine(index).disk();
  Offset out{0};
  for (auto const& path : disk.files()) {
    if (!path.starts_with(directory) || !path.ends_with(".log")) continue;
    auto const content = disk.durable_content(path).value_or("");
    record::BatchReader reader(as_bytes(content));
    record::BatchView batch;
    while (reader.next(batch)) out = std::max(out, batch.next_offset());
  }
  return out;
}

std::string Cluster::first_difference(std::string_view directory, Offset end) {
  std::map<std::pair<std::string, int64_t>, std::pair<uint64_t, size_t>> batches;
  for (size_t i = 0; i < size(); ++i) {
    auto const& disk = machine(i).disk();
    for (auto const& path : disk.files()) {
      if (path.find(directory) == std::string::npos || !path.ends_with(".log")) continue;
      auto const log = path.substr(0, path.rfind('/'));
      auto const content = disk.content(path).value_or("");
      record::BatchReader reader(as_bytes(content));
      record::BatchView batch;
      while (reader.next(batch)) {
        if (batch.next_offset() > end) break;
        auto const print = Trace::hash_of(batch.bytes());
        auto const [at, is_first] = batches.try_emplace({log, batch.base_offset().value}, print, i);
        if (!is_first && at->second.first != print) {
          return fmt::format("{} of nodes {} and {} differs in the batch at offset {}", log, at->second.second + 1, i + 1, batch.base_offset());
        }
      }
    }
  }
  return {};
}

Duration Cluster::busy_until() {
  Duration out{};
  for (size_t i = 0; i < size(); ++i) out = std::max(out, machine(i).busy_until());
  return out;
}

std::string Cluster::describe() {
  std::string out;
  for (size_t i = 0; i < size(); ++i) {
    auto* found = node(i);
    out += fmt::format("\n  {}: {}", machine(i).name(), found == nullptr ? "down" : found->describe());
    if (!members_[i].reason.empty()) out += fmt::format(" (gave up: {})", members_[i].reason);
  }
  return out;
}

}  // namespace millrace::sim
