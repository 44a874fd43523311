// The quorum's algorithm, pure: events in, effects out; no clock, no disk, no network. Its driver performs the effects
// of one event in order and feeds completions back. Elections and replication follow KRaft: followers pull, a vote is
// durable before it is spoken, and a record is committed when a majority of voters has it on disk and a record of the
// leader's own epoch with it.
//
// Who is a voter is what the log says (or the configuration, for a static quorum); everybody else observes.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/random.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/raft/messages.h"
#include "millrace/raft/types.h"

namespace millrace::raft {

using AppendId = uint64_t;
using Ticket = uint64_t;         // of a request that waits for its answer
using RequestId = uint64_t;      // of a request that this node sent; never 0
using LogOp = uint64_t;          // of a change of the log; they end in the order in which they were asked for
using ElectionWrite = uint64_t;  // of a PersistElection; 0: none

// An observer is unattached or a follower; see is_observer().
enum class Role : uint8_t { unattached, prospective, candidate, leader, follower, resigned };
std::string_view role_name(Role role);

enum class TimerKind : uint8_t {
  election,      // the time that the present role may take; a follower's fetch timeout
  check_quorum,  // a leader must have been fetched from by a majority
  begin_epoch,   // a leader tells voters that have gone quiet that it leads
  retry,         // peers that failed may be asked again
  parked_fetch,  // the first Fetch that waits has waited long enough
  early_vote,    // the leader's connection ended: ask the others before the fetch timeout does
};
inline constexpr size_t kTimerKinds = 6;

struct MachineConfig {
  ReplicaKey self;
  Duration election_timeout = 1s;      // controller.quorum.election.timeout.ms
  Duration election_backoff_max = 1s;  // controller.quorum.election.backoff.max.ms
  Duration fetch_timeout = 2s;         // controller.quorum.fetch.timeout.ms
  Duration retry_backoff = 20ms;       // controller.quorum.retry.backoff.ms
  Duration fetch_wait = 500ms;
  int32_t fetch_bytes_max = 1 << 20;     // controller.quorum.fetch.max.bytes
  int32_t snapshot_bytes_max = 1 << 20;  // controller.quorum.fetch.snapshot.max.bytes
  // Addresses to look for the leader at that are not voters' ids (controller.quorum.bootstrap.servers): -2, -3, ...
  std::vector<BrokerId> bootstrap{};
  uint64_t seed = 0;  // of the jitter of timeouts
};

// What was found on disk at start.
struct LoadedState {
  std::optional<ElectionState> election;  // none: no memory of votes; see Machine::is_blank()
  LogEnd log_start;  // the epoch is that of the record before it
  LogEnd log_end;
  std::vector<EpochStart> epochs;      // of the log, rising
  std::optional<SnapshotId> snapshot;  // the newest, but for the one that bootstraps an empty log
  Offset high_watermark{0};            // known to be committed: the end of the newest snapshot
  int16_t kraft_version = 0;
  VoterSet voters;  // from the log, a snapshot or the configuration
  // The voters are not in the log as they are here (they come from the bootstrap checkpoint, or this node's address
  // has changed): the next leader writes them there.
  bool voters_are_unwritten = false;
};

namespace event {
struct Started {};
struct ElectionPersisted {  // this and all earlier ones are durable
  ElectionWrite write{};
};
struct LogOpDone {  // this and all earlier ones are durable
  LogOp op{};
};
struct AppendRequested {    // `record_count` records that the driver holds under `id`
  AppendId id{};
  LeaderEpoch epoch;        // of the leadership under which they were decided
  int32_t record_count{};
};
struct TimerFired {  // and is not armed any more
  TimerKind kind{};
};
struct Received {  // from a peer; Reply or Park answers it
  Ticket ticket{};
  Request request;
};
struct Withdrawn {  // whoever sent it will not read the answer
  Ticket ticket{};
};
struct Answered {
  BrokerId from;
  RequestId id{};
  Response response;
};
enum class Failure : uint8_t {
  other,
  peer_ended_connection,  // closed or reset by the other side: its process is gone, or it restarts
  refused,                // nobody listens at its address
  unsupported_version,    // it does not know the request in a form that can say this
};
struct RequestFailed {
  BrokerId to;
  RequestId id{};
  Failure failure{};
};
// A connection on which nothing was under way was ended by the peer.
struct ConnectionEnded {
  BrokerId peer;
};
// This node has written a snapshot of committed records of its own and dropped what lies before `log_start`.
struct SnapshotTaken {
  SnapshotId id;
  LogEnd log_start;
};
// The snapshot whose last piece was asked to be written under `op` is the log now.
struct SnapshotInstalled {
  LogOp op{};
  std::shared_ptr<VoterSet const> voters;  // none: it names none
  int16_t kraft_version = 0;
};
struct SnapshotRefused {  // it does not make sense as a whole; the log is as it was
  LogOp op{};
};
// Give up leadership in favour of who is most advanced, if this node leads.
struct ResignRequested {};
}  // namespace event
using Event =
    std::variant<event::Started, event::ElectionPersisted, event::LogOpDone, event::AppendRequested, event::TimerFired,
                 event::Received, event::Withdrawn, event::Answered, event::RequestFailed, event::ConnectionEnded,
                 event::SnapshotTaken, event::SnapshotInstalled, event::SnapshotRefused, event::ResignRequested>;

namespace effect {
// Write the file and sync it; then ElectionPersisted. Changes of the log that follow wait for it.
struct PersistElection {
  ElectionWrite write{};
  ElectionState state;
};
// Append the control batch that starts an epoch: LeaderChange, and when asked for KRaftVersion and KRaftVoters.
struct AppendLeaderChange {
  LogOp op{};
  LeaderEpoch epoch;
  Offset base;
  std::vector<ReplicaKey> voters, granting_voters;
  BrokerId leader;
  bool with_voters = false;
};
// Append the records held under `id`, first offset `base`; sync; then LogOpDone.
struct Append {
  LogOp op{};
  AppendId id{};
  LeaderEpoch epoch;
  Offset base;
};
struct RefuseAppend {  // not the leader of that epoch
  AppendId id{};
};
// Append the first `batch_count` batches of the FetchResponse in hand as they are; sync; then LogOpDone.
struct AppendFetched {
  LogOp op{};
  size_t batch_count{};
  Offset base, end;
};
struct Truncate {
  LogOp op{};
  Offset to;
};
// Write the piece in hand at `position`; 0 begins anew. Then LogOpDone; after the last piece the snapshot replaces the
// whole log, and SnapshotInstalled or SnapshotRefused says so.
struct WriteSnapshotPiece {
  LogOp op{};
  SnapshotId id;
  int64_t position = 0;
  bool is_last = false;
};
// Deliver at most once; then one Answered or RequestFailed, or nothing once the request is superseded.
struct Send {
  BrokerId to;
  RequestId id{};
  Request request;
  ElectionWrite after{};  // not before this is durable
};
struct Reply {
  Ticket ticket{};
  Response response;
  ElectionWrite after{};
  // Records to attach (FetchResponse::has_records), or the piece of a snapshot.
  Offset records_from{-1};
  int32_t bytes_max = 0;
};
struct SetTimer {  // in place of the one of its kind
  TimerKind kind{};
  Mono at;
};
struct CancelTimer {
  TimerKind kind{};
};
// This node leads `epoch`; its records begin at `start`.
struct BecameLeader {
  LeaderEpoch epoch;
  Offset start;
};
struct LostLeadership {  // of that epoch; nothing more can be appended under it
  LeaderEpoch epoch;
};
struct LeaderKnown {  // or none, while there is none
  BrokerId leader;
  LeaderEpoch epoch;
};
struct Committed {  // every record below is
  Offset high_watermark;
};
// This node would have voted for the candidate, had it not lost its memory; see Machine::is_blank(). Told once.
struct VoteWithheld {
  BrokerId candidate;
};
// A peer said what cannot be; it was not believed.
struct Complaint {
  BrokerId peer;
  std::string_view what;
  Offset offset;
};
}  // namespace effect
using Effect = std::variant<effect::PersistElection, effect::AppendLeaderChange, effect::Append, effect::RefuseAppend,
                            effect::AppendFetched, effect::Truncate, effect::WriteSnapshotPiece, effect::Send,
                            effect::Reply, effect::SetTimer, effect::CancelTimer, effect::BecameLeader,
                            effect::LostLeadership, effect::LeaderKnown, effect::Committed, effect::VoteWithheld,
                            effect::Complaint>;
using Effects = std::vector<Effect>;

// How far a replica is, as the leader knows it.
struct ReplicaProgress {
  ReplicaKey key;
  Offset end{-1};  // -1: not known in this epoch
  std::optional<Mono> fetched_at;
  std::optional<Mono> caught_up_at;  // at that time it had what the leader had
  Offset leader_end_at_fetch{-1};
  bool has_acknowledged = false;    // that this node leads
  bool is_due = false;              // for another BeginQuorumEpoch
  bool has_fetched_lately = false;  // since the check of the quorum was last satisfied
};

class Machine {
 public:
  static constexpr size_t kParkedFetchesMax = 1024;
  static constexpr size_t kObserversMax = 1024;
  static constexpr Duration kObserverSession = 300s;
  static constexpr Duration kEarlyVoteJitterMax = 50ms;
  static constexpr Duration kEarlyVoteRetryMin = 50ms, kEarlyVoteRetryMax = 150ms;

