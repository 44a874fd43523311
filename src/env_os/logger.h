// spdlog behind the log interface.
#pragma once
#include <memory>
#include <string>

#include "millrace/base/log.h"
#include "millrace/base/result.h"

namespace millrace::env_os {

// Lines `time LEVEL [area] message`; to standard error when `file` is empty.
Result<std::unique_ptr<Logger>> make_logger(LogLevel level, std::string const& file);

// `message` with control bytes and bytes of broken UTF-8 as \xNN, and cut after `bytes_max`: what peers send may not
// forge lines or move the terminal.
std::string safe_text(std::string_view message, size_t bytes_max);

}  // namespace millrace::env_os
