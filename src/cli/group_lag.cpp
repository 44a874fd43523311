// `millrace group lag`: what the nodes themselves know of how far groups are behind, in records and in seconds.
#include <nlohmann/json.hpp>

#include "admin_http.h"
#include "output.h"

namespace millrace::cli {
namespace {

using Document = nlohmann::ordered_json;

std::string number(Document const& value) { return value.is_null() ? std::string(kNothing) : value.dump(); }
std::string seconds(Document const& value) {
  return value.is_number() ? fmt::format("{:.1f}", value.get<double>()) : std::string(kNothing);
}

}  // namespace

int show_group_lag(GroupLagOptions const& options) {
  auto nodes = options.admin;
  if (nodes.empty()) nodes.emplace_back(kAdminDefault);
  auto groups = Document::array();
  int64_t left_out = 0;
  for (auto const& node : nodes) {
    auto const target = options.name.empty() ? std::string("/lag") : "/lag?group=" + percent_encoded(options.name);
    auto const answer = get_from_admin(node, target, options.timeout_ms);
    if (!answer) return report_admin(answer.error(), node);
    auto const document = Document::parse(*answer, nullptr, false);
    if (!document.is_object() || !document.contains("groups")) {
      print_error(fmt::format("{} answers something else", node));
      return kFailed;
    }
    for (auto const& group : document["groups"]) groups.push_back(group);
    left_out += document.value("left_out", int64_t{0});
  }
  if (options.only_stuck) {
    auto stuck = Document::array();
    for (auto const& group : groups) {
      if (group.value("stuck", false)) stuck.push_back(group);
    }
    groups = std::move(stuck);
  }
  if (!options.name.empty() && groups.empty() && !options.only_stuck) {
    print_error(fmt::format("no group {} here", options.name),
                "See `millrace group list`; in a cluster its coordinator must be among the nodes, --admin may be repeated.");
    return kFailed;
  }
  if (options.as_json) {
    fmt::print("{}\n", groups.dump(2));
  } else {
    Table table({"GROUP", "STATE", "TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "SECONDS", "STUCK"});
    for (auto const& group : groups) {
      for (auto const& one : group["partitions"]) {
        bool const is_stuck = one.value("stuck", false);
        if (options.only_stuck && !is_stuck) continue;
        table.add({group["group"].get<std::string>(), group["state"].get<std::string>(), one["topic"].get<std::string>(),
                   number(one["partition"]), number(one["committed"]), number(one["end"]), number(one["lag_records"]),
                   seconds(one["lag_seconds"]), is_stuck ? "yes" : "no"});
      }
    }
    table.print();
  }
  if (left_out > 0) {
    print_note(fmt::format("{} partitions are not shown; millrace.metrics.group.partitions.max sets how many are, and naming a group shows all of its own",
                           left_out));
  }
  return kOk;
}

}  // namespace millrace::cli
