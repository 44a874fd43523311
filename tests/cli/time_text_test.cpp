// What people may write for a moment or a length of time, and what is refused.
#include "millrace/cli/time_text.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

constexpr int64_t kTenTwenty = 1795947630000;  // 2026-11-29T10:20:30Z

TEST(TimeText, Moments) {
  EXPECT_EQ(*parse_moment("@0"), 0);
  EXPECT_EQ(*parse_moment("@1795947630123"), kTenTwenty + 123);
  EXPECT_EQ(*parse_moment("1970-01-01"), 0);
  EXPECT_EQ(*parse_moment("2026-11-29T10:20:30Z"), kTenTwenty);
  EXPECT_EQ(*parse_moment("2026-11-29T10:20:30"), kTenTwenty);
  EXPECT_EQ(*parse_moment("2026-11-29 10:20:30"), kTenTwenty);
  EXPECT_EQ(*parse_moment("2026-11-29T10:20"), kTenTwenty - 30'000);
  EXPECT_EQ(*parse_moment("2026-11-29T10:20:30.5Z"), kTenTwenty + 500);
  EXPECT_EQ(*parse_moment("2026-11-29T10:20:30.123456Z"), kTenTwenty + 123);
  EXPECT_EQ(*parse_moment("2026-11-29T11:20:30+01:00"), kTenTwenty);
  EXPECT_EQ(*parse_moment("2026-11-29T05:20:30-0500"), kTenTwenty);
  EXPECT_EQ(*parse_moment("2024-02-29"), 1709164800000);
}

TEST(TimeText, NoMoments) {
  for (auto const* text : {"", "@", "@x", "@-1", "now", "2026", "2026-13-01", "2026-02-29", "2026-11-29T",
                           "2026-11-29T24:00", "2026-11-29T10:60", "2026-11-29T10:20:30.", "2026-11-29T10:20:30Zx",
                           "2026-11-29T10:20:30+1", "@99999999999999999999"}) {
    EXPECT_FALSE(parse_moment(text)) << text;
  }
}

TEST(TimeText, Durations) {
  EXPECT_EQ(*parse_duration("90s"), 90'000);
  EXPECT_EQ(*parse_duration("250ms"), 250);
  EXPECT_EQ(*parse_duration("1h30m"), 5'400'000);
  EXPECT_EQ(*parse_duration("2d"), 172'800'000);
  EXPECT_EQ(*parse_duration("1w"), 604'800'000);
  EXPECT_EQ(*parse_duration("PT2H"), 7'200'000);
  EXPECT_EQ(*parse_duration("P1DT2H3M4S"), 93'784'000);
  EXPECT_EQ(*parse_duration("P2W"), 1'209'600'000);
}

TEST(TimeText, NoDurations) {
  for (auto const* text : {"", "5", "s", "5x", "P", "PT", "P1H", "PT1D", "-5s", "5s ", "99999999999999999d"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(TimeText, Printed) {
  EXPECT_EQ(moment_text(kTenTwenty + 7), "2026-11-29T10:20:30.007Z");
  EXPECT_EQ(moment_text(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(moment_text(-1), "");
}

}  // namespace
}  // namespace millrace::cli
