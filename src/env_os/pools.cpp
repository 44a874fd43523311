#include "pools.h"

namespace millrace::env_os {

OsPools::OsPools(size_t threads_per_pool, std::chrono::steady_clock::time_point epoch)
    : threads_per_pool_(threads_per_pool), epoch_(epoch) {}

OsPool& OsPools::of_directory(std::string_view directory) {
  std::lock_guard const lock(mutex_);
  auto found = pools_.find(directory);
  if (found == pools_.end()) {
    auto name = fmt::format("mr-disk-{}", pools_.size());
    auto pool = std::make_unique<OsPool>(std::move(name), threads_per_pool_, epoch_);
    found = pools_.emplace(std::string(directory), std::move(pool)).first;
  }
  return *found->second;
}

OsPool& OsPools::of_path(std::string_view path) {
  {
    std::lock_guard const lock(mutex_);
    for (auto const& [directory, pool] : pools_) {
      if (!directory.empty() && path.size() > directory.size() && path.starts_with(directory) &&
          path[directory.size()] == '/') {
        return *pool;
      }
    }
  }
  return of_directory("");
}

void OsPools::stop() {
  std::lock_guard const lock(mutex_);
  for (auto& [directory, pool] : pools_) pool->stop();
}

bool OsPools::drop_queued() {
  std::vector<OsPool*> all;
  {
    std::lock_guard const lock(mutex_);
    for (auto& [directory, pool] : pools_) all.push_back(pool.get());
  }
  bool had_some = false;
  for (auto* const pool : all) had_some |= pool->drop_queued();
  return had_some;
}

}  // namespace millrace::env_os
