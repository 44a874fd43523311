// `millrace serve`: configuration, the real environment, the node and its admin listener, from start to a clean stop.
#pragma once
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/broker/local_node.h"
#include "millrace/server/configuration.h"
#include "millrace/server/node_options.h"

namespace millrace::server {

struct ServeOptions {
  std::string config_file;             // empty: none
  std::vector<std::string> overrides;  // key=value
  bool only_check = false;             // read and check the configuration, then return
};

// Runs until a stop signal. Returns the process's exit code: 0 after a clean stop, 1 when the node could not start or
// failed, 2 when the configuration is wrong. Called by main before any thread exists.
int serve(ServeOptions const& options);

// The file, this process's environment and the overrides.
Result<Configuration> load_configuration(std::string const& file, std::vector<std::string> const& overrides);

// What the configuration means for the node, with the hosts of listeners resolved (blocks).
Result<broker::LocalNodeOptions> compose_node(Configuration const& configuration, NodeOptions const& plan);

}  // namespace millrace::server
