// Proves that what is appended is read back byte for byte: over rolls, reopenings after every kind of stop, small and
// large reads, regions and their leases, and that limits and offsets are kept.
#include "fixture.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kFirstLog = "00000000000000000000.log";

struct LogTest : testing::Test {
  void SetUp() override { MR_ASSERT_OK(machine.start()); }
  Machine machine;
};

TEST_F(LogTest, an_append_is_one_write_and_is_read_back) {
  auto log = *machine.create();
  auto const batch = make_batch({.base = 0, .count = 3});
  auto const before = machine.disk->calls();
  auto const appended = append_one(*log, batch);
  MR_ASSERT_OK(appended);
  EXPECT_EQ(machine.disk->calls() - before, 1);
  EXPECT_EQ(appended->first_offset, Offset(0));
  EXPECT_EQ(appended->end.offset, Offset(3));
  EXPECT_EQ(appended->end.position, LogPosition(static_cast<int64_t>(batch.size())));
  EXPECT_EQ(read_all(*log, Offset(0)), text_of(batch));
  EXPECT_EQ(machine.content(std::string(kFirstLog)), text_of(batch));
}

TEST_F(LogTest, gathered_batches_go_out_in_one_write) {
  auto log = *machine.create();
  std::vector<std::vector<std::byte>> batches;
  std::string all;
  for (int i = 0; i < 10; ++i) {
    batches.push_back(make_batch({.base = i * 2, .count = 2, .value_bytes = 3000}));
    all += text_of(batches.back());
  }
  auto const before = machine.disk->calls();
  MR_ASSERT_OK(append_all(*log, batches));
  EXPECT_EQ(machine.disk->calls() - before, 1);
  EXPECT_EQ(read_all(*log, Offset(0)), all);
  EXPECT_EQ(read_all(*log, Offset(0), 1), all);
}

TEST_F(LogTest, wrong_offsets_and_sizes_are_refused_and_change_nothing) {
  auto log = *machine.create({.segment_bytes = 1000});
  MR_ASSERT_OK(append_next(*log, {.count = 5}));
  EXPECT_EQ(append_one(*log, make_batch({.base = 4})).error().kind, ErrorKind::invalid);
  auto cut = make_batch({.base = 5});
  cut.pop_back();
  EXPECT_EQ(append_one(*log, cut).error().kind, ErrorKind::invalid);
  EXPECT_EQ(append_next(*log, {.value_bytes = 2000}).error().kind, ErrorKind::limit);
  EXPECT_EQ(log->end().offset, Offset(5));
}

TEST_F(LogTest, segments_roll_by_size_and_every_offset_is_found) {
  auto log = *machine.create({.segment_bytes = 2000, .index_interval_bytes = 200});
  std::string all;
  std::vector<std::pair<int64_t, size_t>> starts;  // last offset, place in `all`
  for (int i = 0; i < 60; ++i) {
    auto const base = log->end().offset.value;
    auto const batch = make_batch({.base = base, .count = 1 + i % 4, .value_bytes = static_cast<size_t>(20 + i)});
    starts.emplace_back(base + i % 4, all.size());
    all += text_of(batch);
    MR_ASSERT_OK(append_one(*log, batch));
  }
  EXPECT_GT(log->segment_count(), 3u);
  auto const check = [&] {
    size_t next = 0;
    for (int64_t offset = 0; offset < log->end().offset.value; ++offset) {
      if (starts[next].first < offset) ++next;
      for (auto const region_min : {int64_t{1}, int64_t{1} << 30}) {
        auto const result = log->view().read(
            {.from = Offset(offset), .bytes_max = 300, .upper = log->end(), .region_bytes_min = region_min});
        MR_ASSERT_OK(result);
        ASSERT_TRUE(result->records.has_value());
        auto const bytes = bytes_of(*result->records);
        ASSERT_EQ(bytes, all.substr(starts[next].second, bytes.size())) << offset;
        ASSERT_EQ(result->start.position.value, static_cast<int64_t>(starts[next].second));
        ASSERT_EQ(*log->view().position_of(Offset(offset), log->end()), result->start.position);
      }
    }
    EXPECT_EQ(read_all(*log, Offset(0)), all);
  };
  check();
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::clean);
  log = *machine.open({.segment_bytes = 2000, .index_interval_bytes = 200});
  check();
}

