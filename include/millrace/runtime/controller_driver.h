// The controller of this node: takes requests one decision at a time, appends what they decide to the metadata log,
// publishes what is committed and answers when every thread of the node has seen it. Also looks after this node's own
// registration as a broker and its block of producer ids.
//
// Lives on the control reactor; submit(), next_producer_id() and the getters may be called by any thread.
//
// Order of a node's life: construct, subscribe to publisher(), start(), [requests], stop_broker(), close(), destroy.
#pragma once
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "millrace/env/env.h"
#include "millrace/metadata/controller.h"
#include "millrace/runtime/broker_presence.h"
#include "millrace/runtime/controller_channel.h"
#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/metadata_publisher.h"
#include "millrace/runtime/raft_driver.h"

namespace millrace::runtime {

struct ControllerDriverOptions {
  metadata::ControllerConfig controller;
  MetadataLogOptions log;
  raft::MachineConfig quorum;  // timeouts; `self` is that of `log`
  RaftNetworkOptions network;
  bool is_broker = true;
  bool is_controller = true;
  BrokerLifecycleConfig broker;  // `previous_epoch` is filled in
  std::vector<metadata::Endpoint> controller_endpoints;
  std::string inter_broker_listener;  // where brokers are reached; empty, or one that a broker has not: its first
  bool balances_leaders = true;       // auto.leader.rebalance.enable
  Duration balance_interval = 300s;   // leader.imbalance.check.interval.seconds
  int64_t snapshot_interval_bytes = 20LL << 20;  // metadata.log.max.record.bytes.between.snapshots
  Duration broker_start_deadline = 60s;
};

class ControllerDriver final : public ControllerClient, private RaftEvents {
 public:
  // `on_failed` is told once that the metadata log cannot be written; the process must stop then.
  ControllerDriver(env::Env& env, storage::LogDirectory& directory, ControllerDriverOptions options,
                   std::function<void(Error const&)> on_failed);
  ~ControllerDriver() override;

  MetadataPublisher& publisher() { return publisher_; }
  MetadataPublisher const& publisher() const { return publisher_; }
  // For who looks inside, on the control reactor; null before the log is loaded.
  raft::Machine const* quorum() const { return is_started_ ? &raft_.machine() : nullptr; }

  // A node alone loads the log, takes the lead, registers itself and unfences itself. With other voters a broker
  // registers with whoever leads. A controller alone is ready once the log is loaded. `ready` gets the broker epoch once
  // all threads have an image in which this node may lead; on the control reactor. Any thread.
  void start(LocalBroker broker, Callback<void(Result<int64_t>)> ready);
  // Before start(). Runs once the log is loaded, if the other members of the quorum must reach this node before it can be
  // ready; on the control reactor.
  void set_on_reachable(Task on_reachable) { reachable_ = std::move(on_reachable); }

  // Controlled shutdown: gives up leaderships, then fences this node. Any thread; `done` on the control reactor.
  void stop_broker(Task done);
  // The listeners are closed: this node must not be elected while its logs are being closed. On the control reactor.
  void leave_quorum() {
    if (is_started_) raft_.leave();
  }
  // No requests come any more. Closes the metadata log.
  void close(Callback<void(Status)> done);

  void submit(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
              Callback<void(metadata::ControllerAnswer)> done) override;
  void submit_here(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                   Callback<void(metadata::ControllerAnswer)> done) override;
  void heartbeat_connection_ended(metadata::fencing::HeartbeatConnectionEnded ended) override;
  bool is_active() const override { return is_active_.load(std::memory_order_relaxed); }
  void forward(SharedBytes frame, ForwardedFrom from, Mono deadline, env::Reactor& back,
               Callback<void(std::optional<SharedBytes>)> done) override;
  void next_producer_id(Mono deadline, env::Reactor& back, Callback<void(Result<ProducerId>)> done) override;
  void submit_raft(raft::Request request, std::optional<RaftAddress> leader, env::Reactor& back,
                   Callback<void(RaftAnswer)> done) override;
  LeaderStanding const& standing() const override { return standing_; }
  QuorumDescription describe_quorum() const override;
  BrokerId active_controller() const override;

  // The node's file was read again. On the control reactor.
  void set_statics(metadata::StaticConfigs statics) { controller_.set_statics(std::move(statics)); }

  // On the control reactor.
  int64_t broker_epoch() const { return broker_epoch_; }
  void set_offline_directories(std::vector<DirectoryId> directories);

  std::string const& cluster_id() const { return options_.controller.cluster_id; }

 private:
  struct Uncommitted {  // a decision's image, until it is committed
    Offset end;
    metadata::Image image;
    metadata::ImageDelta delta;
  };
  struct Waiting {  // an answer, until what it saw is published
    Offset seen;    // the last offset of the tip that it was decided on
    Mono deadline;
    env::Reactor* back{};
    Callback<void(metadata::ControllerAnswer)> done;
    metadata::ControllerAnswer answer;
  };
  struct IdWaiter {
    env::Reactor* back{};
    Callback<void(Result<ProducerId>)> done;
  };

