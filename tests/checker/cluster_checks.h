// The checks of groups, and of what nodes tell of themselves. checker.h says what each means.
#pragma once
#include <vector>

#include "checker/checker.h"

namespace millrace::checker {

// C9, C10, G3. Each adds the first violation of its kind.
void check_groups(History const& history, std::vector<Violation>& out);
// R3, M1, M4, M3, C14.
void check_nodes(History const& history, std::vector<Violation>& out);

}  // namespace millrace::checker
