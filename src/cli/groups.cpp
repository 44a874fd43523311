#include "groups.h"

#include "millrace/protocol/api/consumer_group_describe.h"
#include "millrace/protocol/api/describe_groups.h"
#include "millrace/protocol/api/describe_share_group_offsets.h"
#include "millrace/protocol/api/list_groups.h"
#include "millrace/protocol/api/offset_fetch.h"
#include "millrace/protocol/api/share_group_describe.h"
#include "millrace/protocol/api/streams_group_describe.h"
#include "millrace/protocol/records/consumer_protocol.h"
#include "output.h"

namespace millrace::cli {
namespace {

constexpr int16_t kFirstStatesFilter = 4;
constexpr int16_t kFirstTypesFilter = 5;
constexpr int16_t kFirstOffsetsOfManyGroups = 8;
constexpr int16_t kLastOffsetsWithTopicNames = 9;
constexpr int kLoadingRetryCountMax = 50;
constexpr auto kLoadingPause = std::chrono::milliseconds(100);
constexpr std::string_view kConsumerProtocol = "consumer";

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}
bool is_wanted(std::string_view value, std::vector<std::string> const& filter) {
  return filter.empty() ||
         std::any_of(filter.begin(), filter.end(), [&](auto const& f) { return equals_ignoring_case(f, value); });
}

template <class Text>
std::optional<std::string> owned(std::optional<Text> const& text) {
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

Result<std::vector<ListedGroup>> groups_at(Cluster& cluster, int32_t node, std::vector<std::string> const& states,
                                           std::vector<std::string> const& types) {
  MR_TRY_ASSIGN(auto const version, cluster.version_at<protocol::ListGroupsRequest>(node));
  std::vector<Str> wanted_states(states.begin(), states.end());
  std::vector<Str> wanted_types(types.begin(), types.end());
  protocol::ListGroupsRequest request;
  if (version >= kFirstStatesFilter)
    request.states_filter = wanted_states;
  else if (!states.empty())
    return Error{ErrorKind::unsupported, fmt::format("broker {} is too old to tell the states of groups", node)};
  if (version >= kFirstTypesFilter) request.types_filter = wanted_types;
  for (int attempt = 0;; ++attempt) {
    MR_TRY_ASSIGN(auto const reply, (cluster.call_node<protocol::ListGroupsResponse>(node, request)));
    auto const code = reply.message.error_code;
    if (is_coordinator_moving(code) && attempt < kLoadingRetryCountMax) {
      cluster.pause(kLoadingPause);
      continue;
    }
    if (code != ErrorCode::none)
      return Error{ErrorKind::limit, fmt::format("groups of broker {}: {}", node, error_text(code))};
    std::vector<ListedGroup> groups;
    for (auto const& group : reply.message.groups) {
      auto const type = group.group_type.empty() ? std::string("classic") : lower(group.group_type);
      if (!is_wanted(type, types)) continue;
      groups.push_back(
          {std::string(group.group_id), type, std::string(group.protocol_type), std::string(group.group_state), node});
    }
    return groups;
  }
}

template <class Partitions>
std::vector<Assigned> named_assignment(Array<Partitions> const& topics) {
  std::vector<Assigned> assignment;
  for (auto const& topic : topics) {
    assignment.push_back({std::string(topic.topic_name), {topic.partitions.begin(), topic.partitions.end()}});
  }
  return assignment;
}

// What a classic consumer got; other protocols' bytes are their own business.
std::vector<Assigned> classic_assignment(ByteView bytes) {
  std::vector<Assigned> assignment;
  Reader in(bytes);
  auto version = in.i16();
  if (!in.ok() || version < 0) return assignment;
  version = std::min(version, protocol::ConsumerProtocolAssignment::kValid.max);  // later ones only add at the end
  Arena arena;
  protocol::ConsumerProtocolAssignment decoded;
  if (!protocol::decode(in, version, arena, decoded)) return assignment;
  for (auto const& topic : decoded.assigned_partitions) {
    assignment.push_back({std::string(topic.topic), {topic.partitions.begin(), topic.partitions.end()}});
  }
  return assignment;
}

// Collects what one coordinator answers about its groups.
class Describer {
 public:
  Describer(Cluster& cluster, RefuseGroup const& refuse, std::map<std::string, GroupView>& views)
      : cluster_(cluster), refuse_(refuse), views_(views) {}

  Result<AgainList> ask(int32_t node, std::vector<std::string> const& names) {
    node_ = node;
    again_.clear();
    MR_TRY_ASSIGN(auto const listed, groups_at(cluster_, node, {}, {}));
    std::map<std::string, std::vector<Str>> by_type;
    for (auto const& name : names) {
      auto const found =
          std::find_if(listed.begin(), listed.end(), [&](auto const& group) { return group.name == name; });
      if (found == listed.end()) {
        refuse_(name, ErrorCode::group_id_not_found, std::nullopt);
        continue;
      }
      views_[name] = {};
      views_[name].listed = *found;
      by_type[found->type].push_back(name);
    }
    for (auto& [type, theirs] : by_type) {
      if (type == "consumer")
        MR_TRY(describe_consumer(theirs));
      else if (type == "share")
        MR_TRY(describe_share(theirs));
      else if (type == "streams")
        MR_TRY(describe_streams(theirs));
      else
        MR_TRY(describe_classic(theirs));
      if (type == "share")
        MR_TRY(share_offsets(theirs));
      else
        MR_TRY(offsets(theirs));
    }
    for (auto const& [name, code] : again_) views_.erase(name);
    return again_;
  }

 private:
  Status offsets(std::vector<Str> const& names) {
    using Request = protocol::OffsetFetchRequest;
    MR_TRY_ASSIGN(auto const version, cluster_.version_at<Request>(node_, kLastOffsetsWithTopicNames));
    if (version < kFirstOffsetsOfManyGroups) {
      for (auto const& name : names) MR_TRY(offsets_of_one(name));
      return {};
    }
    std::vector<Request::OffsetFetchRequestGroup> groups;
    for (auto const& name : names) {
      auto& group = groups.emplace_back();
      group.group_id = name;
      group.topics = kNullArray;
    }
    Request request;
    request.groups = groups;
    MR_TRY_ASSIGN(auto const reply,
                  (cluster_.call_node<protocol::OffsetFetchResponse>(node_, request, kLastOffsetsWithTopicNames)));
    for (auto const& group : reply.message.groups) {
      auto* const view = accepted(group.group_id, group.error_code, std::nullopt);
      if (view == nullptr) continue;
      for (auto const& topic : group.topics) take_committed(*view, topic.name, topic.partitions);
    }
    return {};
  }

  // The view of a group that was answered for; null when it must be asked again or was refused.
  GroupView* accepted(std::string_view name_view, ErrorCode code, std::optional<std::string_view> message) {
    std::string const name(name_view);
    if (code == ErrorCode::none) {
      auto const view = views_.find(name);
      return view == views_.end() ? nullptr : &view->second;
    }
    if (is_coordinator_moving(code)) {
      again_[name] = code;
    } else if (views_.erase(name) > 0) {
      refuse_(name, code, message);
    }
    return nullptr;
  }

  Status describe_classic(std::vector<Str>& names) {
    protocol::DescribeGroupsRequest request;
    request.groups = names;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::DescribeGroupsResponse>(node_, request)));
    for (auto const& group : reply.message.groups) {
      auto* const view = accepted(group.group_id, group.error_code, group.error_message);
      if (view == nullptr) continue;
      view->listed.state = group.group_state;
      view->listed.protocol = group.protocol_type;
      view->assignor = group.protocol_data;
      for (auto const& member : group.members) {
        auto& out = view->members.emplace_back();
        out.id = member.member_id;
        out.instance = owned(member.group_instance_id);
        out.client_id = member.client_id;
        out.host = member.client_host;
        if (group.protocol_type == kConsumerProtocol) out.assignment = classic_assignment(member.member_assignment);
      }
    }
    return {};
  }

