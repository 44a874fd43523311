// Turns the history files of one run into what the checker reads.
#pragma once
#include <string>
#include <vector>

#include "chaos/history_file.h"
#include "checker/history.h"

namespace millrace::chaos {

struct Run {
  checker::History history;
  std::vector<FaultRow> faults;
};

// Ends the program where a file is none.
Run read_run(std::vector<std::string> const& paths);

}  // namespace millrace::chaos