  // Errors: unsupported (a sole voter that is not this node), corrupt.
  static Result<Machine> create(MachineConfig config, LoadedState loaded, Hooks& hooks);

  void on_event(Event const& event, Mono now, Effects& out);

  Role role() const { return role_; }
  bool is_observer() const { return !voters().contains(config_.self); }
  LeaderEpoch epoch() const { return election_.epoch; }
  BrokerId leader() const { return election_.leader; }
  ElectionState const& election() const { return election_; }
  // Is what election() says on disk.
  bool is_election_durable() const { return !is_blank_ && write_done_ == write_issued_; }
  // A voter that started without quorum-state and has since neither voted nor caught up with a leader. It does not know
  // what it voted and acknowledged before it lost its disk: no candidate who has a record gets its vote, itself
  // included. What it learns of epochs is not written: without the file it is blank after a restart, too.
  bool is_blank() const { return is_blank_; }
  LogEnd log_start() const { return log_start_; }
  LogEnd log_end() const { return log_end_; }
  Offset durable_end() const { return durable_end_; }
  Offset high_watermark() const { return high_watermark_; }
  // Leader: has a record of its own epoch been committed; before that it tells nobody a high watermark.
  bool has_committed_epoch() const { return role_ == Role::leader && has_mark_; }
  Offset epoch_start() const { return epoch_start_; }
  VoterSet const& voters() const { return *voters_.back().voters; }
  int16_t kraft_version() const { return voters_.back().kraft_version; }
  ReplicaKey const& self() const { return config_.self; }
  MachineConfig const& config() const { return config_; }
  std::optional<SnapshotId> latest_snapshot() const { return snapshot_; }
  std::vector<EpochStart> const& epochs() const { return epochs_; }
  size_t parked_count() const { return parked_.size(); }
  // False: the answer to that request would not be looked at any more.
  bool is_waiting_for(BrokerId to, RequestId id) const;

