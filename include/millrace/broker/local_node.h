// One whole node over an environment: log directories, metadata log and controller, partitions, broker, listeners;
// built in this order and taken down in the reverse one. The server gives it the real environment, the simulator its own.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/broker/context.h"
#include "millrace/env/env.h"
#include "millrace/metadata/partition_changes.h"
#include "millrace/net/net_server.h"
#include "millrace/runtime/controller_driver.h"
#include "millrace/runtime/group_figures.h"
#include "millrace/runtime/partition_manager.h"
#include "millrace/storage/log_directory.h"

namespace millrace::broker {

class Broker;

struct NodeListener {
  net::ListenerOptions net;
  ListenerKind kind = ListenerKind::broker;
  int16_t security_protocol = 0;    // its number in metadata records
  // How clients are told to reach it. Empty: as this client did; other nodes are told `registered_host`.
  std::string advertised_host;
  uint16_t advertised_port = 0;     // 0: the one that was bound
  std::string registered_host;
};

struct LocalNodeOptions {
  NodeConfig config;                // `cluster_id` and `listeners` are filled in
  std::vector<NodeListener> listeners;
  std::vector<std::string> log_directories;
  std::string metadata_directory;   // may be one of them
  // Given to directories that have none yet. Empty: drawn when `may_draw_cluster_id`, else the node refuses to start.
  std::string cluster_id;
  bool may_draw_cluster_id = false;
  storage::LogDirectoryOptions directory;        // path, ids, boot id and time are filled in
  size_t open_files_max = 0;                     // 0: from the environment's limit
  runtime::PartitionManagerOptions partitions;
  runtime::ControllerDriverOptions controller;   // ids and endpoints are filled in
  // All of controller.quorum.voters, if they are more than this node.
  std::vector<runtime::RaftAddress> static_voters;
  // controller.quorum.voters is set: a static quorum. Otherwise the voters stand in the metadata log.
  bool has_static_voters = false;
  // Without static voters: this node may form a quorum of its own.
  bool is_first_voter = true;
  net::NetOptions net;
  Duration stop_wait = 3s;                       // for running requests
};

class LocalNode {
 public:
  // joining: the other members of the quorum reach this node, clients do not yet.
  enum class Phase { stopped, opening, loading, joining, serving, stopping };

  // `on_failed` runs once, on the control reactor, when the node can go on no more; the process must end then.
  LocalNode(env::Env& env, LocalNodeOptions options, std::function<void(std::string const& reason)> on_failed);
  // After stop() has reported, or once the environment runs nothing any more.
  ~LocalNode();

  // Any thread. `ready` runs on the control reactor: clients are served, or why not.
  void start(Callback<void(Status)> ready);
  // Any thread, after start(). `done` runs on the control reactor: everything is on disk and closed. A start that is
  // under way ends first.
  void stop(Callback<void(Status)> done);

  // Any thread. A start that waits for a quorum ends: the node counts as started, and stop() is next.
  void stop_joining();

  // The node's file was read again: takes over the keys that can change while the node runs, and names the others that
  // differ. On the control reactor, while it serves.
  std::vector<std::string> reload(LocalNodeOptions const& options);

  // Any thread.
  Phase phase() const { return phase_.load(); }
  net::NetStats net_stats() const;
  RequestFigures request_figures() const;
  std::vector<env::SocketAddress> addresses(std::string const& listener_name) const;
  std::string cluster_id() const;
  // What the partitions and log directories of this node are doing. On the control reactor.
  struct State {
    int64_t partitions = 0, leaders = 0, opening = 0, offline = 0;
    int64_t log_bytes = 0, log_directories = 0, offline_directories = 0;
    bool has_quorum = false;
  };
  State state() const;
  // What operators look at. On the control reactor; `done` runs there too.
  struct Figures {
    State state;
    metadata::ImagePtr image;  // null before there is one
    std::vector<std::shared_ptr<runtime::PartitionDriver>> partitions;
    runtime::CoordinatorFigures groups;
    runtime::QuorumDescription quorum;
    metadata::PartitionChanges changes;
    int64_t takeovers = 0;        // partitions that began to be led here
    double takeover_seconds = 0;  // that it took, in sum
  };
  void figures(runtime::FiguresRequest const& request, Callback<void(Figures)> done);
  // Any thread, while the node lives: this node's replica, if it has one.
  std::shared_ptr<runtime::PartitionDriver> partition(TopicIdPartition const& id) const;
  // For who looks inside, on the control reactor; null while the directories are being opened.
  runtime::ControllerDriver const* controller() const { return controller_.get(); }
  BrokerId node_id() const { return options_.config.node_id; }
  std::vector<std::string> const& log_directories() const { return options_.log_directories; }

 private:
  struct Opened;

  void open_directories(Opened& opened);
  Status check_metadata_log(Opened const& opened) const;
  void on_opened(Opened& opened);
  Status listen();
  std::vector<DirectoryId> offline_directories() const;
  void fill_endpoints();
  void log_unclean(metadata::UncleanElection const& election);
  void start_partitions();
  void start_controller();
  void on_reachable();
  void finish_start(Status status);
  void begin_stop();
  void stop_net();
  void stop_partitions();
  void stop_controller();
  void finish_stop(Status status);
  void fail(std::string const& reason);

  env::Env& env_;
  LocalNodeOptions options_;
  std::function<void(std::string const&)> failed_;
  std::atomic<Phase> phase_{Phase::stopped};
  Callback<void(Status)> ready_;
  Callback<void(Status)> stopped_;
  Status stop_status_;
  metadata::PartitionChanges changes_;

  // In the order in which they are made.
  std::unique_ptr<storage::FileCache> files_;
  std::vector<std::unique_ptr<storage::LogDirectory>> directories_;
  storage::LogDirectory* metadata_directory_ = nullptr;
  std::vector<storage::LogDirectory*> data_directories_;
  std::unique_ptr<runtime::RunLists> run_lists_;
  std::unique_ptr<runtime::PartitionManager> partitions_;
  std::unique_ptr<runtime::ControllerDriver> controller_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<net::NetServer> net_;
};

}  // namespace millrace::broker
