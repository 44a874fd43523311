#include "millrace/base/hooks.h"

#include "millrace/base/log.h"

namespace millrace {

Hooks& Hooks::none() {
  static Hooks hooks;  // stateless: every answer is constant
  return hooks;
}

Logger& Logger::none() {
  struct Silent final : Logger {
    bool is_enabled(LogLevel) const override { return false; }
    void write(LogLevel, std::string_view, std::string_view) override {}
  };
  static Silent silent;  // stateless
  return silent;
}

}  // namespace millrace
