// Kafka's rules between settings, and those on single values that are no plain range.
#pragma once
#include <string>
#include <vector>

#include "millrace/server/configuration.h"

namespace millrace::server {

// What is wrong, one sentence each that names the keys, their values and what to do; each value for itself is good.
std::vector<std::string> broken_rules(Configuration const& configuration);
// What Kafka takes, though hardly as it was meant: for warnings.
std::vector<std::string> odd_values(Configuration const& configuration);

}  // namespace millrace::server
