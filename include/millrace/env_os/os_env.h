// The real environment of a node: threads with event loops, blocking pools, disk, network, clock, log.
#pragma once
#include <memory>
#include <string>

#include "millrace/env/env.h"

namespace millrace::env_os {

struct OsEnvOptions {
  size_t reactor_count = 0;              // 0: one for two cores, at most 64
  size_t pool_threads_per_directory = 4;
  LogLevel log_level = LogLevel::info;
  std::string log_file;                  // empty: standard error
};

// The threads run from construction to stop(); SIGPIPE is ignored by the process from then on. Destroy what uses the environment between stop() and destruction.
class OsEnv : public env::Env {
 public:
  // Ends the pools, then the event loops, joins their threads and destroys what is queued without running it. From a
  // thread that is none of them; it counts as every loop's thread from then on.
  virtual void stop() = 0;
};

// Fails when the log file cannot be opened or the machine gives no random numbers.
Result<std::unique_ptr<OsEnv>> make_os_env(OsEnvOptions const& options);

}  // namespace millrace::env_os