  Status describe_consumer(std::vector<Str>& names) {
    protocol::ConsumerGroupDescribeRequest request;
    request.group_ids = names;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::ConsumerGroupDescribeResponse>(node_, request)));
    for (auto const& group : reply.message.groups) {
      auto* const view = take_epochs(group);
      if (view == nullptr) continue;
      view->assignor = group.assignor_name;
      for (auto const& member : group.members) {
        auto& out = add_member(*view, member);
        out.instance = owned(member.instance_id);
        out.assignment = named_assignment(member.assignment.topic_partitions);
      }
    }
    return {};
  }

  Status describe_share(std::vector<Str>& names) {
    protocol::ShareGroupDescribeRequest request;
    request.group_ids = names;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::ShareGroupDescribeResponse>(node_, request)));
    for (auto const& group : reply.message.groups) {
      auto* const view = take_epochs(group);
      if (view == nullptr) continue;
      view->assignor = group.assignor_name;
      for (auto const& member : group.members) {
        add_member(*view, member).assignment = named_assignment(member.assignment.topic_partitions);
      }
    }
    return {};
  }

  Status describe_streams(std::vector<Str>& names) {
    protocol::StreamsGroupDescribeRequest request;
    request.group_ids = names;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::StreamsGroupDescribeResponse>(node_, request)));
    for (auto const& group : reply.message.groups) {
      auto* const view = take_epochs(group);
      if (view == nullptr) continue;
      view->assignor = group.assignor_name.value_or("");
      for (auto const& member : group.members) {
        auto& out = add_member(*view, member);
        out.instance = owned(member.instance_id);
        for (auto const& task : member.assignment.active_tasks) {
          out.assignment.push_back(
              {std::string(task.subtopology_id), {task.partitions.begin(), task.partitions.end()}});
        }
      }
    }
    return {};
  }

  template <class Group>
  GroupView* take_epochs(Group const& group) {
    auto* const view = accepted(group.group_id, group.error_code, group.error_message);
    if (view == nullptr) return nullptr;
    view->listed.state = group.group_state;
    view->epoch = group.group_epoch;
    return view;
  }
  template <class Member>
  GroupMember& add_member(GroupView& view, Member const& member) {
    auto& out = view.members.emplace_back();
    out.id = member.member_id;
    out.client_id = member.client_id;
    out.host = member.client_host;
    out.epoch = member.member_epoch;
    return out;
  }

  Status offsets_of_one(Str name) {
    protocol::OffsetFetchRequest request;
    request.group_id = name;
    request.topics = kNullArray;
    MR_TRY_ASSIGN(auto const reply,
                  (cluster_.call_node<protocol::OffsetFetchResponse>(node_, request, kFirstOffsetsOfManyGroups - 1)));
    auto* const view = accepted(name, reply.message.error_code, std::nullopt);
    if (view == nullptr) return {};
    for (auto const& topic : reply.message.topics) take_committed(*view, topic.name, topic.partitions);
    return {};
  }

  template <class Partition>
  void take_committed(GroupView& view, Str topic, Array<Partition> const& partitions) {
    for (auto const& partition : partitions) {
      if (partition.error_code != ErrorCode::none || partition.committed_offset < 0) continue;
      view.committed[{std::string(topic), partition.partition_index}] = {
          partition.committed_offset, partition.committed_leader_epoch, std::string(partition.metadata.value_or(""))};
    }
  }

  Status share_offsets(std::vector<Str>& names) {
    using Request = protocol::DescribeShareGroupOffsetsRequest;
    std::vector<Request::DescribeShareGroupOffsetsRequestGroup> groups;
    for (auto const& name : names) groups.push_back({.group_id = name, .topics = kNullArray});
    Request request;
    request.groups = groups;
    MR_TRY_ASSIGN(auto const reply, (cluster_.call_node<protocol::DescribeShareGroupOffsetsResponse>(node_, request)));
    for (auto const& group : reply.message.groups) {
      auto* const view = accepted(group.group_id, group.error_code, group.error_message);
      if (view == nullptr) continue;
      for (auto const& topic : group.topics) {
        for (auto const& partition : topic.partitions) {
          if (partition.error_code != ErrorCode::none) continue;
          TopicPartition const where{std::string(topic.topic_name), partition.partition_index};
          if (partition.start_offset >= 0)
            view->committed[where] = {partition.start_offset, partition.leader_epoch, ""};
          if (partition.lag >= 0) view->lag[where] = partition.lag;
        }
      }
    }
    return {};
  }

  Cluster& cluster_;
  RefuseGroup const& refuse_;
  std::map<std::string, GroupView>& views_;
  int32_t node_ = -1;
  AgainList again_;
};

}  // namespace

Result<std::vector<ListedGroup>> find_groups(Cluster& cluster, std::vector<std::string> const& states,
                                             std::vector<std::string> const& types) {
  MR_TRY_ASSIGN(auto const nodes, cluster.nodes());
  std::map<std::string, ListedGroup> sorted;
  for (auto const node : nodes) {
    MR_TRY_ASSIGN(auto groups, groups_at(cluster, node, states, types));
    for (auto& group : groups) sorted[group.name] = std::move(group);
  }
  std::vector<ListedGroup> list;
  for (auto& [name, group] : sorted) list.push_back(std::move(group));
  return list;
}

Result<std::vector<GroupView>> view_groups(Cluster& cluster, std::vector<std::string> const& names,
                                           RefuseGroup const& refuse) {
  std::map<std::string, GroupView> views;
  Describer describer(cluster, refuse, views);
  MR_TRY(ask_coordinators(
      cluster, names, [&](int32_t node, std::vector<std::string> const& theirs) { return describer.ask(node, theirs); },
      refuse));
  std::vector<GroupView> list;
  for (auto& [name, view] : views) list.push_back(std::move(view));
  return list;
}

}  // namespace millrace::cli
