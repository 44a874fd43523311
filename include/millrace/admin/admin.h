// The node's own HTTP listener, for operators and their tools: /live, /ready, /metrics, /lag and /hot. It has threads of
// its own, so that a slow scrape holds up no request, nor a question whether the node lives.
#pragma once
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/broker/local_node.h"
#include "millrace/env/env.h"

namespace millrace::admin {

struct AdminOptions {
  std::string listener;                  // HOST:PORT with a numeric host; port 0 takes a free one
  Duration stuck_after = 300s;           // millrace.group.stuck.ms
  size_t group_partitions_max = 10'000;  // millrace.metrics.group.partitions.max
  size_t topics_max = 500;               // millrace.metrics.topics.max
};

class Admin {
 public:
  // `env` and `node` outlive the admin listener, and the environment must still run when it goes.
  static Result<std::unique_ptr<Admin>> start(AdminOptions const& options, env::Env& env, broker::LocalNode& node);
  virtual ~Admin() = default;  // stops serving
  virtual std::string const& address() const = 0;
};

std::string metrics_markdown();  // docs/metrics.md

}  // namespace millrace::admin
