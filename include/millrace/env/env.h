// Everything outside a node, injected: one Env per node. Owned by server (real) or by the simulator; outlives all
// that uses it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/base/hooks.h"
#include "millrace/base/ids.h"
#include "millrace/base/log.h"
#include "millrace/base/random.h"
#include "millrace/base/time.h"
#include "millrace/env/disk.h"
#include "millrace/env/network.h"
#include "millrace/env/reactor.h"

namespace millrace::env {

struct Limits {
  size_t descriptors_max{};  // soft RLIMIT_NOFILE
  int64_t memory_bytes{};    // what the process may use of the machine, its control groups respected; 0: unknown
};

class Env {
 public:
  virtual ~Env() = default;

  virtual size_t reactor_count() const = 0;        // at least 2 per simulated node
  virtual Reactor& reactor(size_t index) = 0;
  virtual Reactor& control_reactor() = 0;          // raft, heartbeats, controller: writes no partition data
  virtual Pool& pool(std::string_view directory) = 0;  // of a log directory; "" is the node's own
  virtual Disk& disk() = 0;
  virtual Network& network() = 0;

  virtual Wall wall_now() const = 0;               // any thread
  virtual Random random(std::string_view purpose) = 0;  // one stream per node and purpose
  virtual Uuid random_uuid() = 0;                  // any thread
  virtual std::string boot_id() = 0;               // changes when the machine, not the process, was lost
  virtual Limits limits() const = 0;
  virtual Logger& log() = 0;
  virtual Hooks& hooks() = 0;
};

}  // namespace millrace::env
