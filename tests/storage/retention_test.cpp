// Proves what record deletion and retention remove, when, and that it stays removed. Names carry the scenario ids of
// the fault catalogue.
#include "fixture.h"

namespace millrace::storage {
namespace {

TEST(Retention, RC_02_a_read_of_a_deleted_segment_finishes_or_is_out_of_range) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.segment_bytes = 1000, .retention_bytes = 0});
  auto const built = build(*log, 20);
  auto const view = log->view();
  auto held = *view.read({.from = Offset(0), .bytes_max = 600, .upper = log->end(), .region_bytes_min = 1});
  auto deleted = log->apply_retention(kNow, log->end().offset);
  MR_ASSERT_OK(deleted);
  ASSERT_GT(deleted->segment_count, 2u);
  MR_ASSERT_OK(PartitionLog::unlink(*deleted->files));
  EXPECT_EQ(bytes_of(*held.records), built.whole.substr(0, static_cast<size_t>(held.bytes)));
  EXPECT_EQ(view.read({.from = Offset(0), .bytes_max = 600, .upper = log->end()}).error().kind,
            ErrorKind::out_of_range);
  EXPECT_EQ(log->view().read({.from = Offset(0), .bytes_max = 600, .upper = log->end()}).error().kind,
            ErrorKind::out_of_range);
  EXPECT_EQ(log->log_start(), deleted->log_start);
  EXPECT_EQ(machine.content("00000000000000000000.log"), "<missing>");
}

TEST(Retention, RC_03_an_acknowledged_deletion_outlives_every_crash) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create({.segment_bytes = 1000});
    build(*log, 20);
    MR_ASSERT_OK(machine.flush());
    EXPECT_EQ(log->delete_records(Offset(41), Offset(40)).error().kind, ErrorKind::out_of_range);
    auto deleted = log->delete_records(Offset(23), Offset(40));
    MR_ASSERT_OK(deleted);
    EXPECT_EQ(deleted->log_start, Offset(23));
    if (seed % 2 == 0 && deleted->files) MR_ASSERT_OK(PartitionLog::unlink(*deleted->files));
    deleted = Error{};
    log.reset();
    seed % 4 < 2 ? machine.lose_power() : machine.kill();
    MR_ASSERT_OK(machine.start());
    log = *machine.open({.segment_bytes = 1000});
    EXPECT_EQ(log->log_start(), Offset(23)) << seed;
    EXPECT_EQ(log->end().offset, Offset(40)) << seed;
    EXPECT_LE(log->segment_count(), 11u);
  }
}

TEST(Retention, by_size_and_by_time_and_never_past_the_high_watermark) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.segment_bytes = 1000, .retention_bytes = 2500, .retention_ms = 1000});
  build(*log, 20);
  auto const total = log->size_bytes();
  EXPECT_EQ(log->apply_retention(kNow, Offset(0))->segment_count, 0u);
  auto result = *log->apply_retention(kNow, log->end().offset);
  EXPECT_GE(log->size_bytes(), 2500);
  EXPECT_EQ(total - log->size_bytes(), result.bytes);
  EXPECT_LT(log->size_bytes(), 3600);
  // Later all of it is too old, the active segment too: a quiet topic ends up empty.
  result = *log->apply_retention({kNow.ms + 5000}, log->end().offset);
  EXPECT_EQ(log->size_bytes(), 0);
  EXPECT_EQ(log->log_start(), Offset(40));
  EXPECT_EQ(log->end().offset, Offset(40));
  EXPECT_EQ(log->segment_count(), 1u);
  MR_EXPECT_OK(append_next(*log, {}));
}

TEST(Retention, RC_07_future_and_missing_times_count_from_the_append) {
  auto const hour = int64_t{3600} * 1000;
  for (auto const timestamp : {kNow.ms + 1000 * hour, int64_t{-1}}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create({.segment_bytes = 500, .retention_ms = hour});
    for (int i = 0; i < 5; ++i) {
      auto batch = make_batch({.base = i, .timestamp_ms = timestamp, .value_bytes = 400});
      MR_ASSERT_OK(append_one(*log, batch));
    }
    EXPECT_EQ(log->apply_retention({kNow.ms + hour - 1}, log->end().offset)->segment_count, 0u);
    EXPECT_EQ(log->apply_retention({kNow.ms + hour + 1}, log->end().offset)->segment_count, 5u);
  }
}

// What a power loss left of an entry tells of the year 2004.
TEST(Retention, a_torn_time_index_makes_no_records_old) {
  auto const hour = int64_t{3600} * 1000;
  LogConfig const config{.segment_bytes = 500, .retention_ms = hour};
  for (bool const is_checked : {false, true}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create(config);
    for (int i = 0; i < 5; ++i) {
      auto batch = make_batch({.base = i, .timestamp_ms = kNow.ms, .value_bytes = 400});
      MR_ASSERT_OK(append_one(*log, batch));
    }
    MR_ASSERT_OK(machine.stop(*log));
    log.reset();
    machine.leave();
    auto const file = "/data/orders-0/00000000000000000000.timeindex";
    auto content = *machine.image.content(file);
    ASSERT_EQ(content.size(), 12u);
    std::ranges::fill(content.begin() + 3, content.end(), '\0');
    machine.image.place(file, content);
    if (!is_checked) machine.image.place("/data/orders-0/millrace-index-checks", "");
    MR_ASSERT_OK(machine.start());
    log = *machine.open(config);
    EXPECT_EQ(log->apply_retention({kNow.ms + hour - 1}, log->end().offset)->segment_count, 0u);
    EXPECT_EQ(log->apply_retention({kNow.ms + hour + 1}, log->end().offset)->segment_count, 5u);
  }
}

