// Proves that full and failing disks cost what they must and nothing more. Names carry the scenario ids of the fault
// catalogue.
#include "fixture.h"
#include "millrace/storage/plain_log.h"

namespace millrace::storage {
namespace {

TEST(Crash, ST_11_a_failed_sync_takes_the_directory_offline_for_good) {
  for (auto const call : {sim::DiskCall::sync, sim::DiskCall::sync_file_system}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    build(*log, 3);
    std::string reason;
    machine.directory->set_offline_handler([&](std::string const& why) { reason = why; });
    machine.image.add_fault({.call = call});
    auto const synced = call == sim::DiskCall::sync
                            ? Status(log->sync().ok() ? Status() : Status(Error{ErrorKind::io, ""}))
                            : machine.flush();
    EXPECT_FALSE(synced.ok());
    EXPECT_TRUE(machine.directory->is_offline());
    EXPECT_FALSE(reason.empty());
    EXPECT_EQ(log->recovery_point(), Offset(0));
    // A later sync would 'succeed': it is not tried.
    EXPECT_EQ(log->sync().error().kind, ErrorKind::io);
    EXPECT_EQ(append_next(*log, {}).error().kind, ErrorKind::io);
    EXPECT_FALSE(machine.flush(Mono{500s}).ok());
    EXPECT_FALSE(machine.directory->stop_cleanly(1).ok());
    EXPECT_FALSE(machine.image.content("/data/.kafka_cleanshutdown").has_value());
  }
}

TEST(FullDisk, DF_01_a_failed_append_leaves_nothing_and_writes_resume) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 5);
  auto const used = machine.image.used_bytes();
  for (int64_t room = 0; room < 900; room += 100) {
    machine.image.set_capacity(used + room);
    auto const refused = append_next(*log, {.count = 1, .value_bytes = 200'000});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::no_space);
    EXPECT_EQ(machine.image.content(kLogPath), built.whole);
    EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
    EXPECT_FALSE(machine.directory->is_offline());
  }
  machine.image.set_capacity(int64_t{1} << 40);
  MR_EXPECT_OK(append_next(*log, {.count = 1, .value_bytes = 200'000}));
  EXPECT_EQ(log->end().offset, Offset(11));
}

TEST(FullDisk, DF_01_a_gathered_write_over_a_roll_is_refused_whole) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.segment_bytes = 1200});
  auto const built = build(*log, 2);
  std::vector<std::vector<std::byte>> batches;
  for (int i = 0; i < 8; ++i) {
    batches.push_back(
        make_batch({.base = 4 + i, .value_bytes = 300, .producer_id = 3, .producer_epoch = 0, .sequence = i}));
  }
  machine.image.add_fault(
      {.call = sim::DiskCall::write, .path_part = "00000000000000000006.log", .error = ErrorKind::no_space});
  machine.image.add_fault(
      {.call = sim::DiskCall::write, .path_part = "00000000000000000007.log", .error = ErrorKind::no_space});
  machine.image.add_fault(
      {.call = sim::DiskCall::write, .path_part = "00000000000000000008.log", .error = ErrorKind::no_space});
  auto const refused = append_all(*log, batches);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(log->end().offset, Offset(4));
  EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
  EXPECT_TRUE(log->producers().empty());
  machine.image.clear_faults();
  MR_EXPECT_OK(append_all(*log, batches));
  EXPECT_EQ(log->end().offset, Offset(12));
}

TEST(FullDisk, DF_01_an_io_error_takes_the_directory_offline_and_reads_go_on) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 3);
  machine.image.add_fault({.call = sim::DiskCall::write, .path_part = ".log"});
  EXPECT_EQ(append_next(*log, {}).error().kind, ErrorKind::io);
  EXPECT_TRUE(machine.directory->is_offline());
  EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
}