TEST_F(LogTest, reads_stop_at_the_upper_limit_and_give_at_least_one_batch) {
  auto log = *machine.create();
  MR_ASSERT_OK(append_next(*log, {.count = 2, .value_bytes = 500}));
  auto const mark = log->end();
  MR_ASSERT_OK(append_next(*log, {.count = 2, .value_bytes = 500}));
  auto const read = [&](ReadRequest request) { return *log->view().read(request); };
  auto const first = read({.from = Offset(0), .bytes_max = 1 << 20, .upper = mark});
  EXPECT_EQ(first.bytes, mark.position.value);
  EXPECT_FALSE(read({.from = Offset(2), .bytes_max = 1 << 20, .upper = mark}).records.has_value());
  EXPECT_EQ(log->view().read({.from = Offset(3), .bytes_max = 1, .upper = mark}).error().kind, ErrorKind::out_of_range);
  auto const small = read({.from = Offset(0), .bytes_max = 10, .upper = log->end()});
  EXPECT_EQ(small.bytes, mark.position.value);
  auto const cut = read({.from = Offset(0), .bytes_max = 10, .upper = log->end(), .at_least_one_batch = false});
  EXPECT_EQ(cut.bytes, 10);
  EXPECT_TRUE(cut.is_first_batch_cut);
  auto const over = read({.from = Offset(0), .bytes_max = mark.position.value + 20, .upper = log->end()});
  EXPECT_EQ(over.bytes, mark.position.value + 20);
  auto const whole = [&](int64_t bytes_max) {
    return read({.from = Offset(0), .bytes_max = bytes_max, .upper = log->end(), .without_cut_batch = true}).bytes;
  };
  EXPECT_EQ(whole(mark.position.value + 20), mark.position.value);
  EXPECT_EQ(whole(mark.position.value), mark.position.value);
  EXPECT_EQ(whole(10), mark.position.value);
  EXPECT_EQ(whole(1 << 20), log->end().position.value);
}

TEST_F(LogTest, a_kill_loses_nothing_and_recovery_reads_only_past_the_recovery_point) {
  auto log = *machine.create();
  for (int i = 0; i < 100; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 1000}));
  MR_ASSERT_OK(machine.flush());
  EXPECT_EQ(log->recovery_point(), Offset(100));
  for (int i = 0; i < 5; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 1000}));
  auto const all = read_all(*log, Offset(0));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
  log = *machine.open();
  EXPECT_EQ(log->end().offset, Offset(105));
  EXPECT_EQ(read_all(*log, Offset(0)), all);
  // The five, and at most an index interval before them.
  EXPECT_LE(log->recovery().scanned_bytes, 5 * 1100 + 4096 + 2200);
  EXPECT_GE(log->recovery().scanned_bytes, 5 * 1000);
}

TEST_F(LogTest, regions_lease_descriptors_and_are_revoked_by_truncation) {
  auto log = *machine.create();
  for (int i = 0; i < 10; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 1000}));
  auto const request = ReadRequest{.from = Offset(0), .bytes_max = 1 << 20, .upper = log->end(), .region_bytes_min = 1};
  auto result = *log->view().read(request);
  auto& region = std::get<env::FileRegion>(*result.records);
  EXPECT_EQ(machine.files->lease_count(), 1u);
  int resets = 0;
  EXPECT_TRUE(region.lease->register_sender(this, [&] { ++resets; }));
  MR_ASSERT_OK(log->truncate_to(Offset(5)));
  EXPECT_EQ(resets, 1);
  EXPECT_FALSE(region.lease->register_sender(this, [&] { ++resets; }));
  result = {};
  EXPECT_EQ(machine.files->lease_count(), 0u);
  EXPECT_EQ(log->end().offset, Offset(5));
  // A region below the cut is left alone.
  auto below = *log->view().read({.from = Offset(0), .bytes_max = 10, .upper = log->end(), .region_bytes_min = 1});
  auto& kept = std::get<env::FileRegion>(*below.records);
  EXPECT_TRUE(kept.lease->register_sender(this, [&] { ++resets; }));
  MR_ASSERT_OK(log->truncate_to(Offset(3)));
  EXPECT_EQ(resets, 1);
}

TEST_F(LogTest, leases_are_bounded_by_half_of_the_descriptors) {
  auto log = *machine.create();
  MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 1000}));
  std::vector<ReadResult> held;
  for (size_t i = 0; i < machine.descriptors_max / 2; ++i) {
    held.push_back(
        *log->view().read({.from = Offset(0), .bytes_max = 9999, .upper = log->end(), .region_bytes_min = 1}));
  }
  auto const refused =
      log->view().read({.from = Offset(0), .bytes_max = 9999, .upper = log->end(), .region_bytes_min = 1});
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  held.pop_back();
  MR_EXPECT_OK(log->view().read({.from = Offset(0), .bytes_max = 9999, .upper = log->end(), .region_bytes_min = 1}));
}

