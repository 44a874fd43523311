// What the checker asks of groups: C9, C10, G3. checker.h says what each means.
#pragma once
#include <vector>

#include "checker/checker.h"

namespace millrace::checker {

// Adds the first violation of each kind.
void check_groups(History const& history, std::vector<Violation>& out);

}  // namespace millrace::checker
