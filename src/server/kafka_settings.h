#pragma once
#include <span>

#include "millrace/server/settings.h"

namespace millrace::server {

std::span<KnownSetting const> kafka_settings();     // sorted by name
std::span<KnownSetting const> millrace_settings();  // sorted by name

}  // namespace millrace::server
