// One replica's part in one partition, as a pure machine: who has what, which offset is committed, whose reply waits
// for it. It decides; a driver appends, syncs, sends and feeds completions back as events.
//
// Rules kept here (RELIABILITY 2.6): the high watermark moves only by replicas that acknowledged this epoch, only up
// to what every member of the maximal ISR has, and only while the ISR has min.insync members. It never moves back
// within an epoch. In flush mode the leader counts itself at its synced end. Replies that wait for an offset leave when
// the mark has passed it, or with the reason why it never will.
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
};
std::string_view name(Outcome outcome);

enum class Role : uint8_t { none, leader, follower };

// Does the leader count itself at what it has appended, or only at what it has synced?
enum class LeaderCountsAt : uint8_t { end, synced };

// ---- Events

struct BecomeLeader {
  LeaderEpoch epoch;
  BrokerId self;
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync_replicas;
  int32_t min_in_sync{1};
  LeaderCountsAt counts_at = LeaderCountsAt::end;
  Offset log_start_offset;
  Offset end_offset;
  Offset synced_offset;   // what is surely on the disk
  Offset high_watermark;  // from the checkpoint; taken into [log_start, end]
};
struct BecomeFollower {
  LeaderEpoch epoch;
  BrokerId leader;
  Offset log_start_offset;
  Offset end_offset;
  Offset high_watermark;
};
// The same leader in the same epoch, other followers: assignment or ISR as the metadata log has them now.
struct ReplicasChanged {
  std::vector<BrokerId> replicas;
  std::vector<BrokerId> in_sync_replicas;
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
// The deadline of a ticket has passed, or its owner is gone.
struct GiveUp {
  Ticket ticket{};
};
// The log directory failed, the partition was deleted, or the node stops.
struct Resign {
  Outcome why = Outcome::not_leader;
};

using Event = std::variant<BecomeLeader, BecomeFollower, ReplicasChanged, RulesChanged, Appended, Synced, LogStartMoved,
                           FollowerFetched, AwaitCommitted, AwaitSynced, GiveUp, Resign>;

// ---- Effects

struct Reply {
  Ticket ticket{};
  Outcome outcome{};
  friend bool operator==(Reply const&, Reply const&) = default;
};

// What an event caused, in order. The driver clears and reuses it.
struct Effects {
  std::vector<Reply> replies;
  bool mark_moved = false;
  // A follower outside the ISR has caught up: the leader should ask the controller to take it in.
  std::vector<BrokerId> caught_up;

  void clear() {
    replies.clear();
    mark_moved = false;
    caught_up.clear();
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

  Role role() const { return role_; }
  LeaderEpoch epoch() const { return epoch_; }
  BrokerId leader() const { return leader_; }
  Offset log_start_offset() const { return log_start_offset_; }
  Offset end_offset() const { return end_offset_; }
  Offset synced_offset() const { return synced_offset_; }
  Offset high_watermark() const { return high_watermark_; }
  bool is_under_min_in_sync() const;
  size_t waiting_count() const { return waiting_.size(); }
  bool is_sync_awaited() const { return !waiting_for_sync_.empty(); }
  bool is_replica(BrokerId broker) const;
  // Everything that a story compares, on one line.
  std::string text() const;

  void check_invariants() const;

 private:
  struct Follower {
    BrokerId id;
    Offset end_offset{-1};       // -1: not heard of in this epoch
    Mono caught_up_at{};
    bool is_in_sync = false;
    Mono fetched_at{};
    Offset leader_end_at_fetch{0};
  };
  struct Waiting {
    Offset after_offset;
    Ticket ticket{};
  };

  void on(BecomeLeader const& event, Mono now, Effects& out);
  void on(BecomeFollower const& event, Mono now, Effects& out);
  void on(ReplicasChanged const& event, Mono now, Effects& out);
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
  int32_t effective_min_in_sync() const;
  Offset own_offset() const { return counts_at_ == LeaderCountsAt::synced ? synced_offset_ : end_offset_; }
  void maybe_advance(Effects& out);
  void release(Effects& out);
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
  Offset log_start_offset_{0};
  Offset end_offset_{0};
  Offset synced_offset_{0};
  Offset high_watermark_{0};
  std::vector<Follower> followers_;  // without the leader; a handful
  Fifo<Waiting> waiting_;            // for the mark; by after_offset, then by arrival
  Fifo<Waiting> waiting_for_sync_;   // likewise
};

}  // namespace millrace::replication