  // Leader only: its voters by id (its own entry without times), and who else fetches.
  std::vector<ReplicaProgress> const& voter_progress() const { return progress_; }
  std::vector<ReplicaProgress> observer_progress(Mono now) const;

  // The whole state but random numbers and points in time, for comparison.
  std::string text() const;
  void check_invariants() const;

 private:
  struct VotersAt {
    Offset offset{-1};  // of the record; -1: from the configuration or a snapshot
    std::shared_ptr<VoterSet const> voters;
    int16_t kraft_version = 0;
    bool is_unwritten = false;  // the next leader writes them into the log
  };
  struct Peer {
    BrokerId id;
    RequestId in_flight = 0;
    bool is_backing_off = false;
    bool is_refusing = false;  // nobody listened at the last try
  };
  struct Ballot {
    BrokerId voter;
    std::optional<bool> is_granted;
  };
  struct Parked {
    Ticket ticket{};
    FetchRequest request;
    Mono deadline;
  };
  struct PendingOp {
    LogOp op{};
    Offset end;  // the log's end after it
  };
  enum class Common : uint8_t { handled, retry_later, go_on };

  Machine(MachineConfig config, LoadedState loaded, Hooks& hooks);
  void on(event::Started const&, Mono now, Effects& out);
  void on(event::ElectionPersisted const&, Mono now, Effects& out);
  void on(event::LogOpDone const&, Mono now, Effects& out);
  void on(event::AppendRequested const&, Mono now, Effects& out);
  void on(event::TimerFired const&, Mono now, Effects& out);
  void on(event::Received const&, Mono now, Effects& out);
  void on(event::Withdrawn const&, Mono now, Effects& out);
  void on(event::Answered const&, Mono now, Effects& out);
  void on(event::RequestFailed const&, Mono now, Effects& out);
  void on(event::ConnectionEnded const&, Mono now, Effects& out);
  void on(event::SnapshotTaken const&, Mono now, Effects& out);
  void on(event::SnapshotInstalled const&, Mono now, Effects& out);
  void on(event::SnapshotRefused const&, Mono now, Effects& out);
  void on(event::ResignRequested const&, Mono now, Effects& out);

