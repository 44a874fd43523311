// What the checker asks of groups: C9, a group's offset is the one that was committed last, also after its coordinator has
// moved; C10, no partition has two owners in one group at a time.
#pragma once
#include <functional>
#include <string>

#include "checker/history.h"

namespace millrace::checker {

using Report = std::function<void(char const* check, PartitionIndex partition, std::string const& text)>;
void check_groups(History const& history, Report const& report);

}  // namespace millrace::checker