TEST_F(LogTest, more_partitions_than_descriptors) {
  machine.files = std::make_unique<FileCache>(*machine.disk, 16);
  machine.directory.reset();
  machine.directory = *LogDirectory::open(*machine.disk, *machine.files, machine.options());
  std::vector<std::shared_ptr<PartitionLog>> logs;
  for (int i = 0; i < 100; ++i) logs.push_back(*machine.directory->create_log({"many", i}, kTopicId, {}, kNow));
  for (int round = 0; round < 3; ++round) {
    for (auto const& log : logs) MR_ASSERT_OK(append_next(*log, {.count = 2}));
  }
  EXPECT_LE(machine.disk->open_count(), 16 + 2);
  for (auto const& log : logs) {
    EXPECT_EQ(log->end().offset, Offset(6));
    EXPECT_EQ(read_all(*log, Offset(0)).size(), static_cast<size_t>(log->size_bytes()));
  }
  MR_EXPECT_OK(machine.flush());
  for (auto const& log : logs) EXPECT_EQ(log->recovery_point(), Offset(6));
  EXPECT_LE(machine.disk->open_count(), 16 + 2);
}

TEST_F(LogTest, without_waiting_only_what_is_in_memory_is_answered) {
  auto log = *machine.create({.segment_bytes = 3000});
  for (int i = 0; i < 10; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 1000}));
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  machine.image.drop_cache();
  MR_ASSERT_OK(machine.start());
  log = *machine.open({.segment_bytes = 3000});
  ReadRequest request{.from = Offset(0), .bytes_max = 1000, .upper = log->end(), .wait = env::Wait::no};
  EXPECT_EQ(log->view().read(request).error().kind, ErrorKind::would_block);
  request.wait = env::Wait::yes;
  MR_EXPECT_OK(log->view().read(request));
  request.wait = env::Wait::no;
  MR_EXPECT_OK(log->view().read(request));
}

TEST_F(LogTest, truncation_keeps_what_is_below_and_appends_go_on) {
  auto log = *machine.create({.segment_bytes = 2000, .index_interval_bytes = 300});
  std::string all;
  std::vector<size_t> places;
  for (int i = 0; i < 30; ++i) {
    auto const batch = make_batch({.base = i * 2, .count = 2, .value_bytes = 50, .epoch = i / 10});
    places.push_back(all.size());
    all += text_of(batch);
    MR_ASSERT_OK(append_one(*log, batch));
  }
  for (int keep : {25, 14, 13, 1}) {
    MR_ASSERT_OK(log->truncate_to(Offset(keep * 2)));
    EXPECT_EQ(log->end().offset, Offset(keep * 2));
    EXPECT_EQ(log->end().position.value, static_cast<int64_t>(places[static_cast<size_t>(keep)]));
    EXPECT_EQ(read_all(*log, Offset(0)), all.substr(0, places[static_cast<size_t>(keep)]));
    EXPECT_EQ(log->epochs().latest()->epoch, LeaderEpoch((keep - 1) / 10));
  }
  MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = 5}));
  EXPECT_EQ(log->end().offset, Offset(4));
  EXPECT_EQ(log->end_of_epoch(LeaderEpoch(0)), (EpochEnd{LeaderEpoch(0), Offset(2)}));
  // In the middle of a batch: the batch goes, the end stays where it was asked.
  MR_ASSERT_OK(log->truncate_to(Offset(3)));
  EXPECT_EQ(log->end().offset, Offset(3));
  EXPECT_EQ(log->end().position.value, static_cast<int64_t>(places[1]));
  auto const before = read_all(*log, Offset(0));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *machine.open({.segment_bytes = 2000, .index_interval_bytes = 300});
  EXPECT_EQ(log->end().offset, Offset(2));  // Kafka too: a gap at the end is not on the disk
  EXPECT_EQ(read_all(*log, Offset(0)), before);
}

TEST_F(LogTest, emptied_and_started_elsewhere) {
  auto log = *machine.create({.segment_bytes = 500});
  for (int i = 0; i < 10; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 100}));
  MR_ASSERT_OK(log->truncate_fully_and_start_at(Offset(1000)));
  EXPECT_EQ(log->log_start(), Offset(1000));
  EXPECT_EQ(log->end().offset, Offset(1000));
  MR_ASSERT_OK(append_next(*log, {.count = 1}));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *machine.open();
  EXPECT_EQ(log->log_start(), Offset(1000));
  EXPECT_EQ(log->end().offset, Offset(1001));
}

}  // namespace
}  // namespace millrace::storage
