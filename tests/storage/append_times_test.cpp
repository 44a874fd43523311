// Proves that the time at which a record was appended is known to a second, over flushes, restarts, cuts and retention;
// and that a side file which does not fit the log, or is damaged or lost, costs exactness and nothing else.
#include "fixture.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kAppendTimesFile = "millrace-append-times";

struct AppendTimesTest : testing::Test {
  void SetUp() override { MR_ASSERT_OK(machine.start()); }

  // Appends `count` records, one each `step_ms`, whose own timestamps lie far off.
  void fill(PartitionLog& log, int count, int64_t step_ms) {
    for (int i = 0; i < count; ++i) {
      clock.ms += step_ms;
      MR_ASSERT_OK(append_next(log, {.timestamp_ms = own_time_ms, .value_bytes = 20}, clock));
      times.push_back(clock.ms);
    }
  }
  void check(PartitionLog& log, size_t first = 0) {
    for (auto i = first; i < times.size(); ++i) {
      auto const found = log.append_time_ms(Offset(static_cast<int64_t>(i)));
      ASSERT_TRUE(found.has_value()) << i;
      ASSERT_LE(std::abs(*found - times[i]), 1000) << "offset " << i;
    }
    EXPECT_FALSE(log.append_time_ms(log.end().offset).has_value());
  }
  void restart(std::shared_ptr<PartitionLog>& log, LogConfig const& config = {}) {
    MR_ASSERT_OK(machine.stop(*log));
    log.reset();
    machine.leave();
    MR_ASSERT_OK(machine.start());
    log = *machine.open(config);
  }
  Status flush() { return machine.flush(mono = mono + 10s); }
  std::string file() { return machine.content(std::string(kAppendTimesFile)); }

  Machine machine;
  Wall clock = kNow;
  Mono mono{100s};
  int64_t own_time_ms = 1000;
  std::vector<int64_t> times;
};

