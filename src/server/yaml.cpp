#include <yaml-cpp/yaml.h>

#include "millrace/server/configuration.h"

namespace millrace::server {

namespace {

constexpr int kDepthMax = 16;

Status flatten(YAML::Node const& node, std::string const& prefix, int depth, std::vector<FileEntry>& out) {
  auto const line = static_cast<size_t>(node.Mark().line + 1);
  auto const complain = [&](std::string_view what) {
    return Error{ErrorKind::invalid, fmt::format("line {}: {} {}", line, prefix, what)};
  };
  if (depth > kDepthMax) return complain("is nested too deeply");
  if (node.IsMap()) {
    for (auto const& item : node) {
      if (!item.first.IsScalar()) return complain("has a key that is not a word");
      auto const key = prefix.empty() ? item.first.Scalar() : prefix + "." + item.first.Scalar();
      MR_TRY(flatten(item.second, key, depth + 1, out));
    }
    return {};
  }
  if (prefix.empty()) return complain("the file is not a map of keys");
  if (node.IsNull()) {
    out.push_back({prefix, "", line});
    return {};
  }
  if (node.IsScalar()) {
    out.push_back({prefix, node.Scalar(), line});
    return {};
  }
  std::string list;
  for (auto const& item : node) {
    if (!item.IsScalar()) return complain("is a list of more than plain values");
    list += (list.empty() ? "" : ",") + item.Scalar();
  }
  out.push_back({prefix, std::move(list), line});
  return {};
}

}  // namespace

Result<std::vector<FileEntry>> parse_yaml(std::string const& content) {
  std::vector<FileEntry> entries;
  try {
    auto const root = YAML::Load(content);
    if (root.IsNull()) return entries;
    MR_TRY(flatten(root, "", 0, entries));
  } catch (YAML::Exception const& error) {
    return Error{ErrorKind::invalid, fmt::format("line {}: {}", error.mark.line + 1, error.msg)};
  }
  return entries;
}

}  // namespace millrace::server
