#include "millrace/broker/local_node.h"

#include "millrace/broker/broker.h"
#include "millrace/runtime/group_coordinators.h"

namespace millrace::broker {

namespace {

constexpr std::string_view kMetaPropertiesFile = "meta.properties";
// Descriptors that are not for log files: connections, listeners, the environment's own.
constexpr size_t kOtherDescriptors = 2000;
constexpr size_t kOpenFilesMin = 16;

size_t open_files_max(size_t wanted, size_t descriptors_max) {
  auto const fitting = descriptors_max > 2 * kOtherDescriptors ? descriptors_max - kOtherDescriptors : descriptors_max / 2;
  return std::max(kOpenFilesMin, wanted == 0 ? fitting : std::min(wanted, fitting));
}

}  // namespace

// What the job that opens the directories found.
struct LocalNode::Opened {
  Status status;
  std::vector<std::unique_ptr<storage::LogDirectory>> directories;
};

LocalNode::LocalNode(env::Env& env, LocalNodeOptions options, std::function<void(std::string const&)> on_failed)
    : env_(env), options_(std::move(options)), failed_(std::move(on_failed)) {
  files_ = std::make_unique<storage::FileCache>(
      env.disk(), open_files_max(options_.open_files_max, env.limits().descriptors_max));
}

LocalNode::~LocalNode() = default;

// ---- start

void LocalNode::start(Callback<void(Status)> ready) {
  env_.control_reactor().post([this, ready = std::move(ready)]() mutable {
    MR_ASSERT(phase_ == Phase::stopped);
    phase_ = Phase::opening;
    ready_ = std::move(ready);
    auto opened = std::make_shared<Opened>();
    env_.pool("").run(
        env_.control_reactor(), [this, opened] { open_directories(*opened); }, [this, opened] { on_opened(*opened); });
  });
}

// Directories that have an identity come first: the others are given the same cluster's.
void LocalNode::open_directories(Opened& opened) {
  auto paths = options_.log_directories;
  if (std::ranges::find(paths, options_.metadata_directory) == paths.end()) paths.push_back(options_.metadata_directory);
  auto const is_fresh = [this](std::string const& path) {
    return !env_.disk().exists(fmt::format("{}/{}", path, kMetaPropertiesFile));
  };
  std::ranges::stable_partition(paths, [&](auto const& path) { return !is_fresh(path); });
  std::optional<std::string> cluster_id;
  if (!options_.cluster_id.empty()) cluster_id = options_.cluster_id;
  for (auto const& path : paths) {
    if (!cluster_id && is_fresh(path)) {
      if (options_.may_draw_cluster_id) {
        cluster_id = env_.random_uuid().text();
      } else {
        opened.status = Error{ErrorKind::invalid,
                              fmt::format("log directory {} is empty and this node is not the only voter of its quorum; if "
                                          "its disk was replaced, start it once with -o millrace.cluster.id=ID, where ID is "
                                          "the cluster.id in another node's meta.properties",
                                          path)};
        return;
      }
    }
    auto options = options_.directory;
    options.path = path;
    options.cluster_id = cluster_id;
    options.node_id = options_.config.node_id;
    options.fresh_directory_id = env_.random_uuid();
    options.boot_id = env_.boot_id();
    options.now = env_.wall_now();
    options.is_flush_promised = options_.partitions.topic_defaults.is_flush_before_acknowledge();
    options.log = &env_.log();
    options.hooks = &env_.hooks();
    auto directory = storage::LogDirectory::open(env_.disk(), *files_, std::move(options));
    if (!directory) {
      opened.status = std::move(directory).error();
      return;
    }
    cluster_id = (*directory)->cluster_id();
    opened.directories.push_back(*std::move(directory));
  }
  opened.status = check_metadata_log(opened);
}

// Without its metadata log a cluster has no topics, and all its partitions would belong to nobody.
Status LocalNode::check_metadata_log(Opened const& opened) const {
  if (env_.disk().exists(fmt::format("{}/{}-0", options_.metadata_directory, storage::kClusterMetadataTopic))) return {};
  for (auto const& directory : opened.directories) {
    MR_TRY_ASSIGN(auto const partitions, directory->partitions());
    if (partitions.empty()) continue;
    return Error{ErrorKind::invalid,
                 fmt::format("{} holds {}, but {} has no metadata log: was a disk replaced or is metadata.log.dir another one? To "
                             "begin a new cluster, move the partitions away",
                             directory->path(), partitions.front().name, options_.metadata_directory)};
  }
  return {};
}

void LocalNode::on_opened(Opened& opened) {
  if (!opened.status) return finish_start(std::move(opened.status));
  directories_ = std::move(opened.directories);
  for (auto const& path : options_.log_directories) {
    auto const found = std::ranges::find(directories_, path, [](auto const& d) { return d->path(); });
    data_directories_.push_back(found->get());
  }
  metadata_directory_ =
      std::ranges::find(directories_, options_.metadata_directory, [](auto const& d) { return d->path(); })->get();
  for (auto const& directory : directories_) {
    directory->set_offline_handler([this, path = directory->path(), failed = directory.get()](std::string const& reason) {
      env_.log().error("node", "log directory {} is out of service: {}", path, reason);
      env_.control_reactor().post([this, path, failed] {
        partitions_->on_directory_offline(*failed);
        if (controller_ != nullptr) controller_->set_offline_directories(offline_directories());
        auto const is_last = std::ranges::all_of(data_directories_, [](auto const* d) { return d->is_offline(); });
        if (is_last || path == options_.metadata_directory) fail("log directory " + path + " is out of service");
      });
    });
  }

  options_.config.cluster_id = metadata_directory_->cluster_id();
  options_.controller.controller.cluster_id = options_.config.cluster_id;
  for (auto const& listener : options_.listeners) {
    options_.config.listeners.push_back({listener.net.name, listener.advertised_host, listener.advertised_port, "PLAINTEXT",
                                         listener.kind});
  }
  run_lists_ = std::make_unique<runtime::RunLists>(env_);
  options_.partitions.incarnation_id = env_.random_uuid();
  options_.partitions.is_broker = options_.controller.is_broker;
  options_.controller.controller.incarnation_id = *options_.partitions.incarnation_id;
  partitions_ = std::make_unique<runtime::PartitionManager>(env_, *run_lists_, data_directories_, options_.partitions);
  // Listening comes before the controller is made, which must know the ports. Connections wait until open().
  net_ = std::make_unique<net::NetServer>(env_, options_.net);
  if (auto status = listen(); !status) return finish_start(std::move(status));
  fill_endpoints();
  controller_ = std::make_unique<runtime::ControllerDriver>(env_, *metadata_directory_, options_.controller,
                                                            [this](Error const& error) { fail(error.message); });
  broker_ = std::make_unique<Broker>(env_, options_.config, *run_lists_, *partitions_, *controller_,
                                     std::make_shared<metadata::Image const>());
  partitions_->set_controller(controller_.get());
  auto& publisher = controller_->publisher();
  publisher.subscribe([this](metadata::Publication const& publication) { partitions_->on_publication(publication); });
  publisher.subscribe([this](metadata::Publication const& publication) { broker_->on_publication(publication); });
  publisher.subscribe([this](metadata::Publication const& publication) {
    for (auto const& election : changes_.add(publication, options_.config.node_id)) log_unclean(election);
  });
  publisher.set_finisher([this](metadata::ImagePtr image, Task done) {
    broker_->publish(std::move(image), env_.control_reactor(), std::move(done));
  });
  phase_ = Phase::loading;
  start_partitions();
}

std::vector<DirectoryId> LocalNode::offline_directories() const {
  std::vector<DirectoryId> out;
  for (auto const* directory : data_directories_) {
    if (directory->is_offline()) out.push_back(directory->directory_id());
  }
  return out;
}

Status LocalNode::listen() {
  for (auto const& listener : options_.listeners) {
    if (auto status = net_->listen(listener.net); !status) {
      return Error{status.error().kind, fmt::format("listener {}: {}", listener.net.name, status.error().message)};
    }
  }
  return {};
}

// Every controller says so: whoever decided it may be gone, and no operator may miss it.
void LocalNode::log_unclean(metadata::UncleanElection const& election) {
  if (!options_.controller.is_controller) return;
  if (election.is_last_known) MR_PROBE(env_.hooks(), "controller.last_known_leader_elected");
  env_.log().warn("controller", "broker {} leads {}-{} in epoch {} and may lack what was acknowledged: {}",
                  election.leader, election.topic, election.partition, election.epoch,
                  election.is_last_known
                      ? "it led last, and all that were in sync have come back without what was not on their disks"
                      : "nobody who was in sync is there, and an unclean election is allowed or was asked for");
}

void LocalNode::fill_endpoints() {
  auto& controller = options_.controller;
  auto const& node_id = options_.config.node_id;
  controller.log.self = {node_id, metadata_directory_->directory_id()};
  for (auto const& listener : options_.listeners) {
    if (listener.kind != ListenerKind::controller) continue;
    auto const port = listener.advertised_port != 0 ? listener.advertised_port : net_->addresses(listener.net.name)[0].port;
    controller.controller_endpoints.push_back(
        {listener.net.name, listener.registered_host, port, listener.security_protocol});
    controller.log.endpoints.push_back({listener.net.name, listener.registered_host, port});
  }
  controller.network.cluster_id = options_.config.cluster_id;
  controller.network.endpoints = controller.log.endpoints;
  controller.log.is_first_voter = options_.is_first_voter;
  if (!controller.log.endpoints.empty()) controller.network.listener = controller.log.endpoints.front().listener;
  if (!options_.static_voters.empty()) {
    for (auto const& named : options_.static_voters) {
      raft::Voter voter;
      voter.key.id = named.id;
      voter.endpoints.push_back({controller.network.listener, named.host, named.port});
      controller.log.static_voters.voters.push_back(std::move(voter));
    }
    std::ranges::sort(controller.log.static_voters.voters, {}, [](raft::Voter const& v) { return v.key.id; });
  } else if (options_.has_static_voters) {
    raft::Voter self;
    self.key.id = node_id;
    self.endpoints = controller.log.endpoints;
    controller.log.static_voters.voters.push_back(std::move(self));
  }
}

void LocalNode::start_partitions() {
  partitions_->start([this](Status status) {
    if (!status) return finish_start(std::move(status));
    start_controller();
  });
}

void LocalNode::start_controller() {
  runtime::LocalBroker local;
  local.incarnation_id = *options_.partitions.incarnation_id;
  local.rack = options_.config.rack.empty() ? std::nullopt : std::optional(options_.config.rack);
  for (auto const& listener : options_.listeners) {
    if (listener.kind != ListenerKind::broker) continue;
    auto const port = listener.advertised_port != 0 ? listener.advertised_port : net_->addresses(listener.net.name)[0].port;
    local.endpoints.push_back({listener.net.name, listener.registered_host, port, listener.security_protocol});
  }
  // What an old copy that was put back here lacks, nothing else tells: the metadata log may be newer than the copy.
  local.previous_epoch = storage::oldest_marked_epoch(data_directories_);
  for (auto const* directory : data_directories_) {
    local.directories.push_back(directory->directory_id());
    // What was acknowledged from the page cache may be gone. Where it was synced first it is there, or the log does not
    // open.
    if (directory->previous_stop() == storage::PreviousStop::machine_lost && !directory->kept_flush_promise()) {
      MR_PROBE(env_.hooks(), "node.registers_unclean");
      local.previous_epoch = -1;
    }
  }
  std::ranges::sort(local.directories);
  controller_->set_on_reachable([this] { on_reachable(); });
  controller_->start(std::move(local), [this](Result<int64_t> broker_epoch) {
    if (phase_ != Phase::loading && phase_ != Phase::joining) return;  // told to stop meanwhile
    if (!broker_epoch) return finish_start(std::move(broker_epoch).error());
    partitions_->set_broker_epoch(*broker_epoch);
    net_->open(*broker_);
    finish_start({});
  });
}

void LocalNode::on_reachable() {
  phase_ = Phase::joining;
  for (auto const& listener : options_.listeners) {
    if (listener.kind == ListenerKind::controller) net_->open(*broker_, listener.net.name);
  }
  if (stopped_) finish_start({});
}

void LocalNode::stop_joining() {
  env_.control_reactor().post([this] {
    if (phase_ == Phase::joining) finish_start({});
  });
}

void LocalNode::finish_start(Status status) {
  phase_ = status ? Phase::serving : Phase::stopped;
  if (ready_) std::move(ready_)(std::move(status));
  if (stopped_) begin_stop();
}

void LocalNode::fail(std::string const& reason) {
  if (failed_) std::exchange(failed_, nullptr)(reason);
}

// ---- stop

void LocalNode::stop(Callback<void(Status)> done) {
  env_.control_reactor().post([this, done = std::move(done)]() mutable {
    stopped_ = std::move(done);
    if (phase_ == Phase::joining) return finish_start({});
    if (phase_ != Phase::opening && phase_ != Phase::loading) begin_stop();
  });
}

void LocalNode::begin_stop() {
  if (phase_ != Phase::serving) return finish_stop({});
  phase_ = Phase::stopping;
  controller_->stop_broker([this] { stop_net(); });
}

void LocalNode::stop_net() {
  broker_->stop_groups();
  auto& reactor = env_.control_reactor();
  net_->stop(reactor.now() + options_.stop_wait, reactor, [this] { stop_partitions(); });
}

void LocalNode::stop_partitions() {
  controller_->leave_quorum();
  partitions_->stop(controller_->broker_epoch(), [this](Status status) {
    stop_status_ = std::move(status);
    stop_controller();
  });
}

void LocalNode::stop_controller() {
  controller_->close([this](Status status) { finish_stop(stop_status_ ? std::move(status) : std::move(stop_status_)); });
}

void LocalNode::finish_stop(Status status) {
  phase_ = Phase::stopped;
  std::move(stopped_)(std::move(status));
}

std::vector<std::string> LocalNode::reload(LocalNodeOptions const& options) {
  if (phase_ != Phase::serving) return {};
  auto const& settings = *options_.config.settings;
  auto const before = options_.config.statics->get();
  auto const after = options.config.statics->get();
  auto merged = *before;
  std::vector<std::string> fixed;
  std::set<std::string> names;
  for (auto const* set : {before.get(), after.get()}) {
    for (auto const& [name, value] : *set) names.insert(name);
  }
  for (auto const& name : names) {
    auto const old = before->find(name);
    auto const fresh = after->find(name);
    bool const is_same = (old == before->end()) == (fresh == after->end()) && (old == before->end() || old->second == fresh->second);
    if (is_same) continue;
    auto const* setting = settings.find(name);
    if (setting == nullptr || setting->update_mode != metadata::UpdateMode::cluster_wide) {
      fixed.push_back(name);
    } else if (fresh == after->end()) {
      merged.erase(name);
    } else {
      merged[name] = fresh->second;
    }
  }
  options_.config.statics->set(merged);
  controller_->set_statics(std::move(merged));
  partitions_->reload(options.partitions);
  return fixed;
}

// ---- questions

net::NetStats LocalNode::net_stats() const { return phase_ >= Phase::loading ? net_->stats() : net::NetStats{}; }

RequestFigures LocalNode::request_figures() const {
  return phase_ >= Phase::loading ? broker_->request_figures() : RequestFigures{};
}

LocalNode::State LocalNode::state() const {
  State state;
  if (phase_ < Phase::loading) return state;
  for (auto const& partition : partitions_->all()) {
    ++state.partitions;
    switch (partition->status()) {
      case runtime::PartitionStatus::opening: ++state.opening; continue;
      case runtime::PartitionStatus::leader: ++state.leaders; break;
      case runtime::PartitionStatus::offline: ++state.offline; break;
      case runtime::PartitionStatus::follower:
      case runtime::PartitionStatus::deleted: break;
    }
    state.log_bytes += partition->size_bytes();
  }
  for (auto const& directory : directories_) {
    ++state.log_directories;
    if (directory->is_offline()) ++state.offline_directories;
  }
  state.has_quorum = controller_->active_controller() != kNoBroker;
  return state;
}

void LocalNode::figures(runtime::FiguresRequest const& request, Callback<void(Figures)> done) {
  Figures out;
  out.state = state();
  if (phase_ < Phase::loading || broker_ == nullptr) return std::move(done)(std::move(out));
  out.image = controller_->publisher().published();
  out.partitions = partitions_->all();
  out.quorum = controller_->describe_quorum();
  out.changes = changes_;
  auto const& takeovers = partitions_->replication().takeovers();
  out.takeovers = takeovers.count.load(std::memory_order_relaxed);
  out.takeover_seconds = static_cast<double>(takeovers.sum_ns.load(std::memory_order_relaxed)) / 1e9;
  broker_->services().groups.figures(
      request, env_.control_reactor(),
      [out = std::move(out), done = std::move(done)](runtime::CoordinatorFigures groups) mutable {
        out.groups = std::move(groups);
        std::move(done)(std::move(out));
      },
      run_lists_->control());
}

std::shared_ptr<runtime::PartitionDriver> LocalNode::partition(TopicIdPartition const& id) const {
  return phase_ >= Phase::loading ? partitions_->find(id) : nullptr;
}

std::vector<env::SocketAddress> LocalNode::addresses(std::string const& listener_name) const {
  return phase_ >= Phase::loading ? net_->addresses(listener_name) : std::vector<env::SocketAddress>{};
}

std::string LocalNode::cluster_id() const { return phase_ >= Phase::loading ? options_.config.cluster_id : std::string(); }

}  // namespace millrace::broker
