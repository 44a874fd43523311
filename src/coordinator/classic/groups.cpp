// ListGroups, DescribeGroups, DeleteGroups.
#include <set>

#include "../answers.h"
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

namespace {

constexpr std::string_view kClassicType = "classic";

// Names in any case; none stands for all.
class Filter {
 public:
  explicit Filter(std::vector<std::string> const& names) {
    for (auto const& name : names) names_.insert(lower(name));
  }
  bool matches(std::string_view value) const { return names_.empty() || names_.contains(lower(value)); }

 private:
  static std::string lower(std::string_view text) {
    std::string out(text);
    for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return out;
  }
  std::set<std::string> names_;
};

}  // namespace

void GroupCoordinator::on(ListGroups request, Now, Effects& out) {
  ListAnswer answer;
  answer.error = phase_error();
  Filter const types(request.types), states(request.states);
  if (answer.error == ErrorCode::none && types.matches(kClassicType)) {
    for (auto const& [id, group] : groups_) {
      if (!states.matches(name(group.state()))) continue;
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
