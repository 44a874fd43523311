// One replica's part in one partition, as a pure machine: who has what, which offset is committed, whose reply waits
// for it. It decides; a driver appends, syncs, sends and feeds completions back as events.
//
// Rules kept here. A leader: the high watermark moves only by replicas that acknowledged this epoch, only up to what
// every member of the maximal ISR has, and only while the ISR has min.insync members; it never moves back within an
// epoch. While an ISR change is not settled (a shrink by the metadata log), the larger set counts. The ISR grows only by
// replicas that reached the mark and this epoch's start, under the broker epoch that they fetched with. In flush mode
// the leader counts itself at its synced end. Replies that wait for an offset leave when the mark has passed it, or
// with the reason why it never will.
// A follower: what it fetched counts only under the epoch and from the offset that it asked with; it cuts its log where
// the epochs part from the leader's, never at its mark.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/fifo.h"
#include "millrace/base/hooks.h"
#include "millrace/base/ids.h"
#include "millrace/base/time.h"

namespace millrace::replication {

using Ticket = uint64_t;  // the driver's number for somebody who waits; never reused within a machine's life

enum class Outcome : uint8_t {
  done,
  not_leader,                      // of this partition, or not any more
  fenced_leader_epoch,             // the caller's epoch is older
  unknown_leader_epoch,            // the caller's epoch is newer than what we have heard of
  offset_out_of_range,
  not_enough_replicas,             // refused before the append
  not_enough_replicas_after_append,
  timed_out,
  storage_failed,
  not_a_replica,
  stale_broker_epoch,              // of a follower that has registered again since
};
std::string_view name(Outcome outcome);

enum class Role : uint8_t { none, leader, follower };

// Does the leader count itself at what it has appended, or only at what it has synced? A follower tells the leader what it
// has by its next Fetch, so where the leader counts what is synced, a follower fetches again only after its own sync.
enum class LeaderCountsAt : uint8_t { end, synced };

// A follower as its leader sees it.
struct FollowerView {
  BrokerId id;
  Offset end_offset{-1};        // -1: not heard of in this epoch
  Offset log_start_offset{-1};  // likewise
  std::optional<Mono> caught_up_at;
  bool is_in_sync = false;
  int64_t known_broker_epoch = -1;  // the registration that this leader has heard of
};

// What the cluster knows of a broker.
struct BrokerFact {
  BrokerId id;
  int64_t epoch = -1;
  bool is_alive = false;    // registered and not fenced
  bool is_leaving = false;  // in controlled shutdown
};

// Where an epoch ends in some log: the largest epoch at or below the one that was asked for, and the offset past its
// last record; {-1, -1}: unknown.
struct EpochEnd {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end{-1};
  friend bool operator==(EpochEnd const&, EpochEnd const&) = default;
};

// ---- Events

struct BecomeLeader {
  LeaderEpoch epoch;
  int32_t partition_epoch = 0;
  BrokerId self;
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync_replicas;
  int32_t min_in_sync{1};
  LeaderCountsAt counts_at = LeaderCountsAt::end;
  Offset log_start_offset;
  Offset end_offset;
  Offset synced_offset;   // what is surely on the disk
  Offset high_watermark;  // from the checkpoint; taken into [log_start, end]
  Duration lag_max = std::chrono::seconds(30);  // replica.lag.time.max.ms
  std::vector<BrokerFact> brokers;              // of the replicas
};
struct BecomeFollower {
  LeaderEpoch epoch;
  BrokerId leader;  // none: nobody leads at the moment
  LeaderCountsAt counts_at = LeaderCountsAt::end;
  Offset log_start_offset;
  Offset end_offset;
  Offset synced_offset;
  Offset high_watermark;
  bool has_epochs = true;  // the log knows the epoch of its last record
};
// The same leader in the same epoch, other followers: assignment or ISR as the metadata log has them now. It settles
// an ISR change that is under way.
struct ReplicasChanged {
  int32_t partition_epoch = 0;  // one that is not newer changes nothing
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync_replicas;
};
// Brokers of the replicas were fenced, unfenced or registered again.
struct BrokersChanged {
  std::vector<BrokerFact> brokers;
};
// Now and then, for a leader: who lags for too long leaves the ISR.
struct CheckInSync {};
// What became of an ISR change.
enum class IsrVerdict : uint8_t {
  accepted,
  refused,   // surely not applied, and what this leader knows is current
  outdated,  // not applied as asked; the metadata log will tell
};
struct IsrAnswered {
  uint64_t change{};
  IsrVerdict verdict{};
  int32_t partition_epoch{};              // accepted: the new one
  std::vector<BrokerId> in_sync_replicas;  // accepted: the new ones
};
struct RulesChanged {
  int32_t min_in_sync{1};
  LeaderCountsAt counts_at = LeaderCountsAt::end;
};
struct Appended {
  Offset end_offset;
};
struct Synced {
  Offset end_offset;  // everything below it is durable
};
struct LogStartMoved {
  Offset log_start_offset;
};
// A follower's Fetch: it has everything below `offset`.
struct FollowerFetched {
  Ticket ticket{};
  BrokerId replica;
  LeaderEpoch leader_epoch;  // that the follower believes in; -1: an old one that does not say
  Offset offset;
  int64_t broker_epoch = -1;      // that it fetches under; -1: an old one that does not say
  Offset log_start_offset{0};     // of its own log
  bool is_diverging = false;      // its last epoch ends elsewhere in this log: it is told so, and nothing counts
};
// A follower's log was cut: this is what is left.
struct Truncated {
  Offset log_start_offset;
  Offset end_offset;
};
// The marks in the answer to this replica's Fetch, once what came with them has been appended.
struct LeaderMarks {
  LeaderEpoch leader_epoch;  // that the Fetch was sent under
  Offset high_watermark;
};
// Reply to `ticket` once everything below `after_offset` is committed. Given after its append completed, or for a
// duplicate at any time.
struct AwaitCommitted {
  Ticket ticket{};
  Offset after_offset;
};
// Reply to `ticket` once everything below `after_offset` is durable on this node, committed or not: acks=1 where
// nothing is acknowledged before it is on the disk.
struct AwaitSynced {
  Ticket ticket{};
  Offset after_offset;
};
// Reply to `ticket` once the log of every live replica starts at or past `offset`.
struct AwaitLogStart {
  Ticket ticket{};
  Offset offset;
};
// The deadline of a ticket has passed, or its owner is gone.
struct GiveUp {
  Ticket ticket{};
};
// The log directory failed, the partition was deleted, or the node stops.
struct Resign {
  Outcome why = Outcome::not_leader;
};

using Event = std::variant<BecomeLeader, BecomeFollower, ReplicasChanged, BrokersChanged, CheckInSync, IsrAnswered,
                           RulesChanged, Appended, Synced, LogStartMoved, FollowerFetched, Truncated, LeaderMarks,
                           AwaitCommitted, AwaitSynced, AwaitLogStart, GiveUp, Resign>;

// ---- Effects

struct Reply {
  Ticket ticket{};
  Outcome outcome{};
  friend bool operator==(Reply const&, Reply const&) = default;
};

// Ask the controller for another ISR. At most one is under way; newer metadata ends it, and IsrAnswered unless a shrink
// was accepted.
struct IsrChange {
  struct Member {
    BrokerId id;
    int64_t broker_epoch = -1;  // that it fetched under; -1: not told, or the leader itself
  };
  uint64_t id{};
  LeaderEpoch leader_epoch{-1};
  int32_t partition_epoch{};
  std::vector<Member> members;  // the leader first
  bool is_shrink = false;
};

// What an event caused, in order. The driver clears and reuses it.
struct Effects {
  std::vector<Reply> replies;
  bool mark_moved = false;
  std::optional<IsrChange> isr_change;
  std::optional<Offset> truncate_to;  // before anything is fetched

