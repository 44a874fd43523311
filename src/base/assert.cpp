#include "millrace/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {

void assertion_failed(char const* condition, char const* file, int line, std::string_view values) {
  std::fprintf(stderr, "millrace: assertion failed: %s at %s:%d%s%.*s\n", condition, file, line,
               values.empty() ? "" : ": ", static_cast<int>(values.size()), values.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace millrace