  // ---- roles (machine.cpp)
  void persist(ElectionState state, Effects& out);
  void remember(Effects& out);
  void leave_role(Effects& out);
  void become_unattached(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out);
  void become_prospective(Mono now, Effects& out);
  void become_candidate(Mono now, Effects& out);
  void become_leader(Mono now, Effects& out);
  void become_follower(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out);
  void become_resigned(Mono now, Effects& out);
  void tell_leader(Effects& out);
  bool is_sole_voter() const;
  ElectionWrite spoken_after() const { return write_done_ < write_issued_ ? write_issued_ : 0; }
  void set_timer(TimerKind kind, Mono at, Effects& out);
  void cancel_timer(TimerKind kind, Effects& out);
  bool is_armed(TimerKind kind) const { return timers_[static_cast<size_t>(kind)].has_value(); }
  Duration random_election_timeout();
  Duration random_between(Duration low, Duration high);
  Verdict verdict(ErrorCode error = ErrorCode::none) const;

  // ---- elections (election.cpp)
  void receive(Ticket ticket, VoteRequest const& request, Mono now, Effects& out);
  void receive(Ticket ticket, BeginEpochRequest const& request, Mono now, Effects& out);
  void receive(Ticket ticket, EndEpochRequest const& request, Mono now, Effects& out);
  void answered(BrokerId from, VoteResponse const& response, Mono now, Effects& out);
  void answered(BrokerId from, BeginEpochResponse const& response, Mono now, Effects& out);
  void answered(BrokerId from, EndEpochResponse const& response, Mono now, Effects& out);
  bool can_grant(ReplicaKey const& candidate, bool is_up_to_date, bool is_pre_vote) const;
  bool may_have_forgotten(LogEnd const& candidate) const;
  bool is_meant(ReplicaKey const& voter) const;
  bool is_consistent(LeaderEpoch epoch, BrokerId leader) const;
  void learn(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out);
  Common common(Verdict const& verdict, BrokerId from, Mono now, Effects& out);
  void count_votes(Mono now, Effects& out);
  void lose_pre_vote(Mono now, Effects& out);
  void on_contact(Effects& out);
  void on_leader_gone(Mono now, Effects& out);

