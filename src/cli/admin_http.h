// One GET from a node's admin listener (millrace.admin.listener). Blocks.
#pragma once
#include <string>

#include "millrace/base/result.h"

namespace millrace::cli {

inline constexpr std::string_view kAdminDefault = "127.0.0.1:9644";

// invalid: `address` is not HOST:PORT; io: nobody answers; not_found: the node has no such page; limit: too long.
Result<std::string> get_from_admin(std::string const& address, std::string const& target, int64_t timeout_ms);
// For a value in a target: "a b" becomes "a%20b".
std::string percent_encoded(std::string_view text);
// Prints what went wrong; returns the exit code.
int report_admin(Error const& error, std::string const& address);

}  // namespace millrace::cli
