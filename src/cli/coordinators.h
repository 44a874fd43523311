// Asking the coordinators of groups.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cluster.h"
#include "millrace/protocol/errors.h"

namespace millrace::cli {

// The group's coordinator is moving, loading or not there yet: find it and ask again.
bool is_coordinator_moving(ErrorCode code);

// Calls `ask` for each coordinator with the groups that it coordinates. `ask` returns those of them that it must be
// asked for once more, with the reason; they are asked for again until the request timeout is over. What then is left,
// and groups for which no coordinator can be found, go to `refuse`.
using AgainList = std::map<std::string, ErrorCode>;
using AskGroups = std::function<Result<AgainList>(int32_t node, std::vector<std::string> const& groups)>;
using RefuseGroup =
    std::function<void(std::string const& group, ErrorCode code, std::optional<std::string_view> message)>;
Status ask_coordinators(Cluster& cluster, std::vector<std::string> const& groups, AskGroups const& ask,
                        RefuseGroup const& refuse);

}  // namespace millrace::cli