  // ---- requests to peers (peers.cpp)
  Peer& peer(BrokerId id);
  void reset_peers();
  bool is_ready(BrokerId id);
  void send(BrokerId to, Request request, Effects& out);
  void send_what_is_due(Mono now, Effects& out);
  void send_fetch(Effects& out);
  std::optional<BrokerId> next_to_probe();
  void back_off(Peer& peer, Mono now, Effects& out);

  // ---- the log (log.cpp)
  LogOp begin_op(Offset end);
  void note_epoch(LeaderEpoch epoch, Offset start);
  void cut_to(Offset to);
  LogEnd end_of_epoch(LeaderEpoch epoch) const;
  void receive(Ticket ticket, FetchRequest const& request, Mono now, Effects& out);
  void receive(Ticket ticket, FetchSnapshotRequest const& request, Mono now, Effects& out);
  void answered(BrokerId from, FetchResponse const& response, Mono now, Effects& out);
  void answered(BrokerId from, FetchSnapshotResponse const& response, Mono now, Effects& out);
  std::optional<ErrorCode> refuse_as_leader(LeaderEpoch epoch) const;
  FetchResponse answer_fetch(FetchRequest const& request) const;
  void reply_fetch(Ticket ticket, FetchRequest const& request, FetchResponse response, Effects& out);
  void record_fetch(FetchRequest const& request, Mono now, Effects& out);
  void record_contact(ReplicaKey const& replica, Mono now, Effects& out);
  ReplicaProgress* find_progress(ReplicaKey const& replica, Mono now);
  void release_parked(bool all, Effects& out);
  void fail_parked(Effects& out);
  void advance_high_watermark(Effects& out);
  void advance_as_follower(Effects& out);
  void commit(Offset mark, Effects& out);

  MachineConfig config_;
  Hooks* hooks_;
  Random random_;
  Role role_ = Role::unattached;

  ElectionState election_;            // as last handed to PersistElection, unless it is blank
  bool is_blank_ = false;
  bool is_withholding_told_ = false;
  ElectionWrite write_issued_ = 0, write_done_ = 0;
  BrokerId told_leader_ = kNoBroker;  // in LeaderKnown
  LeaderEpoch told_epoch_{-1};

  LogEnd log_start_;
  LogEnd log_end_;
  std::vector<EpochStart> epochs_;
  std::optional<SnapshotId> snapshot_;
  Offset durable_end_;
  Offset high_watermark_;
  bool is_mark_told_;  // in Committed; that of the newest snapshot, with which it starts, is not yet
  std::deque<PendingOp> pending_ops_;
  LogOp op_issued_ = 0;
  std::vector<VotersAt> voters_;  // never empty; the last one counts

  std::array<std::optional<Mono>, kTimerKinds> timers_{};
  std::vector<Peer> peers_;
  RequestId request_issued_ = 0;
  size_t probe_index_ = 0;

  // Prospective, candidate.
  std::vector<Ballot> ballots_;
  // Follower; of is_hurried_, prospective and candidate, too.
  bool has_fetched_ = false;  // from this leader in this epoch, and not lost it since
  bool is_hurried_ = false;   // the leader's connection was ended by it
  bool has_asked_early_ = false;  // and a pre-vote was not won: again only while its address refuses
  Offset leader_mark_{-1};
  std::optional<SnapshotId> fetching_snapshot_;
  int64_t snapshot_position_ = 0;
  std::optional<LogOp> installing_;  // the last piece of fetched_snapshot_ is being written; outlives the role
  std::optional<SnapshotId> fetched_snapshot_;
  // Leader, resigned.
  Offset epoch_start_{-1};
  bool has_mark_ = false;
  std::vector<ReplicaProgress> progress_;
  std::vector<ReplicaProgress> observers_;
  std::vector<Parked> parked_;
  std::vector<BrokerId> unacknowledged_;  // resigned: who has not confirmed the end of the epoch
  std::vector<ReplicaKey> successors_;
};

}  // namespace millrace::raft
