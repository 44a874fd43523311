#include "memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

namespace millrace::env_os {

namespace {

// None for a file that is not there and for "max".
std::optional<int64_t> number_in(std::string const& file) {
  std::ifstream in(file);
  std::string text;
  if (!(in >> text)) return std::nullopt;
  int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

// In a container the path may be the host's, of which only an end, or nothing, is to be seen here: every directory from
// there up to the hierarchy's root is looked at, and what is missing says nothing.
int64_t smallest_on_the_way_up(std::string const& hierarchy, std::string path, std::string_view file, int64_t smallest) {
  while (true) {
    if (path == "/") path.clear();
    if (auto const limit = number_in(hierarchy + path + "/" + std::string(file))) smallest = std::min(smallest, *limit);
    if (path.empty()) return smallest;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

bool names(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    auto const comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

int64_t memory_bytes_max(std::string const& root) {
  auto smallest = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY) {
    smallest = std::min(smallest, static_cast<int64_t>(space.rlim_cur));
  }
  std::ifstream groups(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {  // "0::/path", or "4:memory:/path" of the older kind
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    auto const controllers = std::string_view(line).substr(first + 1, second - first - 1);
    auto const path = line.substr(second + 1);
    if (controllers.empty()) {
      smallest = smallest_on_the_way_up(root + "/sys/fs/cgroup", path, "memory.max", smallest);
    } else if (names(controllers, "memory")) {
      smallest = smallest_on_the_way_up(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", smallest);
    }
  }
  return smallest;
}

bool FreeMemoryWatch::look(int64_t free_bytes) {
  last_[next_++ % kLooks] = free_bytes;
  if (*std::ranges::min_element(last_) <= kKeptBytes) return false;
  last_.fill(0);
  return true;
}

}  // namespace millrace::env_os
