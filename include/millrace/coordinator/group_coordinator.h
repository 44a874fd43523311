// The groups of one partition of __consumer_offsets, as a pure machine: one decision at a time. A decision is either
// soft and takes effect at once, or an atomic batch of records: the driver appends it, the machine then replays it,
// does what follows and answers. A refused append changed nothing. Replicated state (the store) changes only by replay.
//
//   Effects out;
//   coordinator.on_event(LoadStarted{}, now, out);
//   for (...) coordinator.replay(key, value, producer);   // the partition, up to its end
//   coordinator.on_event(Loaded{end}, now, out);
//   coordinator.on_event(request, now, out);              // not while is_deciding()
//   if (!out.append.empty()) -> AppendAccepted or AppendRefused, when known
//   replies leave once everything below their after_offset is committed
//   TimerFired at next_deadline()
//
// Not thread-safe; keeps nothing of the driver but the hooks.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/result.h"
#include "millrace/coordinator/classic/group.h"
#include "millrace/coordinator/events.h"
#include "millrace/coordinator/group_store.h"
#include "millrace/coordinator/timers.h"

namespace millrace::coordinator {

// What a client is told when the log refused a decision for `error`.
ErrorCode refused_append_error(ErrorCode error);

class GroupCoordinator {
 public:
  explicit GroupCoordinator(GroupConfig config, Hooks& hooks = Hooks::none()) : config_(config), hooks_(hooks) {}

  // While loading only. Errors: corrupt.
  Status replay(ByteView key, std::optional<ByteView> value, ProducerId producer = kNoProducerId);
  void end_transaction(ProducerId producer, bool is_committed) { store_.end_transaction(producer, is_committed); }

  void on_event(Event event, Now now, Effects& out);

  // An append is in flight: requests and timers must wait.
  bool is_deciding() const { return decision_.has_value(); }
  bool is_active() const { return phase_ == Phase::active; }
  // When TimerFired is due; may already have passed. never() while deciding.
  Mono next_deadline() const { return is_deciding() ? Mono::never() : timers_.next(); }

  GroupStore const& store() const { return store_; }
  int64_t rebalance_count() const { return rebalance_count_; }  // generations begun since it was made
  ClassicGroup const* find(std::string_view group_id) const;
  std::string text() const;  // the live groups, one a line
  void check_invariants() const;

 private:
  enum class Phase : uint8_t { inactive, loading, active };

  // What follows once a decision's records are in the log.
  struct ThenJoin {  // its group exists now
    JoinGroup request;
  };
  struct ThenAssign {  // everybody's Sync can be answered
    std::string group_id;
  };
  struct ThenReplace {  // a static member came back
    JoinGroup request;
    std::string new_id;
  };
  struct ThenEmpty {  // the last members are gone
    std::string group_id;
    std::optional<Ticket> leave;
    std::vector<ErrorCode> leavers;
    std::vector<std::string> pending_leavers;
  };
  struct ThenReply {
    Ticket ticket{};
    Answer answer;
  };
  struct ThenCleanUp {
    std::string next_group;
    bool is_last = false;
  };
  using Continuation = std::variant<ThenJoin, ThenAssign, ThenReplace, ThenEmpty, ThenReply, ThenCleanUp>;
  struct Decision {
    std::vector<Record> records;
    Continuation then;
  };

  void on(JoinGroup request, Now now, Effects& out);
  void on(SyncGroup request, Now now, Effects& out);
  void on(Heartbeat request, Now now, Effects& out);
  void on(LeaveGroup request, Now now, Effects& out);
  void on(CommitOffsets request, Now now, Effects& out);
  void on(FetchOffsets request, Now now, Effects& out);
  void on(DeleteOffsets request, Now now, Effects& out);
  void on(ListGroups request, Now now, Effects& out);
  void on(DescribeGroup request, Now now, Effects& out);
  void on(DeleteGroup request, Now now, Effects& out);
  void on(LoadStarted event, Now now, Effects& out);
  void on(Loaded event, Now now, Effects& out);
  void on(Resign event, Now now, Effects& out);
  void on(AppendAccepted event, Now now, Effects& out);
  void on(AppendRefused event, Now now, Effects& out);
  void on(TimerFired event, Now now, Effects& out);
  void on(TopicsDeleted event, Now now, Effects& out);

