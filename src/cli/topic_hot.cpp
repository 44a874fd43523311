// `millrace topic hot`: where the load is, from the nodes themselves.
#include <nlohmann/json.hpp>

#include "admin_http.h"
#include "output.h"

namespace millrace::cli {
namespace {

using Document = nlohmann::ordered_json;

std::string rate(double value) {
  constexpr std::array<std::string_view, 4> kUnits{"", "k", "M", "G"};
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, unit == 0 && value >= 100 ? 0 : 1, kUnits[unit]);
}

std::string keys_text(Document const& partition) {
  constexpr size_t kShownMax = 3;
  constexpr size_t kKeyBytesShown = 40;
  if (!partition.contains("keys")) return std::string(kNothing);
  std::string out;
  size_t count = 0;
  for (auto const& key : partition["keys"]) {
    if (count++ == kShownMax) break;
    out += fmt::format("{}{} {:.0f}%", out.empty() ? "" : ", ", key["key"].get<std::string>().substr(0, kKeyBytesShown),
                       100 * key["share"].get<double>());
  }
  return out.empty() ? std::string(kNothing) : out;
}

}  // namespace

int show_hot_topics(TopicHotOptions const& options) {
  auto nodes = options.admin;
  if (nodes.empty()) nodes.emplace_back(kAdminDefault);
  std::string target = "/hot";
  if (!options.name.empty()) target += "?topic=" + percent_encoded(options.name);
  auto all = Document::array();
  for (auto const& node : nodes) {
    auto const answer = get_from_admin(node, target, options.timeout_ms);
    if (!answer) return report_admin(answer.error(), node);
    auto document = Document::parse(*answer, nullptr, false);
    if (!document.is_object() || !document.contains("topics")) {
      print_error(fmt::format("{} answers something else", node));
      return kFailed;
    }
    all.push_back(std::move(document));
  }
  bool const is_anywhere = std::ranges::any_of(all, [](Document const& node) { return !node["topics"].empty(); });
  if (!options.name.empty() && !is_anywhere) {
    print_error(fmt::format("no topic {} here", options.name),
                "See `millrace topic list`; a node tells of the partitions that it has, --admin may be repeated.");
    return kFailed;
  }
  if (options.as_json) {
    fmt::print("{}\n", all.dump(2, ' ', false, Document::error_handler_t::replace));
    return kOk;
  }
  Table table({"NODE", "TOPIC", "SKEW-IN", "PARTITION", "BYTES-IN/S", "RECORDS-IN/S", "BYTES-OUT/S", "HEAVIEST KEYS"});
  for (auto const& node : all) {
    for (auto const& topic : node["topics"]) {
      size_t count = 0;
      for (auto const& partition : topic["partitions"]) {
        if (count++ == options.partition_count_max) break;
        table.add({node["node"].dump(), topic["topic"].get<std::string>(), fmt::format("{:.2f}", topic["skew_in"].get<double>()),
                   partition["partition"].dump(), rate(partition["bytes_in_per_second"].get<double>()),
                   rate(partition["records_in_per_second"].get<double>()), rate(partition["bytes_out_per_second"].get<double>()),
                   keys_text(partition)});
      }
    }
  }
  table.print();
  return kOk;
}

}  // namespace millrace::cli
