// The two phases of a rebalance, and what ends or restarts them.
#include "../answers.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

void GroupCoordinator::arm_session(ClassicGroup& group, Member& member, Duration timeout, Now now) {
  timers_.arm(member.session, now.mono + timeout, TimerKind::session, group.id(), member.id);
}

void GroupCoordinator::arm_session(ClassicGroup& group, Member& member, Now now) {
  arm_session(group, member, from_ms(member.session_timeout_ms), now);
}

void GroupCoordinator::rebalance_or_complete(ClassicGroup& group, Now now, Effects& out) {
  if (group.state() != GroupState::preparing_rebalance) return prepare_rebalance(group, now, out);
  maybe_complete_join(group, now, out);
}

// Begins to wait for everybody's Join. Does not look whether all are here already.
void GroupCoordinator::prepare_rebalance(ClassicGroup& group, Now now, Effects& out) {
  MR_ASSERT(group.state() != GroupState::preparing_rebalance);
  if (group.state() == GroupState::completing_rebalance) {
    reset_assignments(group, ErrorCode::rebalance_in_progress, now, out);
  }
  timers_.cancel(group.sync_timer);
  auto const timeout = from_ms(group.rebalance_timeout_ms());
  auto wait = timeout;
  if (group.state() == GroupState::empty) {
    // A new group: give further members some time, so that they need not all rebalance one by one.
    group.is_initial_wait = true;
    group.has_new_member = false;
    wait = config_.initial_rebalance_delay;
    group.initial_delay_now = wait;
    group.initial_delay_left = std::max(timeout - wait, Duration::zero());
  }
  timers_.arm(group.join_timer, now.mono + wait, TimerKind::join, group.id());
  group.transition_to(GroupState::preparing_rebalance, now.wall);
}

void GroupCoordinator::maybe_complete_join(ClassicGroup& group, Now now, Effects& out) {
  if (group.state() != GroupState::preparing_rebalance || group.previous_state() == GroupState::empty) return;
  if (group.has_all_joined()) complete_join(group, now, out);
}

void GroupCoordinator::complete_join(ClassicGroup& group, Now now, Effects& out) {
  timers_.cancel(group.join_timer);
  // Who has not re-joined is out; a static member may still come back within its session.
  std::vector<std::string> absent;
  for (auto const& [id, member] : group.members()) {
    if (!member.join && !member.instance_id) absent.push_back(id);
  }
  if (absent.size() == group.members().size()) return decide_empty(group, now, out, {group.id(), {}, {}, {}});
  for (auto const& id : absent) drop_member(group, id, out);
  if (!group.elect_joined_leader()) {
    timers_.arm(group.join_timer, now.mono + from_ms(group.rebalance_timeout_ms()), TimerKind::join, group.id());
    return;
  }
  group.is_initial_wait = group.has_new_member = false;
  group.begin_generation(now.wall);
  ++rebalance_count_;
  for (auto& [id, member] : group.members()) {
    if (auto const ticket = group.take_join(member)) {
      reply(*ticket, current_generation(group, member, group.is_leader(id)), out);
    }
    member.is_new = false;
    member.owes_sync = true;
    arm_session(group, member, now);
  }
  timers_.arm(group.sync_timer, now.mono + from_ms(group.rebalance_timeout_ms()), TimerKind::sync, group.id());
}

void GroupCoordinator::reset_assignments(ClassicGroup& group, ErrorCode error, Now now, Effects& out) {
  for (auto& [id, member] : group.members()) {
    member.assignment = nullptr;
    if (auto const ticket = std::exchange(member.sync, std::nullopt)) {
      reply(*ticket, sync_error(error), out);
      arm_session(group, member, now);
    }
  }
}

// Takes out one of several members.
void GroupCoordinator::drop_member(ClassicGroup& group, std::string const& member_id, Effects& out) {
  MR_ASSERT(group.members().size() > 1);
  auto member = group.remove(member_id);
  timers_.cancel(member.session);
  // A waiting client that is still there starts anew.
  if (member.join) reply(*member.join, join_error(ErrorCode::unknown_member_id, ""), out);
  if (member.sync) reply(*member.sync, sync_error(ErrorCode::unknown_member_id), out);
}

