// SyncGroup, Heartbeat and LeaveGroup.
#include "../answers.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

namespace {
bool is_inconsistent(std::optional<std::string> const& asked, std::optional<std::string> const& is) {
  return asked && asked != is;
}
}  // namespace

void GroupCoordinator::on(SyncGroup request, Now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, sync_error(error), out); };
  if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
  if (auto const error = phase_error(); error != ErrorCode::none) return refuse(error);
  auto* const found = find_group(request.group_id);
  if (found == nullptr) return refuse(ErrorCode::unknown_member_id);
  auto& group = *found;
  if (auto const error = group.validate_member(request.member_id, request.instance_id); error != ErrorCode::none) {
    return refuse(error);
  }
  if (request.generation != group.generation() && !MR_MUTANT(hooks_, "generation_not_checked")) {
    return refuse(ErrorCode::illegal_generation);
  }
  if (is_inconsistent(request.protocol_type, group.protocol_type()) ||
      is_inconsistent(request.protocol, group.protocol())) {
    return refuse(ErrorCode::inconsistent_group_protocol);
  }
  auto& member = *group.find(request.member_id);
  if (group.state() == GroupState::preparing_rebalance) return refuse(ErrorCode::rebalance_in_progress);
  member.owes_sync = false;
  if (!group.owes_syncs()) timers_.cancel(group.sync_timer);
  if (group.state() == GroupState::stable) {
    return reply(request.ticket,
                 SyncAnswer{ErrorCode::none, group.protocol_type(), group.protocol(), member.assignment}, out);
  }
  MR_ASSERT(group.state() == GroupState::completing_rebalance);
  if (auto const replaced = std::exchange(member.sync, request.ticket)) {
    reply(*replaced, sync_error(ErrorCode::rebalance_in_progress), out);
  }
  if (!group.is_leader(member.id)) return;
  // The leader has decided who gets what; whom it forgot gets nothing.
  auto stored = group.to_stored();
  std::map<std::string_view, Blob> assignments;
  for (auto const& [member_id, assignment] : request.assignments) assignments[member_id] = assignment;
  for (auto& one : stored.members) {
    auto const at = assignments.find(one.id);
    one.assignment = at == assignments.end() ? nullptr : at->second;
  }
  std::vector<Record> records{group_record(group.id(), stored)};
  decide(std::move(records), ThenAssign{group.id()}, out);
}

void GroupCoordinator::go_on(ThenAssign then, Now now, Effects& out) {
  auto& group = *find_group(then.group_id);
  MR_ASSERT(group.state() == GroupState::completing_rebalance);
  for (auto const& stored : store_.find(then.group_id)->group->members)
    group.find(stored.id)->assignment = stored.assignment;
  for (auto& [id, member] : group.members()) {
    auto const ticket = std::exchange(member.sync, std::nullopt);
    if (!ticket) continue;
    reply(*ticket, SyncAnswer{ErrorCode::none, group.protocol_type(), group.protocol(), member.assignment}, out);
    arm_session(group, member, now);
  }
  group.transition_to(GroupState::stable, now.wall);
}

void GroupCoordinator::undo(ThenAssign then, ErrorCode error, Now now, Effects& out) {
  auto& group = *find_group(then.group_id);
  reset_assignments(group, error, now, out);
  prepare_rebalance(group, now, out);
}

void GroupCoordinator::on(Heartbeat request, Now now, Effects& out) {
  auto const answer = [&](ErrorCode error) { reply(request.ticket, HeartbeatAnswer{error}, out); };
  if (request.group_id.empty()) return answer(ErrorCode::invalid_group_id);
  if (auto const error = phase_error(); error != ErrorCode::none) return answer(error);
  auto* const group = find_group(request.group_id);
  if (group == nullptr) return answer(ErrorCode::unknown_member_id);
  if (auto const error = group->validate_member(request.member_id, request.instance_id); error != ErrorCode::none) {
    return answer(error);
  }
  if (request.generation != group->generation() && !MR_MUTANT(hooks_, "generation_not_checked")) {
    return answer(ErrorCode::illegal_generation);
  }
  auto& member = *group->find(request.member_id);
  // While its own Join waits, the limit of a new member stands.
  if (!member.is_new) arm_session(*group, member, now);
  answer(group->state() == GroupState::preparing_rebalance ? ErrorCode::rebalance_in_progress : ErrorCode::none);
}

void GroupCoordinator::on(LeaveGroup request, Now now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, LeaveAnswer{error, {}}, out); };
  if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
  if (auto const error = phase_error(); error != ErrorCode::none) return refuse(error);
  auto* const found = find_group(request.group_id);
  if (found == nullptr) {
    return reply(request.ticket, LeaveAnswer{ErrorCode::none, {request.members.size(), ErrorCode::unknown_member_id}},
                 out);
  }
  auto& group = *found;
  // First who may go, then what that means: the last one's leaving has to be in the log.
  std::vector<ErrorCode> answers;
  std::set<std::string> members, pending;
  for (auto const& leaver : request.members) {
    auto id = leaver.member_id;
    if (id.empty() && leaver.instance_id) {  // an administrator removes whoever has this instance id
      auto const* const current = group.static_member(*leaver.instance_id);
      if (current != nullptr) id = *current;
    } else if (group.pending().contains(id)) {
      answers.push_back(pending.insert(id).second ? ErrorCode::none : ErrorCode::unknown_member_id);
      continue;
    }
    auto error = group.validate_member(id, leaver.instance_id);
    if (error == ErrorCode::none && !members.insert(id).second) error = ErrorCode::unknown_member_id;
    answers.push_back(error);
  }
  if (!members.empty() && members.size() == group.members().size()) {
    return decide_empty(group, now, out,
                        {group.id(), request.ticket, std::move(answers), {pending.begin(), pending.end()}});
  }
  for (auto const& id : members) drop_member(group, id, out);
  for (auto const& id : pending) {
    auto const at = group.pending().find(id);
    timers_.cancel(at->second);
    group.pending().erase(at);
  }
  reply(request.ticket, LeaveAnswer{ErrorCode::none, std::move(answers)}, out);
  if (group.state() == GroupState::empty || (members.empty() && pending.empty())) return;
  if (group.state() != GroupState::preparing_rebalance) prepare_rebalance(group, now, out);
  maybe_complete_join(group, now, out);
}

}  // namespace millrace::coordinator
