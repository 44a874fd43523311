// The blocking pools of a node: one a log directory, made on first use, and one for everything else.
#pragma once
#include <map>
#include <mutex>

#include "pool.h"

namespace millrace::env_os {

class OsPools {
 public:
  OsPools(size_t threads_per_pool, std::chrono::steady_clock::time_point epoch);
  OsPool& of_directory(std::string_view directory);
  // The pool of the directory that holds `path`, else the node's.
  OsPool& of_path(std::string_view path);
  void stop();
  bool drop_queued();  // of all, as OsPool

 private:
  size_t const threads_per_pool_;
  std::chrono::steady_clock::time_point const epoch_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<OsPool>, std::less<>> pools_;  // guarded by mutex_; never removed
};

}  // namespace millrace::env_os