TEST(FullDisk, DF_03_side_files_that_cannot_be_written_do_not_stop_the_log) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.segment_bytes = 1000, .index_interval_bytes = 1});
  for (auto const* part : {".index", ".timeindex", ".snapshot", "checkpoint", "millrace"}) {
    machine.image.add_fault(
        {.call = sim::DiskCall::write, .path_part = part, .times = 1000, .error = ErrorKind::no_space});
    machine.image.add_fault(
        {.call = sim::DiskCall::open, .path_part = part, .times = 1000, .error = ErrorKind::no_space});
  }
  auto const built = build(*log, 12);
  MR_EXPECT_OK(machine.flush());
  EXPECT_FALSE(machine.directory->is_offline());
  EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
  machine.image.clear_faults();
  MR_EXPECT_OK(machine.flush(Mono{900s}));
  EXPECT_EQ(log->recovery_point(), Offset(24));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(read_all(**machine.open({.segment_bytes = 1000, .index_interval_bytes = 1}), Offset(0)), built.whole);
}

TEST(FullDisk, DF_03_a_start_gives_up_the_ballast_and_gets_it_back_before_anybody_writes) {
  constexpr int64_t kBallast = 1 << 20;
  constexpr std::string_view kFile = "/data/millrace-ballast";
  Machine machine;
  machine.low_space_bytes = 100 << 10;
  machine.ballast_bytes = kBallast;
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.image.content(kFile).has_value());
  EXPECT_FALSE(machine.directory->is_low_on_space());
  machine.kill();

  auto const set_free = [&](int64_t bytes) { machine.image.set_capacity(machine.image.used_bytes() + bytes); };
  set_free(kBallast / 2);  // enough for a start
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.image.content(kFile).has_value());
  machine.kill();

  set_free(kBallast / 2 - 100);
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.image.content(kFile).has_value());
  EXPECT_TRUE(machine.directory->is_low_on_space());
  set_free(kBallast);  // what it gave back is not for Produce
  MR_ASSERT_OK(machine.directory->check_space());
  EXPECT_TRUE(machine.directory->is_low_on_space());
  set_free(kBallast + machine.low_space_bytes);
  MR_ASSERT_OK(machine.directory->check_space());
  EXPECT_TRUE(machine.image.content(kFile).has_value());
  EXPECT_FALSE(machine.directory->is_low_on_space());
  machine.kill();

  machine.ballast_bytes = 0;
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.image.content(kFile).has_value());
}

// Nobody could read then, nor delete anything.
TEST(FullDisk, DF_03_a_start_needs_no_room_also_without_ballast) {
  for (bool const is_same_boot : {true, false}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    MR_ASSERT_OK(machine.directory->stop_cleanly(7));
    machine.leave();
    machine.image.set_capacity(machine.image.used_bytes());
    if (!is_same_boot) machine.boot_id = "boot-9";
    MR_ASSERT_OK(machine.start());
    EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::clean);
    machine.kill();
    MR_ASSERT_OK(machine.start());
    EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
    EXPECT_EQ(machine.directory->marked_epoch(), 7);
  }
}

// What the directory vouches for is taken back before the log is cut, and a full disk has no room for that.
TEST(FullDisk, DF_03_a_cut_that_cannot_be_noted_is_refused) {
  for (bool const is_emptied : {false, true}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create({.segment_bytes = 1000});
    auto const built = build(*log, 12);
    log->on_high_watermark(Offset(24));
    MR_ASSERT_OK(machine.flush());
    MR_ASSERT_OK(machine.directory->write_checkpoints());
    machine.image.set_capacity(machine.image.used_bytes());
    auto const cut = is_emptied ? log->truncate_fully_and_start_at(Offset(40)) : log->truncate_to(Offset(10));
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().kind, ErrorKind::no_space);
    EXPECT_FALSE(machine.directory->is_offline());
    EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
    machine.image.set_capacity(int64_t{1} << 40);
    // Nor is anything forgotten that still holds.
    MR_ASSERT_OK(append_next(*log, {}));
    MR_ASSERT_OK(machine.flush(Mono{900s}));
    MR_ASSERT_OK(machine.directory->write_checkpoints());
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    log = *machine.open({.segment_bytes = 1000});
    EXPECT_EQ(log->end().offset, Offset(25));
    EXPECT_EQ(log->recovery_point(), Offset(25));
    EXPECT_EQ(log->high_watermark_at_start(), Offset(24));
    MR_ASSERT_OK(is_emptied ? log->truncate_fully_and_start_at(Offset(40)) : log->truncate_to(Offset(10)));
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    MR_EXPECT_OK(machine.open({.segment_bytes = 1000}));
  }
}

