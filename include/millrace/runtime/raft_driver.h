// Runs the quorum machine: its effects on the metadata log, `quorum-state` and the network, completions back as
// events. Belongs to the control reactor; disk work goes to the pool, one job at a time, and what gathers meanwhile
// goes out together with one sync. What followers read is mostly still in memory: they need not wait for this disk.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "millrace/env/env.h"
#include "millrace/metadata/records.h"
#include "millrace/raft/machine.h"
#include "millrace/runtime/controller_client.h"
#include "millrace/runtime/metadata_log.h"

namespace millrace::runtime {

class RaftPeers;

// Called on the control reactor, one after the other, never from inside a call of ours to append().
class RaftEvents {
 public:
  virtual ~RaftEvents() = default;
  // This node leads from now on; control records went up to, not including, `log_end`.
  virtual void on_leader(LeaderEpoch epoch, Offset log_end, Wall now) = 0;
  // And from now on no more: what was appended under it and is not committed may be cut off.
  virtual void on_lost_leadership(LeaderEpoch epoch) { static_cast<void>(epoch); }
  // Who leads; kNoBroker: nobody that is known.
  virtual void on_leader_known(BrokerId leader, LeaderEpoch epoch) {
    static_cast<void>(leader), static_cast<void>(epoch);
  }
  // Another leader's batches are in the log here, in order; not committed yet.
  virtual void on_replicated(std::vector<SharedBytes> const& batches) { static_cast<void>(batches); }
  // The log ends at `to` now; what was appended or replicated behind it never happened.
  virtual void on_truncated(Offset to) { static_cast<void>(to); }
  // The leader's snapshot took the place of the whole log; `replayer` has read it. on_committed() follows.
  virtual void on_snapshot(metadata::Replayer replayer) { static_cast<void>(replayer); }
  virtual void on_committed(Offset high_watermark) = 0;
  // Another leader has answered a Fetch that was sent at `asked_at`, and knew what lies below `high_watermark` as
  // committed: with all that was committed before it was elected.
  virtual void on_leader_answered(Mono asked_at, Offset high_watermark) {
    static_cast<void>(asked_at), static_cast<void>(high_watermark);
  }
  // The metadata log cannot be written: the process must stop before it acknowledges anything more.
  virtual void on_failed(Error const& error) = 0;
};

struct RaftNetworkOptions {
  std::string cluster_id;
  std::string listener;                // the first of controller.listener.names: which of a voter's endpoints is used
  std::vector<RaftAddress> bootstrap;  // controller.quorum.bootstrap.servers
  std::vector<raft::VoterEndpoint> endpoints;  // of this node's controller listeners
  Duration request_timeout = 2s;               // controller.quorum.request.timeout.ms
};

class RaftDriver {
 public:
  static constexpr size_t kSnapshotsKept = 2;
  static constexpr size_t kTailBytesMax = 8U << 20;  // of the newest batches, kept for followers
  static constexpr size_t kReceivedMax = 4096;       // requests that wait for their answer
  static constexpr Duration kResignWaitMax = 1s;     // for another leader

  // `directory` and `events` outlive the driver.
  RaftDriver(env::Env& env, storage::LogDirectory& directory, RaftEvents& events);
  ~RaftDriver();

  // Takes what was loaded and starts the machine. Errors as Machine::create; nothing runs then.
  Status start(raft::MachineConfig config, LoadedMetadata loaded, RaftNetworkOptions network = {});

  // Appends one atomic batch, decided under `epoch`. The offset of its first record; none: this node does not lead
  // that epoch any more.
  std::optional<Offset> append(LeaderEpoch epoch, metadata::RecordList const& records, Wall now);

  // A Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch or FetchSnapshot. `done` runs on the control reactor, perhaps
  // before this returns; it is dropped when the node closes.
  void receive(raft::Request request, Callback<void(RaftAnswer)> done);
  // What BeginQuorumEpoch and EndQuorumEpoch say of the leader's address.
  void learn_address(RaftAddress address);
  std::optional<RaftAddress> address_of(BrokerId id) const;

  // Writes a snapshot of `image`, all of whose records are committed, then drops older ones but kSnapshotsKept.
  void write_snapshot(metadata::Image image);
  bool is_writing_snapshot() const { return is_writing_snapshot_; }
  int64_t bytes_since_snapshot() const { return bytes_since_snapshot_; }

