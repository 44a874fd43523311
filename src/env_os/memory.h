// How much memory this process may use.
#pragma once
#include <cstdint>
#include <string>

namespace millrace::env_os {

// The smallest of the machine's memory, the limits of this process's control groups (both hierarchies, each group and
// those above it) and RLIMIT_AS. `root` is where /proc and /sys are: a test gives a directory of its own.
int64_t memory_bytes_max(std::string const& root);

}  // namespace millrace::env_os