  void go_on(ThenJoin then, Now now, Effects& out);
  void go_on(ThenAssign then, Now now, Effects& out);
  void go_on(ThenReplace then, Now now, Effects& out);
  void go_on(ThenEmpty then, Now now, Effects& out);
  void go_on(ThenReply then, Now now, Effects& out);
  void go_on(ThenCleanUp then, Now now, Effects& out);
  void undo(ThenJoin then, ErrorCode error, Now now, Effects& out);
  void undo(ThenAssign then, ErrorCode error, Now now, Effects& out);
  void undo(ThenReplace then, ErrorCode error, Now now, Effects& out);
  void undo(ThenEmpty then, ErrorCode error, Now now, Effects& out);
  void undo(ThenReply then, ErrorCode error, Now now, Effects& out);
  void undo(ThenCleanUp then, ErrorCode error, Now now, Effects& out);

  void decide(std::vector<Record> records, Continuation then, Effects& out);
  void reply(Ticket ticket, Answer answer, Effects& out) const {
    out.replies.push_back({ticket, std::move(answer), tip_end_});
  }
  ErrorCode phase_error() const;
  ClassicGroup* find_group(std::string_view group_id);
  // Makes the live group follow what a replayed record created or deleted.
  void follow(std::string_view group_id);

  // Joining.
  bool accepts(ClassicGroup const& group, std::string_view member_id) const;
  void join(ClassicGroup& group, JoinGroup request, Now now, Effects& out);
  void join_new(ClassicGroup& group, JoinGroup request, Now now, Effects& out);
  void join_existing(ClassicGroup& group, JoinGroup request, Now now, Effects& out);
  void add_member(ClassicGroup& group, std::string id, JoinGroup request, Now now, Effects& out);
  void update_member(ClassicGroup& group, Member& member, JoinGroup request, Now now, Effects& out);
  void return_static(ClassicGroup& group, JoinGroup request, std::string new_id, Now now, Effects& out);
  Member& replace_static(ClassicGroup& group, JoinGroup const& request, std::string const& new_id, Now now,
                         Effects& out);
  void await_join(ClassicGroup& group, Member& member, Ticket ticket, Effects& out);
  JoinAnswer current_generation(ClassicGroup const& group, Member const& member, bool with_members) const;

  // Rebalancing.
  void rebalance_or_complete(ClassicGroup& group, Now now, Effects& out);
  void prepare_rebalance(ClassicGroup& group, Now now, Effects& out);
  void maybe_complete_join(ClassicGroup& group, Now now, Effects& out);
  void complete_join(ClassicGroup& group, Now now, Effects& out);
  void reset_assignments(ClassicGroup& group, ErrorCode error, Now now, Effects& out);
  void drop_member(ClassicGroup& group, std::string const& member_id, Effects& out);
  void decide_empty(ClassicGroup& group, Now now, Effects& out, ThenEmpty then);
  void arm_session(ClassicGroup& group, Member& member, Duration timeout, Now now);
  void arm_session(ClassicGroup& group, Member& member, Now now);

  // Timers.
  Timer* find_timer(Timers::Target const& target);
  void on_session_timer(ClassicGroup& group, std::string const& member_id, Now now, Effects& out);
  void on_join_timer(ClassicGroup& group, Now now, Effects& out);
  void on_sync_timer(ClassicGroup& group, Now now, Effects& out);

  // Offsets.
  ErrorCode validate_commit(CommitOffsets const& request, ClassicGroup const* group) const;
  void clean_up(Now now, Effects& out);
  void collect_deleted_topics(std::vector<Record>& records) const;
  // False: there was not room for all of it.
  bool collect_expired(ClassicGroup const& group, GroupStore::Entry const& entry, Now now,
                       std::vector<Record>& records) const;

  GroupConfig const config_;
  Hooks& hooks_;
  Phase phase_ = Phase::inactive;
  GroupStore store_;
  Offset tip_end_{0};
  std::map<std::string, ClassicGroup, std::less<>> groups_;  // one for each entry of the store
  Timers timers_;
  Timer cleanup_timer_;
  std::string cleanup_from_;                                  // the next group to look at
  std::vector<std::pair<std::string, Uuid>> deleted_topics_;  // whose offsets are still to be deleted
  std::optional<Decision> decision_;
  int64_t rebalance_count_ = 0;
};

}  // namespace millrace::coordinator
