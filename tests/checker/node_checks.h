// What the checker asks of that which nodes tell of themselves: R3, M1, M4, M3, C14. checker.h says what each means.
#pragma once
#include <vector>

#include "checker/checker.h"

namespace millrace::checker {

// Adds the first violation of each kind.
void check_nodes(History const& history, std::vector<Violation>& out);

}  // namespace millrace::checker