TEST(FullDisk, DF_03_the_metadata_log_is_not_cut_either) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *PlainLog::open(*machine.directory, kTopicId, {}, kNow);
  for (int i = 0; i < 5; ++i) {
    auto const batch = make_batch({.base = i});
    ByteView const view(batch);
    MR_ASSERT_OK(log->append({&view, 1}, kNow));
  }
  MR_ASSERT_OK(machine.flush());
  machine.image.set_capacity(machine.image.used_bytes());
  auto const cut = log->truncate_to(Offset(2));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().kind, ErrorKind::no_space);
  EXPECT_EQ(log->end().offset, Offset(5));
  log.reset();
  machine.lose_power();
  machine.image.set_capacity(int64_t{1} << 40);
  MR_ASSERT_OK(machine.start());
  MR_EXPECT_OK(PlainLog::open(*machine.directory, kTopicId, {}, kNow));
}

// An unclean election may cut below the mark, which vouches as well where everything is synced before it is acknowledged.
TEST(FullDisk, IS_05_a_cut_below_the_mark_takes_the_mark_back) {
  Machine machine;
  machine.is_flush_promised = true;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  build(*log, 5);
  MR_ASSERT_OK(log->sync());
  log->on_high_watermark(Offset(10));
  MR_ASSERT_OK(machine.directory->write_checkpoints());
  MR_ASSERT_OK(log->truncate_to(Offset(4)));
  log.reset();
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  MR_EXPECT_OK(machine.open());
}

// Recovery does not read below the recovery point, so it must not rise over epochs that are in no file.
TEST(FullDisk, DF_03_epochs_that_could_not_be_written_are_written_with_the_next_flush) {
  for (auto const call : {sim::DiskCall::write, sim::DiskCall::rename}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    MR_ASSERT_OK(append_next(*log, {.count = 2}));
    MR_ASSERT_OK(machine.flush());
    MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = 1}));
    machine.image.add_fault({.call = call, .path_part = "leader-epoch-checkpoint", .error = ErrorKind::no_space});
    MR_ASSERT_OK(machine.directory->flush_all());
    EXPECT_EQ(log->recovery_point(), Offset(2));
    MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = 1}));
    MR_ASSERT_OK(machine.directory->flush_all());
    EXPECT_EQ(log->recovery_point(), Offset(6));
    auto const before = log->epochs();
    log.reset();
    machine.kill();
    MR_ASSERT_OK(machine.start());
    auto opened = machine.open();
    MR_ASSERT_OK(opened);
    EXPECT_EQ((*opened)->epochs(), before) << (*opened)->epochs().text();
  }
}

TEST(FullDisk, low_space_is_seen_and_passes) {
  Machine machine(1, 1 << 20);
  machine.low_space_bytes = 512 << 10;
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.directory->is_low_on_space());
  auto log = *machine.create();
  MR_ASSERT_OK(append_next(*log, {.count = 1, .value_bytes = 700 << 10}));
  MR_ASSERT_OK(machine.directory->check_space());
  EXPECT_TRUE(machine.directory->is_low_on_space());
  MR_ASSERT_OK(log->truncate_to(Offset(0)));
  MR_ASSERT_OK(machine.directory->check_space());
  EXPECT_FALSE(machine.directory->is_low_on_space());
}

// The cache still shows what the failed sync never wrote. It is written again before anything relies on it: nothing is
// lost while the machine lives, and what is synced from then on outlives a power loss.
TEST(DiskFailure, ST_11_the_page_cache_is_not_trusted_after_a_failed_sync) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create({.segment_bytes = 900});
    MR_ASSERT_OK(log->sync());
    auto const built = build(*log, 10);
    machine.image.add_fault({.call = sim::DiskCall::sync, .path_part = ".log"});
    EXPECT_FALSE(log->sync().ok());
    log.reset();
    machine.kill();
    for (int restart = 0; restart < 2; ++restart) {  // until the recovery is done it stays so
      MR_ASSERT_OK(machine.start());
      EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
      EXPECT_TRUE(machine.directory->is_cache_suspect());
      log = *machine.open({.segment_bytes = 900});
      EXPECT_EQ(read_all(*log, Offset(0)), built.whole);
      if (restart == 1) MR_ASSERT_OK(machine.directory->recovery_done());
      if (restart == 1) MR_ASSERT_OK(log->sync());
      log.reset();
      machine.kill();
    }
    MR_ASSERT_OK(machine.start());
    EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    EXPECT_FALSE(machine.directory->is_cache_suspect());
    log = *machine.open({.segment_bytes = 900});
    EXPECT_EQ(read_all(*log, Offset(0)), built.whole) << seed;
  }
}

