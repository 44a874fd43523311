// JoinGroup: new members, those that come back, and static ones under a new id.
#include "../answers.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

namespace {

// As java.util.UUID prints it.
std::string uuid_text(Uuid const& id) {
  std::string out;
  for (size_t i = 0; i < id.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", id.bytes[i]);
  }
  return out;
}

bool fits_a_record(JoinGroup const& request) {
  auto const fits = [](std::string const& text) { return text.size() <= kStoredTextBytesMax; };
  return fits(request.group_id) && fits(request.member_id) && fits(request.client_id) && fits(request.client_host) &&
         fits(request.instance_id.value_or("")) && fits(request.protocol_type) &&
         std::all_of(request.protocols.begin(), request.protocols.end(),
                     [&](Protocol const& protocol) { return fits(protocol.name); });
}

}  // namespace

void GroupCoordinator::on(JoinGroup request, Now now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, join_error(error, request.member_id), out); };
  if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
  if (request.session_timeout_ms < config_.session_timeout_ms_min ||
      request.session_timeout_ms > config_.session_timeout_ms_max) {
    return refuse(ErrorCode::invalid_session_timeout);
  }
  if (auto const error = phase_error(); error != ErrorCode::none) return refuse(error);
  if (!fits_a_record(request)) return refuse(ErrorCode::invalid_request);
  request.rebalance_timeout_ms = std::max(request.rebalance_timeout_ms, 0);
  if (auto* const group = find_group(request.group_id)) return join(*group, std::move(request), now, out);
  if (!request.member_id.empty()) return refuse(ErrorCode::unknown_member_id);
  if (groups_.size() >= kGroupsMax) return refuse(ErrorCode::coordinator_not_available);
  // A group exists once its first record does.
  std::vector<Record> records{group_record(request.group_id, {"", 0, {}, {}, now.wall.ms, {}})};
  decide(std::move(records), ThenJoin{std::move(request)}, out);
}

void GroupCoordinator::go_on(ThenJoin then, Now now, Effects& out) {
  auto* const group = find_group(then.request.group_id);
  MR_ASSERT(group != nullptr);
  join(*group, std::move(then.request), now, out);
}

void GroupCoordinator::undo(ThenJoin then, ErrorCode error, Now, Effects& out) {
  reply(then.request.ticket, join_error(error, ""), out);
}

// Room for one more? While members re-join, those count that have, so that a group that is too large loses the last.
bool GroupCoordinator::accepts(ClassicGroup const& group, std::string_view member_id) const {
  auto const limit = static_cast<size_t>(config_.member_count_max);
  switch (group.state()) {
    case GroupState::empty: return true;
    case GroupState::preparing_rebalance: {
      auto const* const member = group.find(member_id);
      return (member != nullptr && member->join) || group.awaiting_join_count() < limit;
    }
    case GroupState::completing_rebalance:
    case GroupState::stable: return group.has(member_id) || group.members().size() < limit;
  }
  return false;
}

void GroupCoordinator::join(ClassicGroup& group, JoinGroup request, Now now, Effects& out) {
  if (!accepts(group, request.member_id)) {
    reply(request.ticket, join_error(ErrorCode::group_max_size_reached, ""), out);
    if (group.has(request.member_id)) {  // others have joined, so the group does not become empty
      drop_member(group, request.member_id, out);
      maybe_complete_join(group, now, out);
    }
    return;
  }
  if (request.member_id.empty()) return join_new(group, std::move(request), now, out);
  join_existing(group, std::move(request), now, out);
}

void GroupCoordinator::join_new(ClassicGroup& group, JoinGroup request, Now now, Effects& out) {
  if (!group.supports(request.protocol_type, request.protocols)) {
    return reply(request.ticket, join_error(ErrorCode::inconsistent_group_protocol, ""), out);
  }
  auto new_id = request.instance_id.value_or(request.client_id) + "-" + uuid_text(request.unique);
  if (request.instance_id) {
    if (group.static_member(*request.instance_id) == nullptr) {
      return add_member(group, std::move(new_id), std::move(request), now, out);
    }
    return return_static(group, std::move(request), std::move(new_id), now, out);
  }
  if (!request.wants_known_member_id) return add_member(group, std::move(new_id), std::move(request), now, out);
  // A client whose first Join is lost would leave a member behind that nobody is: it gets its id first.
  if (group.pending().size() >= kPendingMembersMax) {
    return reply(request.ticket, join_error(ErrorCode::group_max_size_reached, ""), out);
  }
  auto const [at, is_fresh] = group.pending().try_emplace(new_id);
  timers_.arm(at->second, now.mono + from_ms(request.session_timeout_ms), TimerKind::session, group.id(), new_id);
  reply(request.ticket, join_error(ErrorCode::member_id_required, std::move(new_id)), out);
}

void GroupCoordinator::join_existing(ClassicGroup& group, JoinGroup request, Now now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, join_error(error, request.member_id), out); };
  if (!group.supports(request.protocol_type, request.protocols)) return refuse(ErrorCode::inconsistent_group_protocol);
  if (group.pending().contains(request.member_id)) {
    // Only dynamic members are given an id first.
    if (request.instance_id) return refuse(ErrorCode::unknown_server_error);
    auto id = request.member_id;
    return add_member(group, std::move(id), std::move(request), now, out);
  }
  if (auto const error = group.validate_member(request.member_id, request.instance_id); error != ErrorCode::none) {
    return refuse(error);
  }
  auto& member = *group.find(request.member_id);
  // One that only lost our answer gets it again. A leader that joins a stable group wants a new assignment.
  auto const is_unchanged = member.has_protocols(request.protocols);
  if (is_unchanged && group.state() == GroupState::completing_rebalance) {
    return reply(request.ticket, current_generation(group, member, group.is_leader(member.id)), out);
  }
  if (is_unchanged && group.state() == GroupState::stable && !group.is_leader(member.id)) {
    return reply(request.ticket, current_generation(group, member, false), out);
  }
  update_member(group, member, std::move(request), now, out);
}

