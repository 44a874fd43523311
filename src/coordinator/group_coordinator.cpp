// Life of the machine: loading, decisions and their ends, timers.
#include "millrace/coordinator/group_coordinator.h"

#include "answers.h"

namespace millrace::coordinator {

ErrorCode refused_append_error(ErrorCode error) {
  switch (error) {
    case ErrorCode::unknown_topic_or_partition:
    case ErrorCode::not_enough_replicas:
    case ErrorCode::not_enough_replicas_after_append:
    case ErrorCode::request_timed_out: return ErrorCode::coordinator_not_available;
    case ErrorCode::not_leader_or_follower:
    case ErrorCode::kafka_storage_error: return ErrorCode::not_coordinator;
    case ErrorCode::message_too_large:
    case ErrorCode::record_list_too_large:
    case ErrorCode::invalid_fetch_size: return ErrorCode::unknown_server_error;
    default: return error;
  }
}

Status GroupCoordinator::replay(ByteView key, std::optional<ByteView> value, ProducerId producer) {
  MR_ASSERT(phase_ == Phase::loading);
  MR_TRY(store_.replay(key, value, producer));
  return {};
}

void GroupCoordinator::on_event(Event event, Now now, Effects& out) {
  std::visit([&](auto& e) { on(std::move(e), now, out); }, event);
}

ErrorCode GroupCoordinator::phase_error() const {
  switch (phase_) {
    case Phase::active: return ErrorCode::none;
    case Phase::loading: return ErrorCode::coordinator_load_in_progress;
    case Phase::inactive: break;
  }
  return ErrorCode::not_coordinator;
}

ClassicGroup const* GroupCoordinator::find(std::string_view group_id) const {
  auto const at = groups_.find(group_id);
  return at == groups_.end() ? nullptr : &at->second;
}

ClassicGroup* GroupCoordinator::find_group(std::string_view group_id) {
  auto const at = groups_.find(group_id);
  return at == groups_.end() ? nullptr : &at->second;
}

void GroupCoordinator::on(LoadStarted, Now now, Effects& out) {
  on(Resign{}, now, out);
  phase_ = Phase::loading;
}

void GroupCoordinator::on(Loaded event, Now now, Effects& out) {
  MR_ASSERT(phase_ == Phase::loading);
  phase_ = Phase::active;
  tip_end_ = event.end;
  for (auto const& [id, entry] : store_.entries()) {
    auto& group = groups_.try_emplace(id, id, entry.group ? &*entry.group : nullptr).first->second;
    for (auto& [member_id, member] : group.members()) arm_session(group, member, now);
    // group.max.size may be smaller now.
    if (group.members().size() > static_cast<size_t>(config_.member_count_max)) prepare_rebalance(group, now, out);
  }
  timers_.arm(cleanup_timer_, now.mono + config_.offsets_retention_check, TimerKind::cleanup);
}

void GroupCoordinator::on(Resign, Now now, Effects& out) {
  if (auto const decision = std::exchange(decision_, std::nullopt)) {
    struct {
      std::optional<Ticket> operator()(ThenJoin const& then) const { return then.request.ticket; }
      std::optional<Ticket> operator()(ThenAssign const&) const { return {}; }  // its waiters are in the group
      std::optional<Ticket> operator()(ThenReplace const& then) const { return then.request.ticket; }
      std::optional<Ticket> operator()(ThenEmpty const& then) const { return then.leave; }
      std::optional<Ticket> operator()(ThenReply const& then) const { return then.ticket; }
      std::optional<Ticket> operator()(ThenCleanUp const&) const { return {}; }
    } ticket_of;
    if (std::visit(ticket_of, decision->then)) {
      std::visit([&](auto& then) { undo(then, ErrorCode::not_coordinator, now, out); }, decision->then);
    }
  }
  // Nothing that was promised here holds any more: whoever waits looks for the new coordinator.
  tip_end_ = Offset{0};
  for (auto& [id, group] : groups_) {
    for (auto& [member_id, member] : group.members()) {
      if (auto const ticket = group.take_join(member))
        reply(*ticket, join_error(ErrorCode::not_coordinator, member_id), out);
      if (auto const ticket = std::exchange(member.sync, std::nullopt))
        reply(*ticket, sync_error(ErrorCode::not_coordinator), out);
    }
  }
  for (auto& one : out.replies) one.after_offset = Offset{0};
  groups_.clear();
  timers_.clear();
  cleanup_timer_ = {};
  cleanup_from_.clear();
  deleted_topics_.clear();
  store_.clear();
  phase_ = Phase::inactive;
}

void GroupCoordinator::decide(std::vector<Record> records, Continuation then, Effects& out) {
  MR_ASSERT(!decision_);
  MR_ASSERT(out.append.empty());
  MR_ASSERT(!records.empty());
  out.append = records;
  decision_ = Decision{std::move(records), std::move(then)};
}

void GroupCoordinator::on(AppendAccepted event, Now now, Effects& out) {
  MR_ASSERT(decision_.has_value());
  MR_ASSERT_VALUES(event.end > tip_end_, "end {} tip {}", event.end, tip_end_);
  auto decision = *std::exchange(decision_, std::nullopt);
  tip_end_ = event.end;
  for (auto const& record : decision.records) {
    auto const value = record.value ? std::optional(record.value->view()) : std::nullopt;
    auto const group_id = store_.replay(record.key.view(), value);
    MR_ASSERT(group_id.ok());  // we have just written it
    follow(*group_id);
  }
  std::visit([&](auto& then) { go_on(std::move(then), now, out); }, decision.then);
}

void GroupCoordinator::on(AppendRefused event, Now now, Effects& out) {
  MR_ASSERT(decision_.has_value());
  auto decision = *std::exchange(decision_, std::nullopt);
  std::visit([&](auto& then) { undo(std::move(then), refused_append_error(event.error), now, out); }, decision.then);
}

void GroupCoordinator::follow(std::string_view group_id) {
  auto const* const entry = store_.find(group_id);
  auto const live = groups_.find(group_id);
  if (entry != nullptr && live == groups_.end()) {
    groups_.try_emplace(std::string(group_id), std::string(group_id), entry->group ? &*entry->group : nullptr);
  } else if (entry == nullptr && live != groups_.end()) {
    MR_ASSERT(live->second.members().empty());
    for (auto& [id, timer] : live->second.pending()) timers_.cancel(timer);
    groups_.erase(live);
  }
}

void GroupCoordinator::go_on(ThenReply then, Now, Effects& out) { reply(then.ticket, std::move(then.answer), out); }

void GroupCoordinator::undo(ThenReply then, ErrorCode error, Now, Effects& out) {
  set_error(then.answer, error);
  reply(then.ticket, std::move(then.answer), out);
}

Timer* GroupCoordinator::find_timer(Timers::Target const& target) {
  if (target.kind == TimerKind::cleanup) return &cleanup_timer_;
  auto* const group = find_group(target.group_id);
  MR_ASSERT(group != nullptr);
  if (target.kind == TimerKind::join) return &group->join_timer;
  if (target.kind == TimerKind::sync) return &group->sync_timer;
  if (auto* const member = group->find(target.member_id)) return &member->session;
  auto const pending = group->pending().find(target.member_id);
  MR_ASSERT(pending != group->pending().end());
  return &pending->second;
}

void GroupCoordinator::on(TimerFired, Now now, Effects& out) {
  for (size_t fired = 0; fired < kTimersPerEventMax && !is_deciding(); ++fired) {
    auto const* const first = timers_.first(now.mono);
    if (first == nullptr) return;
    auto const target = *first;
    if (!timers_.fire(*find_timer(target), now.mono)) continue;
    if (target.kind == TimerKind::cleanup) {
      clean_up(now, out);
      continue;
    }
    auto& group = *find_group(target.group_id);
    switch (target.kind) {
      case TimerKind::session: on_session_timer(group, target.member_id, now, out); break;
      case TimerKind::join: on_join_timer(group, now, out); break;
      case TimerKind::sync: on_sync_timer(group, now, out); break;
      case TimerKind::cleanup: break;
    }
  }
}

void GroupCoordinator::check_invariants() const {
  MR_ASSERT(phase_ == Phase::active || groups_.empty());
  MR_ASSERT(phase_ != Phase::inactive || (!decision_ && store_.entries().empty()));
  if (phase_ != Phase::active) return;
  MR_ASSERT(cleanup_timer_.due != Mono::never());
  MR_ASSERT(groups_.size() == store_.entries().size());
  size_t timers = 1;
  for (auto const& [id, group] : groups_) {
    auto const* const entry = store_.find(id);
    MR_ASSERT(entry != nullptr);
    MR_ASSERT(group.id() == id);
    group.check_invariants();
    for (auto const& [member_id, member] : group.members()) timers += member.session.queued ? 1 : 0;
    for (auto const& [member_id, timer] : group.pending()) {
      MR_ASSERT(timer.queued.has_value());
      ++timers;
    }
    timers += (group.join_timer.queued ? 1 : 0) + (group.sync_timer.queued ? 1 : 0);
    // What is complete is in the log: a stable group's members and assignments, an empty group's emptiness.
    if (group.state() == GroupState::empty) {
      MR_ASSERT(!entry->group || entry->group->members.empty());
      MR_ASSERT(group.generation() == (entry->group ? entry->group->generation : 0));
    }
    if (group.state() != GroupState::stable) continue;
    MR_ASSERT(entry->group.has_value());
    MR_ASSERT(entry->group->generation == group.generation());
    MR_ASSERT(entry->group->members.size() == group.members().size());
    for (auto const& stored : entry->group->members) {
      auto const* const member = group.find(stored.id);
      MR_ASSERT(member != nullptr);
      MR_ASSERT(member->instance_id == stored.instance_id);
      MR_ASSERT(text_of(member->assignment) == text_of(stored.assignment));
    }
  }
  MR_ASSERT(timers == timers_.size());
}

std::string GroupCoordinator::text() const {
  std::string out;
  for (auto const& [id, group] : groups_) out += group.text() + "\n";
  return out;
}

}  // namespace millrace::coordinator