// Some file systems take the pages of a failed write-back out of the cache: what is gone is cut, as after a power loss.
TEST(DiskFailure, ST_11_pages_that_a_failed_sync_took_away_end_the_log) {
  int cut_count = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    auto built = build(*log, 4, 2000);
    MR_ASSERT_OK(log->sync());
    built.whole += build(*log, 4, 2000).whole;
    machine.image.add_fault({.call = sim::DiskCall::sync, .path_part = ".log", .forgets_pages = true});
    EXPECT_FALSE(log->sync().ok());
    log.reset();
    machine.kill();
    MR_ASSERT_OK(machine.start());
    log = *machine.open();
    EXPECT_GE(log->end().offset, Offset(8));
    cut_count += log->end().offset < Offset(16) ? 1 : 0;
    auto const all = read_all(*log, Offset(0));
    EXPECT_EQ(all, built.whole.substr(0, all.size()));
  }
  EXPECT_GT(cut_count, 0);
}

// The process was killed between the failed sync and its note. The file would be synced with success now.
TEST(DiskFailure, ST_11_a_failure_that_could_not_be_noted_is_asked_for_before_the_first_sync_counts) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  MR_ASSERT_OK(machine.flush());
  build(*log, 5);
  machine.image.add_fault({.call = sim::DiskCall::sync, .path_part = ".log"});
  machine.disk->crash_at_call(machine.disk->calls() + 2);  // the note's
  EXPECT_FALSE(log->sync().ok());
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  ASSERT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
  log = *machine.open();
  EXPECT_EQ(log->sync().error().kind, ErrorKind::io);
  EXPECT_TRUE(machine.directory->is_offline());
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.directory->is_cache_suspect());
}

// The note itself is interrupted, after each of its calls or in the middle of one, and the file system has told of the
// failure already.
TEST(DiskFailure, ST_11_a_note_that_was_interrupted_is_a_note) {
  int note_count = 0;
  for (int64_t call = 1; call <= 16; ++call) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      Machine machine(seed);
      MR_ASSERT_OK(machine.start());
      auto log = *machine.create();
      MR_ASSERT_OK(machine.flush());
      auto const built = build(*log, 5);
      auto const boot_file = machine.image.content("/data/millrace-boot-id");
      machine.image.add_fault({.call = sim::DiskCall::sync_file_system});
      machine.disk->crash_at_call(machine.disk->calls() + call);
      EXPECT_FALSE(machine.directory->flush_all().ok());
      log.reset();
      machine.kill();
      machine.image.clear_faults();
      // Killed before the note was begun: nothing can tell any more.
      if (machine.image.content("/data/millrace-boot-id") == boot_file) continue;
      ++note_count;
      // Whatever the start makes of it: what is synced from then on outlives a power loss.
      std::string synced;
      for (int start = 0; start < 2 && synced.empty(); ++start) {
        MR_ASSERT_OK(machine.start());
        log = *machine.open();
        MR_ASSERT_OK(machine.directory->recovery_done());
        if (log->sync().ok() && machine.flush()) synced = read_all(*log, Offset(0));
        log.reset();
        start == 0 && synced.empty() ? machine.kill() : machine.lose_power();
      }
      EXPECT_EQ(synced, built.whole);
      MR_ASSERT_OK(machine.start());
      auto const opened = machine.open();
      ASSERT_TRUE(opened.ok()) << call << " " << seed << ": " << opened.error().message;
      EXPECT_EQ(read_all(**opened, Offset(0)), built.whole) << call << " " << seed;
    }
  }
  EXPECT_GT(note_count, 20);
}

TEST(DiskFailure, a_clean_stop_after_it_is_clean) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 5);
  machine.image.add_fault({.call = sim::DiskCall::sync, .path_part = ".log"});
  EXPECT_FALSE(log->sync().ok());
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *machine.open();
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::clean);
  EXPECT_FALSE(machine.directory->is_cache_suspect());
  EXPECT_EQ(read_all(**machine.open(), Offset(0)), built.whole);
}

}  // namespace
}  // namespace millrace::storage