  // Reads the log anew, as it is after all that was asked for before this. `done` on the control reactor; a log that
  // cannot be read is on_failed().
  void reload(Callback<void(metadata::Replayer)> done);

  // Gives leadership to another voter, if this node has it: `done` once another leads, or after kResignWaitMax.
  void resign(Task done);
  // The same, without waiting for anybody.
  void resign_at_once();
  // Takes part in the quorum no more: for a node that nobody reaches any longer, and that must not be elected while it
  // closes what it has. close() is next.
  void leave();
  // Waits for the work under way, then closes the log cleanly.
  void close(Callback<void(Status)> done);

  raft::Machine const& machine() const { return *machine_; }

 private:
  friend class RaftPeers;
  struct Step;
  struct Work;
  using WorkPtr = std::unique_ptr<Work>;
  struct TailBatch {
    Offset base, next;
    SharedBytes bytes;
  };

  void feed(raft::Event const& event);
  void drain_callbacks();
  void perform(raft::Effects const& effects);
  void perform(raft::effect::Reply const& reply);
  void answer(raft::Ticket ticket, RaftAnswer answer);
  void answer_from_log(raft::Ticket ticket, raft::effect::Reply const& reply, LeaderEpoch epoch);
  bool answer_from_tail(raft::Ticket ticket, raft::effect::Reply const& reply);
  void on_response(BrokerId from, raft::RequestId id, raft::Response response, std::vector<SharedBytes> records);
  void say(raft::ElectionWrite after, Task task);
  void set_timer(raft::effect::SetTimer const& timer);
  void enqueue(Step step);
  void enqueue_batch(raft::LogOp op, SharedBytes batch, Offset base, Offset next);
  void start_work();
  void on_work_done(WorkPtr work);
  Status do_work(Work& work);
  Status work_through(Work& work);
  Status do_snapshot(metadata::Image const& image, Work& work);
  Status do_piece(Step& step, Work& work);
  Status do_read(Step& step);
  void finish_resign();
  bool has_peers() const {
    auto const& voters = machine_->voters().voters;
    return voters.size() != 1 || voters.front().key.id != machine_->self().id;
  }

  env::Env& env_;
  env::Reactor& reactor_;
  env::Pool& pool_;
  storage::LogDirectory& directory_;
  RaftEvents& events_;
  RaftNetworkOptions network_;
  std::unique_ptr<storage::PlainLog> log_;  // touched by start(), and by one job at a time
  std::unique_ptr<storage::PlainLog::Download> download_;  // likewise
  std::unique_ptr<raft::Machine> machine_;
  std::unique_ptr<RaftPeers> peers_;
  std::array<env::TimerId, raft::kTimerKinds> timers_{};

  WorkPtr next_;
  bool is_working_ = false;
  bool has_failed_ = false;
  bool is_writing_snapshot_ = false;
  int64_t bytes_since_snapshot_ = 0;
  raft::ElectionWrite written_ = 0;
  std::deque<std::pair<raft::ElectionWrite, Task>> held_;  // said once that is on disk; bounded by what waits for it

  std::deque<TailBatch> tail_;
  size_t tail_bytes_ = 0;
  std::map<raft::Ticket, Callback<void(RaftAnswer)>> received_;
  raft::Ticket tickets_issued_ = 0;
  raft::RequestId fetch_sent_ = 0;  // the last one
  Mono fetch_sent_at_{};
  std::vector<RaftAddress> learned_;

  std::deque<Task> callbacks_;  // of events_, once the effects before them have been performed
  bool is_draining_ = false;
  Callback<void(Status)> closing_;
  bool is_closing_log_ = false;
  Callback<void(metadata::Replayer)> reloading_;
  Task resigned_;
  env::TimerId resign_timer_ = env::kNoTimer;
  metadata::RecordList const* appending_ = nullptr;    // during append(): what effect::Append stands for
  std::vector<SharedBytes> const* fetched_ = nullptr;  // during an answer: what came with it
  std::optional<Offset> appended_at_;
  Wall append_time_{};
};

}  // namespace millrace::runtime
