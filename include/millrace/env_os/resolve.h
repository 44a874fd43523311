// Names to addresses, by the system's resolver.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/env/network.h"

namespace millrace::env_os {

// Blocks, perhaps for seconds. Addresses in the order in which the system prefers them, without duplicates.
Result<std::vector<env::SocketAddress>> resolve(std::string const& host, uint16_t port);

// IPv4 or IPv6, without brackets.
bool is_numeric_address(std::string const& text);

}  // namespace millrace::env_os
