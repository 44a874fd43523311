// Moments and lengths of time as people write them on the command line.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "millrace/base/result.h"

namespace millrace::cli {

// Milliseconds since 1970: `@1760000000000`, or `2026-11-29[T10:20[:30[.123]]]` followed by nothing (UTC), `Z`,
// `+01:00` or `+0100`. invalid: it is neither.
Result<int64_t> parse_moment(std::string_view text);

// Milliseconds: numbers with ms, s, m, h, d or w (`90s`, `1h30m`), or ISO 8601 as Kafka's tools take it (`P1DT2H`).
// invalid: it is neither, or longer than 64 bits of milliseconds.
Result<int64_t> parse_duration(std::string_view text);

// `2026-11-29T10:20:30.123Z`; empty for a negative time, which means that there is none.
std::string moment_text(int64_t ms);

}  // namespace millrace::cli
