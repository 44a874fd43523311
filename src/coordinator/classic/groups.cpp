// ListGroups, DescribeGroups, DeleteGroups.
#include "../answers.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

namespace {

constexpr std::string_view kClassicType = "classic";

bool matches(std::vector<std::string> const& filter, std::string_view value) {
  auto const is_equal = [&](std::string_view one) {
    return std::equal(one.begin(), one.end(), value.begin(), value.end(), [](char a, char b) {
      auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
      return lower(a) == lower(b);
    });
  };
  return filter.empty() || std::any_of(filter.begin(), filter.end(), is_equal);
}

}  // namespace

void GroupCoordinator::on(ListGroups request, Now, Effects& out) {
  ListAnswer answer;
  answer.error = phase_error();
  if (answer.error == ErrorCode::none && matches(request.types, kClassicType)) {
    for (auto const& [id, group] : groups_) {
      if (!matches(request.states, name(group.state()))) continue;
      answer.groups.push_back({id, group.protocol_type().value_or(""), name(group.state()), kClassicType});
    }
  }
  reply(request.ticket, std::move(answer), out);
}

void GroupCoordinator::on(DescribeGroup request, Now, Effects& out) {
  if (auto const error = phase_error(); error != ErrorCode::none) {
    return reply(request.ticket, describe_error(error), out);
  }
  auto const* const group = find(request.group_id);
  DescribeAnswer answer;
  if (group == nullptr) {
    answer.error = ErrorCode::group_id_not_found;
    answer.state = "Dead";
    return reply(request.ticket, std::move(answer), out);
  }
  // What members said of themselves, and the protocol, are shown once they are agreed upon.
  auto const is_stable = group->state() == GroupState::stable;
  answer.state = name(group->state());
  answer.protocol_type = group->protocol_type().value_or("");
  if (is_stable) answer.protocol = group->protocol().value_or("");
  answer.members.reserve(group->members().size());
  for (auto const& [id, member] : group->members()) {
    answer.members.push_back({id, member.instance_id, member.client_id, member.client_host,
                              is_stable ? member.metadata(answer.protocol) : nullptr, member.assignment});
  }
  reply(request.ticket, std::move(answer), out);
}

void GroupCoordinator::on(DeleteGroup request, Now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, DeleteGroupAnswer{error}, out); };
  if (auto const error = phase_error(); error != ErrorCode::none) return refuse(error);
  auto const* const group = find(request.group_id);
  if (group == nullptr) return refuse(ErrorCode::group_id_not_found);
  if (group->state() != GroupState::empty) return refuse(ErrorCode::non_empty_group);
  std::vector<Record> records;
  for (auto const& [topic, offsets] : store_.find(request.group_id)->offsets) {
    for (auto const& [partition, offset] : offsets) {
      records.push_back(offset_tombstone(request.group_id, topic, partition));
    }
  }
  records.push_back(group_tombstone(request.group_id));
  decide(std::move(records), ThenReply{request.ticket, DeleteGroupAnswer{}}, out);
}

}  // namespace millrace::coordinator
