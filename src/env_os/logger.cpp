#include "logger.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace millrace::env_os {

namespace {

constexpr size_t kMessageBytesMax = 4096;

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string_view level_name(LogLevel level) {
  constexpr std::string_view kNames[] = {"TRACE", "DEBUG", "INFO", "WARN", "ERROR"};
  return kNames[static_cast<size_t>(level)];
}

class SpdLogger final : public Logger {
 public:
  SpdLogger(LogLevel level, spdlog::sink_ptr sink) : level_(level), logger_("millrace", std::move(sink)) {
    logger_.set_level(to_spdlog(level));
    logger_.set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
    logger_.flush_on(spdlog::level::info);
  }
  bool is_enabled(LogLevel level) const override { return level >= level_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) override {
    level_.store(level, std::memory_order_relaxed);
    logger_.set_level(to_spdlog(level));
  }
  void write(LogLevel level, std::string_view area, std::string_view message) override {
    if (is_enabled(level)) logger_.log(to_spdlog(level), "{:<5} [{}] {}", level_name(level), area, safe_text(message, kMessageBytesMax));
  }

 private:
  std::atomic<LogLevel> level_;
  spdlog::logger logger_;
};

// Length of the well-formed UTF-8 character that `text` begins with, 0 when there is none.
size_t character_bytes(std::string_view text) {
  auto const byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  auto const lead = byte(0);
  if (lead < 0x80) return 1;
  size_t const count = lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xc2 && lead < 0xe0 ? 2 : 0;
  if (count == 0 || count > text.size()) return 0;
  for (size_t i = 1; i < count; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return count;
}

}  // namespace

std::string safe_text(std::string_view message, size_t bytes_max) {
  std::string out;
  out.reserve(std::min(message.size(), bytes_max) + 8);
  while (!message.empty()) {
    if (out.size() >= bytes_max) {
      out += fmt::format("... ({} more bytes)", message.size());
      break;
    }
    auto const count = character_bytes(message);
    auto const first = static_cast<unsigned char>(message[0]);
    bool const is_control = count == 1 && (first < 0x20 || first == 0x7f);
    bool const is_c1_control = count == 2 && first == 0xc2 && static_cast<unsigned char>(message[1]) < 0xa0;
    if (count == 0 || is_control || is_c1_control) {
      for (size_t i = 0; i < std::max<size_t>(count, 1); ++i) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(message[i]));
      }
      message.remove_prefix(std::max<size_t>(count, 1));
    } else {
      out.append(message.substr(0, count));
      message.remove_prefix(count);
    }
  }
  return out;
}

Result<std::unique_ptr<Logger>> make_logger(LogLevel level, std::string const& file) {
  spdlog::sink_ptr sink;
  if (file.empty()) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file);
    } catch (spdlog::spdlog_ex const& error) {
      return Error{ErrorKind::io, fmt::format("log file {}: {}", file, error.what())};
    }
  }
  return std::unique_ptr<Logger>(std::make_unique<SpdLogger>(level, std::move(sink)));
}

}  // namespace millrace::env_os