  void clear() {
    replies.clear();
    mark_moved = false;
    isr_change.reset();
    truncate_to.reset();
  }
};

class PartitionMachine {
 public:
  explicit PartitionMachine(Hooks& hooks = Hooks::none()) : hooks_(hooks) {}

  void on_event(Event const& event, Mono now, Effects& out);
  // The two that come with every Produce, without the variant.
  void on_appended(Appended const& event, Mono now, Effects& out);
  void on_await_committed(AwaitCommitted const& event, Mono now, Effects& out);

  // May a write that wants all replicas be appended now? Kafka asks before the append and again after it.
  Outcome may_append(bool wants_all_replicas) const;
  // What a request that names its leader epoch (-1: does not) is answered when it is not done.
  Outcome check_epoch(LeaderEpoch request_epoch) const;
  // May a follower act on an answer to what it asked under `epoch` from `asked` on? What came meanwhile, a new epoch or
  // a cut, makes it void.
  bool may_apply(LeaderEpoch epoch, Offset asked) const;
  // May a follower send its next Fetch, which promises what the log holds?
  bool may_fetch() const;
  // Where a follower cuts its log when the leader says that the epoch of its last record ends at `leaders` there; `own`
  // is the same epoch's end in this log. Below the log's start: nothing of it is the leader's.
  Offset truncation_point(EpochEnd leaders, EpochEnd own) const;

