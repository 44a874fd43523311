// Assertions stay on in release: a broken invariant stops the process before it can acknowledge anything (P1).
// Never used on input from a peer, a client or a disk; those are checked and answered.
#pragma once
#include <string_view>

namespace millrace {

// Prints the condition, place and values, then aborts. `values` may be empty.
[[noreturn]] void assertion_failed(char const* condition, char const* file, int line, std::string_view values = {});

}  // namespace millrace

#define MR_ASSERT(condition)                                                     \
  (__builtin_expect(static_cast<bool>(condition), 1)                             \
       ? static_cast<void>(0)                                                    \
       : ::millrace::assertion_failed(#condition, __FILE__, __LINE__))

// MR_ASSERT_VALUES(end <= mark, "end {} mark {}", end, mark)
#define MR_ASSERT_VALUES(condition, ...)                                         \
  (__builtin_expect(static_cast<bool>(condition), 1)                             \
       ? static_cast<void>(0)                                                    \
       : ::millrace::assertion_failed(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)))
