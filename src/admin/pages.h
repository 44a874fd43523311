// What the admin listener answers besides metrics, and how it reads what it is asked.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "figures.h"

namespace millrace::admin {

// "/lag?group=a%20b"
struct Target {
  explicit Target(std::string_view text);
  std::optional<std::string> value(std::string_view name) const;

  std::string path;
  std::vector<std::pair<std::string, std::string>> values;
};

bool is_page(std::string_view path);  // one that must be collected
std::string json_text(std::string_view text);  // quoted
std::string ready_text(Figures const& figures);
// `group`: nothing else is shown; the group may be missing.
std::string lag_json(Figures const& figures, std::optional<std::string> const& group);

}  // namespace millrace::admin
