#include "millrace/cli/time_text.h"

#include <charconv>
#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace millrace::cli {
namespace {

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
constexpr int64_t kHourMs = 60 * kMinuteMs;
constexpr int64_t kDayMs = 24 * kHourMs;
constexpr int64_t kWeekMs = 7 * kDayMs;

// Walks over a text; every step says whether it matched.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}

  bool take(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // Exactly `digit_count` digits.
  std::optional<int> digits(size_t digit_count) {
    if (rest_.size() < digit_count) return std::nullopt;
    int number = 0;
    for (size_t i = 0; i < digit_count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return std::nullopt;
      number = number * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digit_count);
    return number;
  }
  std::optional<int64_t> number() {
    int64_t number = 0;
    if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') return std::nullopt;
    auto const [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return number;
  }
  bool at_end() const { return rest_.empty(); }
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }

 private:
  std::string_view rest_;
};

std::optional<int64_t> parse_date_time(std::string_view text) {
  Scanner in(text);
  auto const year = in.digits(4);
  if (!year || !in.take('-')) return std::nullopt;
  auto const month = in.digits(2);
  if (!month || !in.take('-')) return std::nullopt;
  auto const day = in.digits(2);
  if (!day) return std::nullopt;
  std::chrono::year_month_day const date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  int64_t ms = std::chrono::sys_days(date).time_since_epoch().count() * kDayMs;
  if (in.at_end()) return ms;

  if (!in.take('T') && !in.take(' ')) return std::nullopt;
  auto const hour = in.digits(2);
  if (!hour || *hour > 23 || !in.take(':')) return std::nullopt;
  auto const minute = in.digits(2);
  if (!minute || *minute > 59) return std::nullopt;
  ms += *hour * kHourMs + *minute * kMinuteMs;
  if (in.take(':')) {
    auto const second = in.digits(2);
    if (!second || *second > 59) return std::nullopt;
    ms += *second * kSecondMs;
    if (in.take('.')) {
      int64_t unit = kSecondMs / 10;
      if (!in.at_digit()) return std::nullopt;
      for (; in.at_digit(); unit /= 10) ms += *in.digits(1) * unit;  // finer than milliseconds is cut off
    }
  }
  if (in.at_end()) return ms;
  if (in.take('Z')) return in.at_end() ? std::optional(ms) : std::nullopt;
  bool const is_east = in.take('+');
  if (!is_east && !in.take('-')) return std::nullopt;
  auto const zone_hour = in.digits(2);
  in.take(':');
  auto const zone_minute = in.digits(2);
  if (!zone_hour || !zone_minute || *zone_hour > 23 || *zone_minute > 59 || !in.at_end()) return std::nullopt;
  auto const zone = *zone_hour * kHourMs + *zone_minute * kMinuteMs;
  return is_east ? ms - zone : ms + zone;
}

struct Unit {
  std::string_view name;
  int64_t ms{};
};

// A row of numbers with units. nullopt also when the sum does not fit.
std::optional<int64_t> parse_units(Scanner& in, std::initializer_list<Unit> units) {
  int64_t sum = 0;
  while (in.at_digit()) {
    auto const count = in.number();
    if (!count) return std::nullopt;
    bool is_known = false;
    for (auto const& unit : units) {
      if (!in.take(unit.name)) continue;
      int64_t part = 0;
      if (__builtin_mul_overflow(*count, unit.ms, &part) || __builtin_add_overflow(sum, part, &sum))
        return std::nullopt;
      is_known = true;
      break;
    }
    if (!is_known) return std::nullopt;
  }
  return sum;
}

std::optional<int64_t> parse_length(std::string_view text) {
  Scanner in(text);
  if (in.take('P')) {
    auto const days = parse_units(in, {{"W", kWeekMs}, {"D", kDayMs}});
    if (!days) return std::nullopt;
    if (in.at_end()) return text.size() > 1 ? days : std::nullopt;
    if (!in.take('T') || !in.at_digit()) return std::nullopt;
    auto const rest = parse_units(in, {{"H", kHourMs}, {"M", kMinuteMs}, {"S", kSecondMs}});
    int64_t sum = 0;
    if (!rest || !in.at_end() || __builtin_add_overflow(*days, *rest, &sum)) return std::nullopt;
    return sum;
  }
  if (!in.at_digit()) return std::nullopt;
  auto const sum =
      parse_units(in, {{"ms", 1}, {"s", kSecondMs}, {"m", kMinuteMs}, {"h", kHourMs}, {"d", kDayMs}, {"w", kWeekMs}});
  return in.at_end() ? sum : std::nullopt;
}

}  // namespace

Result<int64_t> parse_moment(std::string_view text) {
  if (text.starts_with('@')) {
    Scanner in(text.substr(1));
    if (auto const ms = in.number(); ms && in.at_end()) return *ms;
  } else if (auto const ms = parse_date_time(text)) {
    return *ms;
  }
  return Error{ErrorKind::invalid,
               fmt::format("'{}' is no time; write @MILLISECONDS since 1970 or 2026-11-29T10:20:30Z", text)};
}

Result<int64_t> parse_duration(std::string_view text) {
  if (auto const ms = parse_length(text)) return *ms;
  return Error{ErrorKind::invalid, fmt::format("'{}' is no length of time; write 90s, 15m, 2h, 1d or PT2H", text)};
}

std::string moment_text(int64_t ms) {
  if (ms < 0) return {};
  using namespace std::chrono;
  sys_time<milliseconds> const moment{milliseconds(ms)};
  auto const day = floor<days>(moment);
  year_month_day const date(day);
  hh_mm_ss const time(moment - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), time.subseconds().count());
}

}  // namespace millrace::cli
