#include "coordinators.h"

#include "millrace/protocol/api/find_coordinator.h"

namespace millrace::cli {
namespace {

constexpr int64_t kRetryPauseMs = 100;
constexpr int16_t kFirstVersionOfBatches = 4;

// Adds the coordinators found to `by_node`, and what must be tried again to `again`.
Status find_coordinators(Cluster& cluster, std::vector<std::string> const& groups,
                         std::map<int32_t, std::vector<std::string>>& by_node, AgainList& again,
                         RefuseGroup const& refuse) {
  auto const take = [&](std::string_view group, ErrorCode code, std::optional<std::string_view> message, int32_t node,
                        std::string_view host, int32_t port) {
    if (code == ErrorCode::none) {
      cluster.remember(node, host, port);
      by_node[node].emplace_back(group);
    } else if (is_coordinator_moving(code)) {
      again[std::string(group)] = code;
    } else {
      refuse(std::string(group), code, message);
    }
  };
  MR_TRY_ASSIGN(auto const version, cluster.version_at<protocol::FindCoordinatorRequest>(Cluster::kAnyNode));
  protocol::FindCoordinatorRequest request;
  if (version >= kFirstVersionOfBatches) {
    std::vector<Str> keys(groups.begin(), groups.end());
    request.coordinator_keys = keys;
    MR_TRY_ASSIGN(auto const reply, cluster.call<protocol::FindCoordinatorResponse>(request));
    for (auto const& found : reply.message.coordinators) {
      take(found.key, found.error_code, found.error_message, found.node_id, found.host, found.port);
    }
    return {};
  }
  for (auto const& group : groups) {
    request.key = group;
    MR_TRY_ASSIGN(auto const reply, cluster.call<protocol::FindCoordinatorResponse>(request));
    auto const& found = reply.message;
    take(group, found.error_code, found.error_message, found.node_id, found.host, found.port);
  }
  return {};
}

}  // namespace

bool is_coordinator_moving(ErrorCode code) {
  return code == ErrorCode::coordinator_load_in_progress || code == ErrorCode::coordinator_not_available ||
         code == ErrorCode::not_coordinator;
}

Status ask_coordinators(Cluster& cluster, std::vector<std::string> const& groups, AskGroups const& ask,
                        RefuseGroup const& refuse) {
  auto pending = groups;
  AgainList again;
  for (int64_t waited_ms = 0; !pending.empty(); waited_ms += kRetryPauseMs) {
    if (waited_ms > cluster.options().timeout_ms) {
      for (auto const& [group, code] : again) refuse(group, code, std::nullopt);
      return {};
    }
    if (waited_ms > 0) cluster.pause(from_ms(kRetryPauseMs));
    again.clear();
    std::map<int32_t, std::vector<std::string>> by_node;
    MR_TRY(find_coordinators(cluster, pending, by_node, again, refuse));
    for (auto const& [node, theirs] : by_node) {
      MR_TRY_ASSIGN(auto const repeated, ask(node, theirs));
      again.insert(repeated.begin(), repeated.end());
    }
    pending.clear();
    for (auto const& [group, code] : again) pending.push_back(group);
  }
  return {};
}

}  // namespace millrace::cli
