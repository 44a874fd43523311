// Proves, most of all under the thread sanitiser, that readers, background flushes and the runner of a log do not get
// in each other's way: readers see whole batches with the right content, or are told that the place is gone.
#include <thread>

#include "fixture.h"
#include "locked_disk.h"

namespace millrace::storage {
namespace {

struct SharedDirectory {
  SharedDirectory() {
    image.place("/data/.exists", "");
    inner = image.attach(host);
    disk.emplace(*inner);
    files.emplace(*disk, 16);
    directory = *LogDirectory::open(*disk, *files, names.options());
  }

  sim::DiskHost host;
  sim::DiskImage image{Random(1)};
  decltype(image.attach(host)) inner;
  std::optional<LockedDisk> disk;
  std::optional<FileCache> files;
  Machine names;  // for its options only
  std::unique_ptr<LogDirectory> directory;
};

TEST(Threads, readers_and_flushes_beside_a_runner_that_appends_rolls_truncates_and_deletes) {
  SharedDirectory shared;
  auto const& directory = shared.directory;
  auto log = *directory->create_log(
      kPartition, kTopicId, {.segment_bytes = 8000, .index_interval_bytes = 100, .retention_bytes = 40'000}, kNow);
  PublishedMarks marks;
  std::atomic<bool> is_over{false};
  std::atomic<int> reads{0}, gone{0};

  auto const read = [&](uint64_t seed) {
    Random random(seed);
    while (!is_over.load()) {
      auto const now = marks.read();
      if (now.end.offset <= now.log_start) continue;
      Offset const from(random.between(now.log_start.value, now.end.offset.value - 1));
      auto const view = log->view();
      auto const result = view.read({.from = from,
                                     .bytes_max = random.between(1, 3000),
                                     .upper = now.end,
                                     .without_cut_batch = random.chance(0.5),
                                     .with_aborted_transactions = true,
                                     .region_bytes_min = random.chance(0.3) ? 1 : 1 << 30});
      if (!result) {
        ASSERT_TRUE(result.error().kind == ErrorKind::out_of_range || result.error().kind == ErrorKind::limit)
            << result.error().message;
        ++gone;
        continue;
      }
      if (!result->records || std::holds_alternative<env::FileRegion>(*result->records)) continue;
      auto const bytes = bytes_of(*result->records);
      record::BatchReader reader(as_bytes(bytes));
      record::BatchView batch;
      while (reader.next(batch)) {
        ASSERT_FALSE(record::check(batch));
        ++reads;
      }
      auto const found = view.offset_for_timestamp(kNow.ms + random.between(0, 1000), now.log_start, now.end);
      if (!found) {
        ASSERT_EQ(found.error().kind, ErrorKind::out_of_range) << found.error().message;
      }
      static_cast<void>(log->size_bytes());
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(read, 1);
  threads.emplace_back(read, 2);
  threads.emplace_back([&] {
    for (int i = 0; !is_over.load(); ++i) {
      EXPECT_TRUE(directory->flush_step(Mono{2s * i}).ok());
      EXPECT_TRUE(log->sync().ok());
    }
  });

  Random random(3);
  int32_t sequence = 0;
  auto const publish = [&] {
    marks.publish({.epoch = LeaderEpoch(0),
                   .log_start = log->log_start(),
                   .last_stable = log->end(),
                   .high_watermark = log->end(),
                   .end = log->end()});
  };
  for (int i = 0; i < 1500 || (reads.load() < 100 && i < 20'000); ++i) {
    std::this_thread::yield();
    auto const base = log->end().offset.value;
    auto const batch = make_batch({.base = base,
                                   .count = 2,
                                   .timestamp_ms = kNow.ms + i,
                                   .value_bytes = static_cast<size_t>(random.between(1, 400)),
                                   .producer_id = 1,
                                   .producer_epoch = 0,
                                   .sequence = sequence});
    sequence += 2;
    auto const appended = append_one(*log, batch);
    ASSERT_TRUE(appended.ok()) << appended.error().message;
    publish();
    if (i % 200 == 150) {
      ASSERT_TRUE(log->truncate_to(Offset(base - 5)).ok());
      sequence -= 8;
      publish();
    }
    if (i % 100 == 99) {
      auto const deleted = log->apply_retention(kNow, log->end().offset);
      ASSERT_TRUE(deleted.ok());
      publish();
      if (deleted->files) {
        ASSERT_TRUE(PartitionLog::unlink(*deleted->files).ok());
      }
    }
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  EXPECT_GT(reads.load(), 0);
  auto const all = read_all(*log, log->log_start());
  EXPECT_EQ(static_cast<int64_t>(all.size()), log->size_bytes());
}

// As where a leader is deposed while it reads for a follower: what it looked up is cut, and a larger batch comes there.
TEST(Threads, a_read_of_whole_batches_beside_a_truncation_is_told_that_the_place_is_gone) {
  for (int64_t const region_bytes_min : {int64_t{1}, int64_t{1} << 30}) {
    SharedDirectory shared;
    auto log = *shared.directory->create_log(kPartition, kTopicId, {}, kNow);
    for (int i = 0; i < 60; ++i) MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 300}));
    auto const upper = log->end();
    auto const view = log->view();
    shared.disk->after_log_read = [&] {
      MR_ASSERT_OK(log->truncate_to(Offset(5)));
      MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 20'000, .epoch = 1}));
    };
    auto const result = view.read({.from = Offset(30),
                                   .bytes_max = 4000,
                                   .upper = upper,
                                   .without_cut_batch = true,
                                   .region_bytes_min = region_bytes_min});
    ASSERT_FALSE(shared.disk->after_log_read);
    EXPECT_EQ(result.error().kind, ErrorKind::out_of_range);
  }
}

}  // namespace
}  // namespace millrace::storage