  Role role() const { return role_; }
  LeaderEpoch epoch() const { return epoch_; }
  BrokerId leader() const { return leader_; }
  Offset log_start_offset() const { return log_start_offset_; }
  Offset end_offset() const { return end_offset_; }
  Offset synced_offset() const { return synced_offset_; }
  Offset high_watermark() const { return high_watermark_; }
  Offset epoch_start() const { return epoch_start_; }  // of a leader: where its epoch begins
  int32_t partition_epoch() const { return partition_epoch_; }
  bool is_under_min_in_sync() const;
  bool is_isr_change_under_way() const { return change_under_way_ != 0; }
  // Of a leader.
  int32_t replica_count() const { return static_cast<int32_t>(followers_.size()) + 1; }
  int32_t in_sync_count() const { return in_sync_count_; }
  int64_t lag_max() const;  // records that the slowest live follower has not
  void list_followers(std::vector<FollowerView>& out) const;  // in place of what `out` holds
  // The smallest log start of the replicas that live; -1: one has not fetched yet.
  Offset low_watermark() const;
  size_t waiting_count() const { return waiting_.size(); }
  bool is_sync_awaited() const { return !waiting_for_sync_.empty(); }
  bool is_replica(BrokerId broker) const;
  // Everything that a story compares, on one line.
  std::string text() const;

  void check_invariants() const;

 private:
  struct Follower {
    BrokerId id;
    Offset end_offset{-1};             // -1: not heard of in this epoch
    Offset log_start_offset{-1};       // likewise
    std::optional<Mono> caught_up_at;  // none: never in this epoch
    bool is_in_sync = false;           // as the controller has it
    bool is_joining = false;           // it counts already, but the controller has not said so
    Mono fetched_at{};
    Offset leader_end_at_fetch{0};
    std::optional<int64_t> broker_epoch;  // that it last fetched under
    BrokerFact broker;
  };
  struct Waiting {
    Offset after_offset;
    Ticket ticket{};
  };

  void on(BecomeLeader const& event, Mono now, Effects& out);
  void on(BecomeFollower const& event, Mono now, Effects& out);
  void on(ReplicasChanged const& event, Mono now, Effects& out);
  void on(BrokersChanged const& event, Mono now, Effects& out);
  void on(CheckInSync const& event, Mono now, Effects& out);
  void on(IsrAnswered const& event, Mono now, Effects& out);
  void on(Truncated const& event, Mono now, Effects& out);
  void on(LeaderMarks const& event, Mono now, Effects& out);
  void on(AwaitLogStart const& event, Mono now, Effects& out);
  void on(RulesChanged const& event, Mono now, Effects& out);
  void on(Appended const& event, Mono now, Effects& out) { on_appended(event, now, out); }
  void on(Synced const& event, Mono now, Effects& out);
  void on(LogStartMoved const& event, Mono now, Effects& out);
  void on(FollowerFetched const& event, Mono now, Effects& out);
  void on(AwaitCommitted const& event, Mono now, Effects& out) { on_await_committed(event, now, out); }
  void on(AwaitSynced const& event, Mono now, Effects& out);
  void on(GiveUp const& event, Mono now, Effects& out);
  void on(Resign const& event, Mono now, Effects& out);

  static void insert(Fifo<Waiting>& list, Offset after_offset, Ticket ticket);
  void set_followers(std::vector<BrokerId> const& replicas, std::vector<BrokerId> const& in_sync);
  void set_brokers(std::vector<BrokerFact> const& brokers);
  void set_rules(int32_t min_in_sync, LeaderCountsAt counts_at);
  int32_t effective_min_in_sync() const;
  Offset own_offset() const { return counts_at_ == LeaderCountsAt::synced ? synced_offset_ : end_offset_; }
  bool is_caught_up(Follower const& follower, Mono now) const;
  bool may_join(Follower const& follower) const;
  bool has_joined_log(Follower const& follower) const;
  void maybe_expand(Follower& follower, Mono now, Effects& out);
  void ask(IsrChange change, Effects& out);
  void maybe_advance(Mono now, Effects& out);
  void check_next_mark(Offset mark) const;
  void check_change(IsrChange const& change) const;
  void release(Effects& out);
  void release_log_start(Effects& out);
  void release_synced(Effects& out);
  void refuse_all(Outcome why, Effects& out);

  Hooks& hooks_;
  Role role_ = Role::none;
  LeaderEpoch epoch_ = kNoLeaderEpoch;
  BrokerId self_ = kNoBroker;
  BrokerId leader_ = kNoBroker;
  LeaderCountsAt counts_at_ = LeaderCountsAt::end;
  int32_t min_in_sync_ = 1;
  int32_t in_sync_count_ = 0;  // with the leader
  int32_t joining_count_ = 0;
  int32_t partition_epoch_ = -1;
  Duration lag_max_{};
  Offset epoch_start_{0};
  uint64_t change_under_way_ = 0;  // 0: none
  bool is_shrinking_ = false;      // by that change
  uint64_t changes_ = 0;
  std::optional<Mono> may_ask_at_;  // after a refusal: not earlier
  Offset log_start_offset_{0};
  Offset end_offset_{0};
  Offset synced_offset_{0};
  Offset high_watermark_{0};
  std::vector<Follower> followers_;  // without the leader; a handful
  Fifo<Waiting> waiting_;            // for the mark; by after_offset, then by arrival
  Fifo<Waiting> waiting_for_sync_;   // likewise
  Fifo<Waiting> waiting_for_start_;  // for the low watermark; likewise
};

}  // namespace millrace::replication