TEST(Retention, RC_07_a_leap_of_the_clock_deletes_nothing_until_it_has_held) {
  RetentionClock clock;
  auto const hour = int64_t{3600} * 1000;
  EXPECT_EQ(clock.observe(kNow, Mono{0s}), kNow);
  EXPECT_EQ(clock.observe({kNow.ms + 60'000}, Mono{60s}), (Wall{kNow.ms + 60'000}));
  auto const leap = kNow.ms + 10'000 * hour;
  EXPECT_EQ(clock.observe({leap}, Mono{120s}), (Wall{kNow.ms + 120'000}));
  EXPECT_EQ(clock.observe({kNow.ms + 180'000}, Mono{180s}), (Wall{kNow.ms + 180'000}));  // corrected
  EXPECT_EQ(clock.observe({leap}, Mono{240s}), (Wall{kNow.ms + 240'000}));
  EXPECT_EQ(clock.observe({leap + hour}, Mono{240s + 3601s}), (Wall{leap + hour}));  // it has held for an hour
}

TEST(Retention, a_log_emptied_to_an_old_base_keeps_its_new_files) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.segment_bytes = 1000, .retention_bytes = 0});
  build(*log, 20);
  auto const view = log->view();
  auto const old_end = log->end();
  auto deleted = log->apply_retention(kNow, log->end().offset);
  MR_ASSERT_OK(deleted);
  MR_ASSERT_OK(log->truncate_fully_and_start_at(Offset(0)));
  auto const fresh = make_batch({.base = 0, .count = 1, .value_bytes = 77});
  MR_ASSERT_OK(append_one(*log, fresh));
  MR_ASSERT_OK(PartitionLog::unlink(*deleted->files));
  EXPECT_EQ(read_all(*log, Offset(0)), text_of(fresh));
  EXPECT_EQ(machine.content("00000000000000000000.log"), text_of(fresh));
  // A view of the old log never shows bytes of the new one.
  EXPECT_EQ(view.read({.from = Offset(0), .bytes_max = 600, .upper = old_end}).error().kind, ErrorKind::out_of_range);
}

// On a full disk the log start cannot be made durable: the deletion is refused, and nobody sees a start that would go
// back with the next crash.
TEST(Retention, RC_03_a_deletion_that_a_full_disk_cannot_keep_is_refused) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  build(*log, 10);
  MR_ASSERT_OK(machine.flush());
  machine.image.set_capacity(machine.image.used_bytes());
  EXPECT_EQ(log->delete_records(Offset(5), Offset(20)).error().kind, ErrorKind::no_space);
  EXPECT_EQ(log->log_start(), Offset(0));
  EXPECT_FALSE(machine.directory->is_offline());
  machine.image.set_capacity(int64_t{1} << 40);
  MR_ASSERT_OK(log->delete_records(Offset(5), Offset(20)));
  log.reset();
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ((*machine.open())->log_start(), Offset(5));
}

// The removal of the old segments is durable only with a sync. Until then the checkpoint must go on telling the start.
TEST(Retention, RC_03_segments_that_a_power_loss_brings_back_do_not_bring_back_the_start) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create({.segment_bytes = 300});
    build(*log, 20);
    MR_ASSERT_OK(machine.flush());
    MR_ASSERT_OK(log->delete_records(Offset(20), Offset(40)));
    MR_ASSERT_OK(machine.directory->write_checkpoints());
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    log = *machine.open({.segment_bytes = 300});
    ASSERT_EQ(log->log_start(), Offset(20)) << seed;
  }
}

// A line a segment, for ever, would be what a long life of short segments leaves.
TEST(Retention, the_checksums_of_deleted_segments_go_with_them) {
  constexpr int64_t kFileBytesMax = 66'000;
  Machine machine;
  MR_ASSERT_OK(machine.start());
  LogConfig const config{.segment_bytes = 300, .retention_bytes = 5000};
  auto log = *machine.create(config);
  auto const file = [&] { return machine.disk->read_file("/data/orders-0/millrace-index-checks", 1 << 20); };
  size_t largest = 0;
  for (int i = 0; i < 3000; ++i) {
    MR_ASSERT_OK(append_next(*log, {.count = 2, .value_bytes = 100}));
    if (i % 10 == 0) MR_ASSERT_OK(log->apply_retention(kNow, log->end().offset));
    if (i % 100 == 99) largest = std::max(largest, file()->size());
  }
  EXPECT_GT(largest, 50'000u);
  EXPECT_LT(largest, kFileBytesMax);
  MR_ASSERT_OK(machine.stop(*log));
  // The oldest segment that is left still has its line.
  EXPECT_NE(("\n" + *file()).find(fmt::format("\n{} ", log->log_start().value)), std::string::npos);
}

}  // namespace
}  // namespace millrace::storage
