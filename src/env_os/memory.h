// How much memory this process may use, and when it keeps too much of it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace::env_os {

// The smallest of the machine's memory, the limits of this process's control groups (both hierarchies, each group and
// those above it) and RLIMIT_AS. `root` is where /proc and /sys are: a test gives a directory of its own.
int64_t memory_bytes_max(std::string const& root);

// What the allocator keeps though nobody uses it. Only what was free at each of the last looks is worth giving back: what
// comes and goes would have to be taken from the system again.
class FreeMemoryWatch {
 public:
  static constexpr int64_t kKeptBytes = int64_t{64} << 20;
  static constexpr size_t kLooks = 3;

  // Told what is free now; true: it should be given back.
  bool look(int64_t free_bytes);

 private:
  std::array<int64_t, kLooks> last_{};
  size_t next_ = 0;
};

}  // namespace millrace::env_os