  void on_leader(LeaderEpoch epoch, Offset log_end, Wall now) override;
  void on_lost_leadership(LeaderEpoch epoch) override;
  void on_leader_known(BrokerId leader, LeaderEpoch epoch) override;
  void on_replicated(std::vector<SharedBytes> const& batches) override;
  void on_truncated(Offset to) override;
  void on_snapshot(metadata::Replayer replayer) override;
  void on_committed(Offset high_watermark) override;
  void on_leader_answered(Mono asked_at, Offset high_watermark) override;
  void on_failed(Error const& error) override;

  void on_loaded(Result<LoadedMetadata> loaded);
  void reload(Offset to);
  void hold(Task task) { held_.push_back(std::move(task)); }
  void register_controller();
  void maybe_register_controller(metadata::Image const& image);
  void start_broker();
  void start_presence();
  void arm_pause_watch();
  void look_for_pause();
  void feed_pauses(pauses::Event const& event);
  bool admit(Callback<void(metadata::ControllerAnswer)>& done, metadata::ControllerRequest const& request,
             env::Reactor& back);
  void ask(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
           Callback<void(metadata::ControllerAnswer)> done);
  void ask_elsewhere(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                     Callback<void(metadata::ControllerAnswer)> done);
  std::optional<RaftAddress> active_address() const;
  void resume_clients();
  void refuse_waiting();
  void on_request(metadata::ControllerRequest request, Mono deadline, env::Reactor& back,
                  Callback<void(metadata::ControllerAnswer)> done);
  // False: this node does not lead any more.
  bool append_and_replay(metadata::RecordList const& records);
  bool append_in_batches(metadata::RecordList const& records);  // of a decision that is not atomic
  void on_published(metadata::ImagePtr const& image);
  void release(Waiting waiting);
  void arm_deadline();
  void expire();
  void begin_watch();
  void observe_brokers(metadata::Image const& image);
  void arm_session_check();
  void watch_brokers();
  void run_probes();
  void start_probe(metadata::fencing::Probe const& probe);
  void on_fencing_event(metadata::fencing::Event const& event);
  void maybe_snapshot();
  void update_description();
  void stop_step();
  void refill_producer_ids();
  void fail_start(Error error);

  env::Env& env_;
  env::Reactor& reactor_;
  storage::LogDirectory& directory_;
  ControllerDriverOptions options_;
  std::function<void(Error const&)> failed_;
  metadata::Controller controller_;
  MetadataPublisher publisher_;
  RaftDriver raft_;
  ControllerChannel channel_;
  std::unique_ptr<BrokerPresence> presence_;  // with other voters
  LeaderStanding standing_;

  // Control reactor only.
  metadata::Replayer tip_;
  metadata::RecordList formatted_;
  std::optional<LeaderEpoch> leading_;
  Mono leading_since_{};
  PauseWatch pauses_;
  // Everybody here must have been told what this epoch began with before a client's question is answered from an image.
  Offset active_from_{0};
  std::vector<Task> until_active_;  // their questions meanwhile; each connection has one at a time
  metadata::ImageDelta tip_delta_;   // since the last element of uncommitted_
  std::deque<Uncommitted> uncommitted_;
  std::deque<Waiting> waiting_;
  env::TimerId deadline_timer_ = env::kNoTimer;
  Mono deadline_armed_ = Mono::never();
  LocalBroker local_broker_;
  int64_t broker_epoch_ = -1;
  Callback<void(Result<int64_t>)> ready_;
  Task stopped_;
  Task reachable_;
  bool is_alone_ = true;  // nobody else votes
  bool is_registering_ = false;  // this node as a controller
  BrokerId leader_seen_ = kNoBroker;
  int64_t leaders_seen_ = 0;
  Duration without_leader_{};
  std::optional<Mono> leaderless_since_;
  // The log is read again, since more of it was cut off than images are kept; what happens meanwhile waits. Bounded: the
  // quorum's machine waits for the disk, too.
  bool is_reloading_ = false;
  std::deque<Task> held_;
  bool is_started_ = false;  // the machine runs
  bool is_closed_ = false;
  bool is_session_check_armed_ = false;
  Mono next_election_, next_balance_;
  std::vector<DirectoryId> offline_directories_;  // of a node alone that does not serve yet
  BrokerId leader_before_ = kNoBroker;  // of the quorum, the last one that was another node
  // Who calls back late finds it gone.
  std::shared_ptr<bool const> const alive_ = std::make_shared<bool const>(true);

  std::atomic<size_t> outstanding_{0};
  std::atomic<bool> is_active_{false};

  mutable std::mutex mutex_;
  QuorumDescription description_;          // mutex_
  ProducerId next_id_{0}, ids_end_{0};     // mutex_
  std::deque<IdWaiter> id_waiters_;        // mutex_
  bool is_refilling_ids_ = false;          // mutex_
};

}  // namespace millrace::runtime
