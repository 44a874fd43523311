// Hooks of one run into product code. Production uses Hooks::none(), whose answers are constant.
// MR_PROBE proves that a rare path ran. MR_CHAOS asks whether to take a rare but legal path now.
// MR_MUTANT names a rule that the simulator can switch off; it is compiled in only where MR_MUTANTS is defined.
#pragma once
#include <string_view>

namespace millrace {

class Hooks {
 public:
  virtual ~Hooks() = default;
  virtual void probe(std::string_view name) { static_cast<void>(name); }
  virtual bool chaos(std::string_view point) { static_cast<void>(point); return false; }
  virtual bool mutant(std::string_view name) { static_cast<void>(name); return false; }
  static Hooks& none();
};

}  // namespace millrace

#define MR_PROBE(hooks, name) (hooks).probe(name)
#define MR_CHAOS(hooks, point) (hooks).chaos(point)
#ifdef MR_MUTANTS
#define MR_MUTANT(hooks, name) (hooks).mutant(name)
#else
#define MR_MUTANT(hooks, name) false
#endif