TEST_F(AppendTimesTest, every_record_is_known_to_a_second_from_memory_and_from_the_file) {
  auto log = *machine.create();
  for (auto const step : {1, 300, 999, 1001, 5000, 60'000}) {
    fill(*log, 200, step);
    check(*log);
    MR_ASSERT_OK(flush());
  }
  check(*log);
  for (int i = 0; i < 50; ++i) {
    fill(*log, 40, 1100);
    MR_ASSERT_OK(flush());
  }
  check(*log);
  EXPECT_GT(file().size(), 256u * 20);
  restart(log);
  check(*log);
  fill(*log, 300, 700);
  check(*log);
  restart(log);
  check(*log);
}

TEST_F(AppendTimesTest, an_append_within_the_second_of_the_last_entry_survives_a_restart) {
  auto log = *machine.create();
  fill(*log, 40, 1000);
  MR_ASSERT_OK(flush());
  fill(*log, 3, 10);
  restart(log);
  check(*log);
}

TEST_F(AppendTimesTest, after_a_kill_the_unsaved_part_has_the_records_own_times_within_the_known_ones) {
  auto log = *machine.create();
  fill(*log, 64, 1000);
  MR_ASSERT_OK(flush());
  auto const saved = times.back();
  own_time_ms = clock.ms + 5000;
  fill(*log, 10, 1000);
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *machine.open();
  for (int64_t i = 0; i < 64; ++i)
    EXPECT_LE(std::abs(*log->append_time_ms(Offset(i)) - times[static_cast<size_t>(i)]), 1000);
  for (int64_t i = 64; i < 74; ++i) {
    auto const found = *log->append_time_ms(Offset(i));
    EXPECT_GE(found, saved) << i;
  }
  auto const before = times.size();
  fill(*log, 50, 1000);
  check(*log, before);
  restart(log);
  check(*log, before);
}

TEST_F(AppendTimesTest, a_damaged_or_foreign_file_is_dropped_and_made_again) {
  auto log = *machine.create();
  fill(*log, 400, 1000);
  restart(log);
  auto const good = file();
  EXPECT_GT(good.size(), 256u * 4);
  for (size_t at = 0; at < good.size(); at += 37) {
    auto bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    MR_ASSERT_OK(machine.stop(*log));
    log.reset();
    machine.leave();
    machine.image.place("/data/orders-0/" + std::string(kAppendTimesFile), bad);
    MR_ASSERT_OK(machine.start());
    log = *machine.open();
    // Never a wrong time that passes for a known one: right, or the record's own.
    for (int64_t i = 0; i < 400; i += 7) {
      auto const found = *log->append_time_ms(Offset(i));
      bool const is_right = std::abs(found - times[static_cast<size_t>(i)]) <= 1000;
      bool const is_bounded = found >= own_time_ms && found <= times.back() + 1000;
      ASSERT_TRUE(is_right || is_bounded) << "byte " << at << " offset " << i << " " << found;
    }
  }
}

TEST_F(AppendTimesTest, what_kafka_appended_meanwhile_is_not_given_our_last_time) {
  auto log = *machine.create();
  fill(*log, 10, 1000);
  restart(log);
  auto const side_file = file();
  own_time_ms = clock.ms + 500'000;
  clock.ms += 490'000;
  fill(*log, 20, 1000);
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  machine.image.place("/data/orders-0/" + std::string(kAppendTimesFile), side_file);
  MR_ASSERT_OK(machine.start());
  log = *machine.open();
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_LE(std::abs(*log->append_time_ms(Offset(i)) - times[static_cast<size_t>(i)]), 1000);
  EXPECT_GT(*log->append_time_ms(Offset(15)), times[9] + 400'000);
}

TEST_F(AppendTimesTest, a_file_that_speaks_of_more_than_the_log_is_dropped) {
  auto log = *machine.create();
  fill(*log, 100, 1000);
  restart(log);
  auto const side_file = file();
  MR_ASSERT_OK(log->truncate_to(Offset(50)));
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  machine.image.place("/data/orders-0/" + std::string(kAppendTimesFile), side_file);
  MR_ASSERT_OK(machine.start());
  log = *machine.open();
  EXPECT_EQ(*log->append_time_ms(Offset(20)), own_time_ms);
}

TEST_F(AppendTimesTest, truncation_forgets_what_is_cut) {
  auto log = *machine.create({.segment_bytes = 3000});
  fill(*log, 400, 1000);
  MR_ASSERT_OK(flush());
  for (auto const end : {399, 300, 299, 120, 3}) {
    MR_ASSERT_OK(log->truncate_to(Offset(end)));
    times.resize(static_cast<size_t>(end));
    check(*log);
    clock.ms += 100'000;
    fill(*log, 2, 1000);
    check(*log);
    MR_ASSERT_OK(log->truncate_to(Offset(end)));
    times.resize(static_cast<size_t>(end));
  }
  restart(log, {.segment_bytes = 3000});
  check(*log);
  MR_ASSERT_OK(log->truncate_fully_and_start_at(Offset(1000)));
  EXPECT_EQ(file(), "<missing>");
  clock.ms += 100'000;
  MR_ASSERT_OK(append_next(*log, {.timestamp_ms = own_time_ms}, clock));
  EXPECT_EQ(*log->append_time_ms(Offset(1000)), clock.ms);
}

TEST_F(AppendTimesTest, the_file_follows_retention) {
  LogConfig const config{.segment_bytes = 20'000, .retention_bytes = 100'000};
  auto log = *machine.create(config);
  size_t largest = 0;
  for (int i = 0; i < 120; ++i) {
    fill(*log, 100, 1500);
    MR_ASSERT_OK(flush());
    MR_ASSERT_OK(log->apply_retention(clock, log->end().offset));
    largest = std::max(largest, file().size());
  }
  EXPECT_GT(log->log_start(), Offset(8000));
  EXPECT_LT(largest, 256u * 200);
  check(*log, static_cast<size_t>(log->log_start().value));
  restart(log, config);
  check(*log, static_cast<size_t>(log->log_start().value));
}

TEST_F(AppendTimesTest, with_a_disk_that_saves_nothing_old_records_have_their_own_times_and_memory_is_bounded) {
  auto log = *machine.create();
  for (int i = 0; i < 5000; ++i) {
    own_time_ms = clock.ms;
    fill(*log, 1, 1000);
  }
  check(*log);
  own_time_ms = 1000;
  restart(log);
  EXPECT_LE(file().size(), 256u * 20);
  check(*log);
}

TEST_F(AppendTimesTest, a_clock_that_goes_back_is_followed) {
  auto log = *machine.create();
  fill(*log, 50, 1000);
  clock.ms -= 3'600'000;
  fill(*log, 50, 1000);
  restart(log);
  check(*log);
}

}  // namespace
}  // namespace millrace::storage