// The last members go: that is in the log before it is so.
void GroupCoordinator::decide_empty(ClassicGroup& group, Now now, Effects& out, ThenEmpty then) {
  if (group.state() == GroupState::preparing_rebalance) {
    timers_.arm(group.join_timer, now.mono + kRefusedTimerRetry, TimerKind::join, group.id());
  }
  std::vector<Record> records{group_record(group.id(), group.emptied(now.wall))};
  decide(std::move(records), std::move(then), out);
}

void GroupCoordinator::go_on(ThenEmpty then, Now, Effects& out) {
  auto& group = *find_group(then.group_id);
  while (!group.members().empty()) {
    auto member = group.remove(group.members().begin()->first);
    timers_.cancel(member.session);
    if (member.join) reply(*member.join, join_error(ErrorCode::unknown_member_id, ""), out);
    if (member.sync) reply(*member.sync, sync_error(ErrorCode::unknown_member_id), out);
  }
  for (auto const& id : then.pending_leavers) {
    auto const pending = group.pending().find(id);
    timers_.cancel(pending->second);
    group.pending().erase(pending);
  }
  timers_.cancel(group.join_timer);
  timers_.cancel(group.sync_timer);
  group.become_empty(*store_.find(then.group_id)->group);
  if (then.leave) reply(*then.leave, LeaveAnswer{ErrorCode::none, std::move(then.leavers)}, out);
}

void GroupCoordinator::undo(ThenEmpty then, ErrorCode error, Now, Effects& out) {
  // A timer's decision comes again by the timer.
  if (then.leave) reply(*then.leave, LeaveAnswer{error, {}}, out);
}

void GroupCoordinator::on_session_timer(ClassicGroup& group, std::string const& member_id, Now now, Effects& out) {
  if (group.pending().erase(member_id) > 0) return maybe_complete_join(group, now, out);
  auto& member = *group.find(member_id);
  // Who waits for us is alive; its session goes on when it is answered. A new member's first Join has its own limit.
  auto const is_waiting = !member.is_new && (member.join || member.sync);
  if (is_waiting && !MR_MUTANT(hooks_, "expired_in_join")) return;
  if (group.members().size() == 1) {
    arm_session(group, member, kRefusedTimerRetry, now);
    return decide_empty(group, now, out, {group.id(), {}, {}, {}});
  }
  drop_member(group, member_id, out);
  rebalance_or_complete(group, now, out);
}

void GroupCoordinator::on_join_timer(ClassicGroup& group, Now now, Effects& out) {
  if (!group.is_initial_wait || !group.has_new_member || group.initial_delay_left == Duration::zero()) {
    return complete_join(group, now, out);
  }
  group.has_new_member = false;
  auto const wait = std::min(config_.initial_rebalance_delay, group.initial_delay_left);
  group.initial_delay_left = std::max(group.initial_delay_left - group.initial_delay_now, Duration::zero());
  group.initial_delay_now = wait;
  timers_.arm(group.join_timer, now.mono + wait, TimerKind::join, group.id());
}

// The rebalance timeout has passed since the Joins were answered, and some have not synced.
void GroupCoordinator::on_sync_timer(ClassicGroup& group, Now now, Effects& out) {
  MR_ASSERT(group.state() == GroupState::completing_rebalance || group.state() == GroupState::stable);
  std::vector<std::string> owing;
  for (auto const& [id, member] : group.members()) {
    if (member.owes_sync) owing.push_back(id);
  }
  if (owing.empty()) return;
  if (owing.size() == group.members().size()) {
    timers_.arm(group.sync_timer, now.mono + kRefusedTimerRetry, TimerKind::sync, group.id());
    return decide_empty(group, now, out, {group.id(), {}, {}, {}});
  }
  for (auto const& id : owing) drop_member(group, id, out);
  prepare_rebalance(group, now, out);
  maybe_complete_join(group, now, out);
}

}  // namespace millrace::coordinator