void GroupCoordinator::add_member(ClassicGroup& group, std::string id, JoinGroup request, Now now, Effects& out) {
  if (group.state() == GroupState::preparing_rebalance && group.generation() == 0) group.has_new_member = true;
  if (auto const pending = group.pending().find(id); pending != group.pending().end()) {
    timers_.cancel(pending->second);
    group.pending().erase(pending);
  }
  Member fresh;
  fresh.id = std::move(id);
  fresh.instance_id = std::move(request.instance_id);
  fresh.client_id = std::move(request.client_id);
  fresh.client_host = std::move(request.client_host);
  fresh.rebalance_timeout_ms = request.rebalance_timeout_ms;
  fresh.session_timeout_ms = request.session_timeout_ms;
  fresh.protocols = std::move(request.protocols);
  fresh.is_new = true;
  auto& member = group.add(std::move(fresh), request.protocol_type);
  auto const ticket = request.ticket;
  arm_session(group, member, kNewMemberJoinTimeout, now);
  if (group.state() != GroupState::preparing_rebalance) prepare_rebalance(group, now, out);
  await_join(group, member, ticket, out);
  maybe_complete_join(group, now, out);
}

void GroupCoordinator::update_member(ClassicGroup& group, Member& member, JoinGroup request, Now now, Effects& out) {
  group.update(member, std::move(request.protocols), request.rebalance_timeout_ms, request.session_timeout_ms);
  if (group.state() != GroupState::preparing_rebalance) prepare_rebalance(group, now, out);
  await_join(group, member, request.ticket, out);
  maybe_complete_join(group, now, out);
}

Member& GroupCoordinator::replace_static(ClassicGroup& group, JoinGroup const& request, std::string const& new_id,
                                         Now now, Effects& out) {
  auto& old = *group.find(*group.static_member(*request.instance_id));
  // Whoever still waits under the old id is a second process with the same instance id.
  if (auto const ticket = group.take_join(old)) reply(*ticket, join_error(ErrorCode::fenced_instance_id, old.id), out);
  if (auto const ticket = std::exchange(old.sync, std::nullopt)) {
    reply(*ticket, sync_error(ErrorCode::fenced_instance_id), out);
  }
  timers_.cancel(old.session);
  auto& member = group.replace_static(*request.instance_id, new_id);
  group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms);
  arm_session(group, member, now);
  return member;
}

void GroupCoordinator::return_static(ClassicGroup& group, JoinGroup request, std::string new_id, Now now,
                                     Effects& out) {
  if (group.state() == GroupState::stable) {
    // Nobody else need notice, unless it changes the protocol. The log must know the new id before the member does.
    auto next = group;
    auto& returned = next.replace_static(*request.instance_id, new_id);
    next.update(returned, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms);
    if (next.select_protocol() == group.protocol().value_or("")) {
      std::vector<Record> records{group_record(group.id(), next.to_stored())};
      return decide(std::move(records), ThenReplace{std::move(request), std::move(new_id)}, out);
    }
  }
  auto& member = replace_static(group, request, new_id, now, out);
  // In CompletingRebalance the leader may be assigning to the old id: that rebalance is void.
  if (group.state() != GroupState::preparing_rebalance) prepare_rebalance(group, now, out);
  await_join(group, member, request.ticket, out);
  maybe_complete_join(group, now, out);
}

void GroupCoordinator::go_on(ThenReplace then, Now now, Effects& out) {
  auto& group = *find_group(then.request.group_id);
  auto const old_leader = *group.leader();
  auto const& member = replace_static(group, then.request, then.new_id, now, out);
  if (then.request.can_skip_assignment) {
    // The leader learns who is in the group, and that it need not assign anything.
    auto const is_leader = group.is_leader(member.id);
    auto answer = current_generation(group, member, is_leader);
    answer.skip_assignment = is_leader;
    return reply(then.request.ticket, std::move(answer), out);
  }
  // An older leader must not think that it leads, since it would assign: it is told its own former id.
  auto answer = current_generation(group, member, false);
  answer.leader = old_leader;
  reply(then.request.ticket, std::move(answer), out);
}

void GroupCoordinator::undo(ThenReplace then, ErrorCode error, Now, Effects& out) {
  reply(then.request.ticket, join_error(error, ""), out);
}

void GroupCoordinator::await_join(ClassicGroup& group, Member& member, Ticket ticket, Effects& out) {
  // The same member on another connection: the older one would wait for ever.
  if (auto const replaced = group.await_join(member, ticket)) {
    reply(*replaced, join_error(ErrorCode::rebalance_in_progress, member.id), out);
  }
}

JoinAnswer GroupCoordinator::current_generation(ClassicGroup const& group, Member const& member,
                                                bool with_members) const {
  JoinAnswer answer;
  answer.generation = group.generation();
  answer.protocol_type = group.protocol_type();
  answer.protocol = group.protocol();
  answer.leader = group.leader().value_or("");
  answer.member_id = member.id;
  if (!with_members) return answer;
  answer.members.reserve(group.members().size());
  for (auto const& [id, one] : group.members()) {
    answer.members.push_back({id, one.instance_id, one.metadata(group.protocol().value_or(""))});
  }
  return answer;
}

}  // namespace millrace::coordinator
