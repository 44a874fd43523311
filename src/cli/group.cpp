#include <set>

#include "groups.h"
#include "millrace/protocol/api/delete_groups.h"
#include "millrace/protocol/api/offset_delete.h"
#include "offsets.h"
#include "output.h"

namespace millrace::cli {
namespace {

std::string or_nothing(std::string_view text) { return std::string(text.empty() ? kNothing : text); }
Json or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

std::string assignment_text(std::vector<Assigned> const& assignment) {
  std::string text;
  for (auto const& assigned : assignment) {
    text += fmt::format("{}{}:", text.empty() ? "" : " ", assigned.topic);
    for (size_t i = 0; i < assigned.partitions.size(); ++i)
      text += fmt::format("{}{}", i > 0 ? "," : "", assigned.partitions[i]);
  }
  return or_nothing(text);
}

Json assignment_json(std::vector<Assigned> const& assignment) {
  auto list = Json::array();
  for (auto const& assigned : assignment) {
    list.add(Json::object({{"topic", assigned.topic}, {"partitions", Json::array_of(assigned.partitions)}}));
  }
  return list;
}

// One partition that a group has committed an offset for, or that a member owns.
struct Progress {
  std::optional<int64_t> committed;
  std::optional<int64_t> end;
  std::optional<int64_t> lag;
  GroupMember const* owner = nullptr;
  CommittedOffset const* stored = nullptr;
};

using Ends = std::map<TopicPartition, FoundOffset>;

// The subtopologies of a streams group are not topics.
bool owns_topics(GroupView const& view) { return view.listed.type != "streams"; }

std::vector<TopicPartition> partitions_of(GroupView const& view) {
  std::set<TopicPartition> partitions;
  for (auto const& [where, committed] : view.committed) partitions.insert(where);
  for (auto const& member : view.members) {
    if (!owns_topics(view)) break;
    for (auto const& assigned : member.assignment) {
      for (auto const number : assigned.partitions) partitions.insert({assigned.topic, number});
    }
  }
  return {partitions.begin(), partitions.end()};
}

std::map<TopicPartition, Progress> progress_of(GroupView const& view, Ends const& ends) {
  std::map<TopicPartition, Progress> rows;
  for (auto const& where : partitions_of(view)) {
    auto& row = rows[where];
    if (auto const end = ends.find(where); end != ends.end() && end->second.error == ErrorCode::none)
      row.end = end->second.offset;
    if (auto const found = view.committed.find(where); found != view.committed.end()) {
      row.stored = &found->second;
      row.committed = found->second.offset;
      if (row.end) row.lag = *row.end - *row.committed;
    }
    // A share group has more in flight than its start offset tells; the broker counts for it.
    if (view.listed.type == "share") row.lag.reset();
    if (auto const found = view.lag.find(where); found != view.lag.end()) row.lag = found->second;
  }
  for (auto const& member : view.members) {
    if (!owns_topics(view)) break;
    for (auto const& assigned : member.assignment) {
      for (auto const number : assigned.partitions) rows[{assigned.topic, number}].owner = &member;
    }
  }
  return rows;
}

Json view_json(GroupView const& view, Ends const& ends) {
  auto members = Json::array();
  for (auto const& member : view.members) {
    members.add(Json::object({{"id", member.id},
                              {"instance_id", member.instance},
                              {"client_id", member.client_id},
                              {"host", member.host},
                              {"epoch", member.epoch},
                              {"assignment", assignment_json(member.assignment)}}));
  }
  auto offsets = Json::array();
  for (auto const& [where, row] : progress_of(view, ends)) {
    offsets.add(Json::object({{"topic", where.topic},
                              {"partition", where.partition},
                              {"committed", row.committed},
                              {"end", row.end},
                              {"lag", row.lag},
                              {"leader_epoch", row.stored ? Json(row.stored->leader_epoch) : Json()},
                              {"metadata", row.stored ? or_null(row.stored->metadata) : Json()},
                              {"member", row.owner ? Json(row.owner->id) : Json()}}));
  }
  return Json::object({{"name", view.listed.name},
                       {"type", view.listed.type},
                       {"state", or_null(view.listed.state)},
                       {"protocol", or_null(view.listed.protocol)},
                       {"assignor", or_null(view.assignor)},
                       {"epoch", view.epoch},
                       {"coordinator", view.listed.coordinator},
                       {"members", members},
                       {"offsets", offsets}});
}

void print_view(GroupView const& view, Ends const& ends, GroupDescribeOptions const& options) {
  fmt::print("{}: {} group, {}, {} member{}, coordinator {}{}{}\n", view.listed.name, view.listed.type,
             or_nothing(view.listed.state), view.members.size(), view.members.size() == 1 ? "" : "s",
             view.listed.coordinator, view.assignor.empty() ? "" : fmt::format(", assignor {}", view.assignor),
             view.epoch ? fmt::format(", epoch {}", *view.epoch) : "");
  if (options.only_state) return;
  if (options.with_members) {
    if (view.members.empty()) return;
    Table table({"MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS", "ASSIGNMENT"});
    for (auto const& member : view.members) {
      size_t count = 0;
      for (auto const& assigned : member.assignment) count += assigned.partitions.size();
      table.add({member.id, member.instance.value_or(std::string(kNothing)), member.client_id, member.host,
                 fmt::to_string(count), assignment_text(member.assignment)});
    }
    return table.print();
  }
  auto const rows = progress_of(view, ends);
  if (rows.empty()) return;
  auto const number = [](std::optional<int64_t> value) {
    return value ? fmt::to_string(*value) : std::string(kNothing);
  };
  Table table({"TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "CLIENT", "HOST"});
  for (auto const& [where, row] : rows) {
    auto const owner = [&](std::string GroupMember::*field) {
      return row.owner ? row.owner->*field : std::string(kNothing);
    };
    table.add({where.topic, fmt::to_string(where.partition), number(row.committed), number(row.end), number(row.lag),
               owner(&GroupMember::id), owner(&GroupMember::client_id), owner(&GroupMember::host)});
  }
  table.print();
}

}  // namespace

int list_groups(GroupListOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const groups = find_groups(**cluster, options.states, options.types);
  if (!groups) return report(groups.error(), options.cluster);
  auto list = Json::array();
  Table table({"GROUP", "TYPE", "PROTOCOL", "STATE", "COORDINATOR"});
  for (auto const& group : *groups) {
    list.add(Json::object({{"name", group.name},
                           {"type", group.type},
                           {"protocol", or_null(group.protocol)},
                           {"state", or_null(group.state)},
                           {"coordinator", group.coordinator}}));
    table.add({group.name, group.type, or_nothing(group.protocol), or_nothing(group.state),
               fmt::to_string(group.coordinator)});
  }
  if (options.cluster.as_json)
    print_json(list);
  else
    table.print();
  return kOk;
}

int describe_groups(GroupDescribeOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto names = options.names;
  if (names.empty()) {
    auto const listed = find_groups(**cluster, {}, {});
    if (!listed) return report(listed.error(), options.cluster);
    for (auto const& group : *listed) names.push_back(group.name);
  }
  int exit_code = kOk;
  auto const views = view_groups(
      **cluster, names, [&](std::string const& name, ErrorCode code, std::optional<std::string_view> message) {
        print_error(fmt::format("{}: {}", name, error_text(code, message)), remedy_for(code));
        exit_code = kFailed;
      });
  if (!views) return report(views.error(), options.cluster);

  // One question to each leader for all groups together.
  std::set<TopicPartition> wanted;
  for (auto const& view : *views) {
    for (auto const& where : partitions_of(view)) wanted.insert(where);
  }
  Ends ends;
  if (!options.only_state && (!options.with_members || options.cluster.as_json)) {
    auto found = list_offsets(**cluster, {wanted.begin(), wanted.end()}, kLatestTimestamp);
    if (!found) return report(found.error(), options.cluster);
    ends = *std::move(found);
    for (auto const& [where, end] : ends) {
      if (end.error == ErrorCode::none) continue;
      print_error(fmt::format("{}-{}: {}", where.topic, where.partition, error_text(end.error)), remedy_for(end.error));
      exit_code = kFailed;
    }
  }
  auto list = Json::array();
  bool is_first = true;
  for (auto const& view : *views) {
    if (options.cluster.as_json) {
      list.add(view_json(view, ends));
      continue;
    }
    if (!is_first && !options.only_state) fmt::print("\n");
    is_first = false;
    print_view(view, ends, options);
  }
  if (options.cluster.as_json) print_json(list);
  return exit_code;
}

int delete_groups(GroupDeleteOptions const& options) {
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  Outcomes outcomes(options.cluster.as_json);
  auto const refuse = [&](std::string const& name, ErrorCode code, std::optional<std::string_view> message) {
    outcomes.failed(name, code, message);
  };
  auto const ask = [&](int32_t node, std::vector<std::string> const& names) -> Result<AgainList> {
    std::vector<Str> wanted(names.begin(), names.end());
    protocol::DeleteGroupsRequest request;
    request.groups_names = wanted;
    MR_TRY_ASSIGN(auto const reply, ((*cluster)->call_node<protocol::DeleteGroupsResponse>(node, request)));
    AgainList again;
    for (auto const& group : reply.message.results) {
      if (is_coordinator_moving(group.error_code))
        again[std::string(group.group_id)] = group.error_code;
      else if (group.error_code == ErrorCode::none)
        outcomes.done(group.group_id, "deleted");
      else
        outcomes.failed(group.group_id, group.error_code, group.error_message);
    }
    return again;
  };
  if (auto const asked = ask_coordinators(**cluster, options.names, ask, refuse); !asked)
    return report(asked.error(), options.cluster);
  return outcomes.finish();
}

int delete_group_offsets(GroupDeleteOffsetsOptions const& options) {
  using Request = protocol::OffsetDeleteRequest;
  auto cluster = Cluster::connect(options.cluster);
  if (!cluster) return report(cluster.error(), options.cluster);
  auto const partitions = parse_partitions(**cluster, options.topics);
  if (!partitions) return report(partitions.error(), options.cluster);
  std::map<std::string_view, std::vector<Request::OffsetDeleteRequestPartition>> by_topic;
  for (auto const& where : *partitions) by_topic[where.topic].push_back({.partition_index = where.partition});
  std::vector<Request::OffsetDeleteRequestTopic> topics;
  for (auto& [name, numbers] : by_topic) topics.push_back({.name = name, .partitions = numbers});

  Outcomes outcomes(options.cluster.as_json);
  auto const refuse = [&](std::string const& name, ErrorCode code, std::optional<std::string_view> message) {
    outcomes.failed(name, code, message);
  };
  auto const ask = [&](int32_t node, std::vector<std::string> const&) -> Result<AgainList> {
    Request request;
    request.group_id = options.name;
    request.topics = topics;
    MR_TRY_ASSIGN(auto const reply, ((*cluster)->call_node<protocol::OffsetDeleteResponse>(node, request)));
    auto const code = reply.message.error_code;
    if (is_coordinator_moving(code)) return AgainList{{options.name, code}};
    if (code != ErrorCode::none) outcomes.failed(options.name, code, std::nullopt);
    for (auto const& topic : reply.message.topics) {
      for (auto const& partition : topic.partitions) {
        auto const name = fmt::format("{}-{}", topic.name, partition.partition_index);
        if (partition.error_code == ErrorCode::none)
          outcomes.done(name, "deleted");
        else
          outcomes.failed(name, partition.error_code, std::nullopt);
      }
    }
    return AgainList();
  };
  if (auto const asked = ask_coordinators(**cluster, {options.name}, ask, refuse); !asked)
    return report(asked.error(), options.cluster);
  return outcomes.finish();
}

}  // namespace millrace::cli
