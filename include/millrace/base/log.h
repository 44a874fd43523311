// The log interface. The sink (spdlog in production, memory in tests) escapes control bytes and cuts long fields.
#pragma once
#include <string_view>

#include <fmt/core.h>

namespace millrace {

enum class LogLevel { trace, debug, info, warn, error };

class Logger {
 public:
  virtual ~Logger() = default;
  virtual bool is_enabled(LogLevel level) const = 0;
  virtual void set_level(LogLevel) {}  // from now on, any thread; a sink of tests may take everything
  virtual void write(LogLevel level, std::string_view area, std::string_view message) = 0;  // any thread
  static Logger& none();                                                                    // drops everything

  template <class... Args>
  void info(std::string_view area, fmt::format_string<Args...> text, Args&&... args) {
    log(LogLevel::info, area, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warn(std::string_view area, fmt::format_string<Args...> text, Args&&... args) {
    log(LogLevel::warn, area, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(std::string_view area, fmt::format_string<Args...> text, Args&&... args) {
    log(LogLevel::error, area, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void debug(std::string_view area, fmt::format_string<Args...> text, Args&&... args) {
    log(LogLevel::debug, area, text, std::forward<Args>(args)...);
  }

 private:
  template <class... Args>
  void log(LogLevel level, std::string_view area, fmt::format_string<Args...> text, Args&&... args) {
    if (is_enabled(level)) write(level, area, fmt::format(text, std::forward<Args>(args)...));
  }
};

}  // namespace millrace
