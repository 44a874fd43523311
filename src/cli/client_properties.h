// Kafka's client properties, as --command-config names a file of them.
#pragma once
#include "millrace/base/result.h"
#include "millrace/cli/commands.h"

namespace millrace::cli {

// `given` with what its properties file says where the command line says nothing, and the defaults below both.
// invalid: the file cannot be read, or asks for what these commands cannot do.
Result<ClusterOptions> with_client_properties(ClusterOptions given);

}  // namespace millrace::cli
