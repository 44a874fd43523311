// The node's own HTTP listener, for operators and their tools: /live, /ready and /metrics. It has a thread of its own,
// so that a slow scrape holds up no request.
#pragma once
#include <memory>
#include <string>

#include "millrace/base/result.h"
#include "millrace/broker/local_node.h"
#include "millrace/env/env.h"

namespace millrace::admin {

class Admin {
 public:
  // `listener` is HOST:PORT with a numeric host; port 0 takes a free one. `env` and `node` outlive the admin listener,
  // and the environment must still run when it goes.
  static Result<std::unique_ptr<Admin>> start(std::string const& listener, env::Env& env, broker::LocalNode& node);
  virtual ~Admin() = default;  // stops serving
  virtual std::string const& address() const = 0;
};

}  // namespace millrace::admin
