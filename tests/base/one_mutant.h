// Breaks one rule, to see that a test would notice.
#pragma once
#include "millrace/base/hooks.h"

namespace millrace {

class OneMutant final : public Hooks {
 public:
  explicit OneMutant(std::string_view name) : name_(name) {}
  bool mutant(std::string_view name) override { return name == name_; }

 private:
  std::string_view name_;
};

}  // namespace millrace
