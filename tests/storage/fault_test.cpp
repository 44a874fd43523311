// Proves that crashes, full and failing disks and damaged files cost what they must and nothing more. Names carry the
// scenario ids of the fault catalogue. `whole` is what the log held before the fault.
#include "fixture.h"
#include "millrace/storage/plain_log.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kLogPath = "/data/orders-0/00000000000000000000.log";

struct Built {
  std::string whole;
  std::vector<size_t> places;  // where each batch begins, and the end
};

// Appends `count` batches of two records each.
Built build(PartitionLog& log, int count, size_t value_bytes = 100) {
  Built out;
  for (int i = 0; i < count; ++i) {
    auto const batch = make_batch({.base = log.end().offset.value, .count = 2, .value_bytes = value_bytes});
    out.places.push_back(out.whole.size());
    out.whole += text_of(batch);
    auto const appended = append_one(log, batch);
    EXPECT_TRUE(appended.ok());
  }
  out.places.push_back(out.whole.size());
  return out;
}

TEST(Crash, ST_02_a_last_batch_cut_at_every_byte_ends_the_log_before_it) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto const built = build(**machine.create(), 4);
  machine.kill();
  auto const last = built.places[3];
  for (auto length = last; length < built.whole.size(); ++length) {
    machine.image.place(std::string(kLogPath), built.whole.substr(0, length));
    for (int restart = 0; restart < 2; ++restart) {
      MR_ASSERT_OK(machine.start());
      auto opened = machine.open();
      MR_ASSERT_OK(opened);
      ASSERT_EQ((*opened)->end().offset, Offset(6)) << length;
      ASSERT_EQ(read_all(**opened, Offset(0)), built.whole.substr(0, last));
      ASSERT_EQ((*opened)->recovery().cut_bytes, restart == 0 ? static_cast<int64_t>(length - last) : 0);
      opened = Error{};
      machine.kill();
      ASSERT_EQ(machine.image.content(kLogPath), built.whole.substr(0, last));
    }
  }
}

TEST(Crash, ST_02_a_torn_gathered_write_keeps_its_whole_batches) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 2);
  std::vector<std::vector<std::byte>> batches;
  for (int i = 0; i < 5; ++i) batches.push_back(make_batch({.base = 4 + i, .value_bytes = 700}));
  for (int attempt = 0; attempt < 30; ++attempt) {
    machine.disk->crash_at_call(machine.disk->calls() + 1);
    EXPECT_FALSE(append_all(*log, batches).ok());
    log.reset();
    machine.kill();
    MR_ASSERT_OK(machine.start());
    auto opened = machine.open();
    MR_ASSERT_OK(opened);
    log = *opened;
    auto const end = log->end().offset.value;
    ASSERT_GE(end, 4);
    ASSERT_LE(end, 9);
    auto const all = read_all(*log, Offset(0));
    ASSERT_EQ(all.substr(0, built.whole.size()), built.whole);
    MR_ASSERT_OK(log->truncate_to(Offset(4)));
  }
}

TEST(Crash, ST_04_a_hole_after_a_lost_machine_ends_the_log_and_is_reported) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto const built = build(**machine.create(), 20, 2000);
  machine.lose_power();
  auto holed = built.whole;
  std::fill_n(holed.begin() + 12288, 4096, '\0');  // one page was never written, later ones were
  machine.image.place(std::string(kLogPath), holed);
  MR_ASSERT_OK(machine.start());
  ASSERT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
  auto log = *machine.open();
  size_t kept = 0;
  while (built.places[kept + 1] <= 12288) ++kept;
  EXPECT_EQ(log->end().offset, Offset(static_cast<int64_t>(kept) * 2));
  EXPECT_EQ(read_all(*log, Offset(0)), built.whole.substr(0, built.places[kept]));
  EXPECT_EQ(log->recovery().first_cut_offset, log->end().offset);
  EXPECT_EQ(log->recovery().cut_bytes, static_cast<int64_t>(holed.size() - built.places[kept]));
  // The bytes behind the hole are kept aside.
  EXPECT_EQ(machine.content(fmt::format("00000000000000000000.cut-{}", built.places[kept])),
            holed.substr(built.places[kept]));
  // What is appended next is never followed by the old tail.
  MR_ASSERT_OK(append_next(*log, {.count = 1}));
  auto const all = read_all(*log, Offset(0));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(read_all(**machine.open(), Offset(0)), all);
}

TEST(Crash, ST_04_after_a_mere_kill_a_hole_is_damage_and_nothing_is_cut) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto const built = build(**machine.create(), 20, 2000);
  machine.kill();
  auto holed = built.whole;
  std::fill_n(holed.begin() + 12288, 4096, '\0');
  machine.image.place(std::string(kLogPath), holed);
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.open().error().kind, ErrorKind::corrupt);
  EXPECT_EQ(machine.image.content(kLogPath), holed);
  EXPECT_FALSE(machine.directory->is_offline());
  // Others open.
  MR_EXPECT_OK(machine.directory->create_log({"other", 0}, kTopicId, {}, kNow));
}

TEST(Crash, a_lost_machine_stays_lost_until_recovery_is_done) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  build(**machine.create(), 3);
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
  MR_ASSERT_OK(machine.directory->recovery_done());
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
}

// A truncation over segments that a power loss partly undoes leaves a log without a gap, and lookups in it are right.
TEST(Crash, ST_05_a_truncation_that_is_lost_in_part_leaves_no_gap) {
  LogConfig const config{.segment_bytes = 1200, .index_interval_bytes = 200};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create(config);
    auto const built = build(*log, 20);
    MR_ASSERT_OK(log->sync());
    machine.disk->crash_at_call(machine.disk->calls() + 1 + static_cast<int64_t>(seed % 30));
    auto const truncated = log->truncate_to(Offset(8));
    if (truncated) static_cast<void>(append_next(*log, {.count = 2, .epoch = 3}).ok());
    log.reset();
    machine.lose_power();
    for (int restart = 0; restart < 2; ++restart) {
      MR_ASSERT_OK(machine.start());
      auto opened = machine.open(config);
      MR_ASSERT_OK(opened);
      log = *opened;
      ASSERT_GE(log->end().offset, Offset(8)) << seed;
      auto const all = read_all(*log, Offset(0));
      ASSERT_EQ(all.substr(0, built.places[4]), built.whole.substr(0, built.places[4])) << seed;
      Offset expected(0);
      record::BatchReader reader(as_bytes(all));
      record::BatchView batch;
      while (reader.next(batch)) {
        ASSERT_EQ(batch.base_offset(), expected) << seed;
        ASSERT_EQ(*log->view().position_of(batch.base_offset(), log->end()),
                  LogPosition(static_cast<int64_t>(reader.position() - batch.size_bytes())));
        expected = batch.next_offset();
      }
      ASSERT_EQ(expected, log->end().offset);
      MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = 4}));
      log.reset();
      opened = Error{};
      machine.kill();
    }
  }
}

TEST(Crash, below_the_recovery_point_nothing_is_cut) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create({.index_interval_bytes = 1 << 30});
  auto const built = build(*log, 10);
  MR_ASSERT_OK(machine.flush());
  log.reset();
  machine.lose_power();
  auto const at = built.places[5] + 5;
  machine.image.place(std::string(kLogPath), built.whole.substr(0, at));
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.open().error().kind, ErrorKind::corrupt);
  EXPECT_EQ(machine.image.content(kLogPath)->size(), at);
}

// A process writes, flushes, rolls, truncates and deletes; it or its machine dies at any call. What is found then is a
// prefix of what was appended, nothing that was synced is missing, and the log start is not below an acknowledged one.
TEST(Crash, ST_05_ST_13_at_every_call_of_a_busy_life) {
  LogConfig const config{.segment_bytes = 1500, .index_interval_bytes = 200};
  int64_t calls = 1;
  for (bool const is_power_loss : {false, true}) {
    for (int64_t crash_at = 1; crash_at <= calls; ++crash_at) {
      Machine machine(static_cast<uint64_t>(crash_at) * 2 + is_power_loss);
      MR_ASSERT_OK(machine.start());
      auto log = *machine.create(config);
      MR_ASSERT_OK(log->sync());
      std::string whole;
      Offset synced(0), acknowledged_start(0), appended(0);
      machine.disk->crash_at_call(machine.disk->calls() + crash_at);
      [&] {
        for (int i = 0; i < 12; ++i) {
          auto const batch = make_batch({.base = i * 3,
                                         .count = 3,
                                         .value_bytes = 100,
                                         .epoch = i / 4,
                                         .producer_id = 5,
                                         .producer_epoch = 0,
                                         .sequence = i * 3});
          if (i == 8 && log->delete_records(Offset(7), Offset(24)).ok()) acknowledged_start = Offset(7);
          whole += text_of(batch);
          appended = Offset(i * 3 + 3);
          if (!append_one(*log, batch)) return;
          if (i % 3 == 2) {
            auto const end = log->sync();
            if (!end) return;
            synced = *end;
          }
          if (i % 5 == 4) {
            if (!machine.flush(Mono{100s * i})) return;
            synced = log->end().offset;
          }
        }
        if (machine.stop(*log)) synced = log->end().offset;
      }();
      // Until a whole life takes fewer calls.
      bool const is_whole = !machine.disk->is_frozen();
      calls = is_whole ? crash_at : std::max(calls, crash_at + 1);
      log.reset();
      is_power_loss ? machine.lose_power() : machine.kill();
      for (int restart = 0; restart < 2; ++restart) {
        MR_ASSERT_OK(machine.start());
        auto opened = machine.open(config);
        ASSERT_TRUE(opened.ok()) << crash_at << " " << is_power_loss << ": " << opened.error().message;
        log = *opened;
        ASSERT_GE(log->end().offset, synced) << crash_at;
        ASSERT_LE(log->end().offset, appended) << crash_at;
        ASSERT_GE(log->log_start(), acknowledged_start) << crash_at;
        auto const first = log->view().read({.from = log->log_start(), .bytes_max = 1, .upper = log->end()});
        MR_ASSERT_OK(first);
        auto const all = read_all(*log, log->log_start());
        auto const at = whole.find(all);
        ASSERT_NE(at, std::string::npos) << crash_at << " the log is no part of what was appended";
        if (log->end().offset > Offset(0) && log->end().offset > log->log_start()) {
          ASSERT_NE(log->producers().find(ProducerId(5)), nullptr);
          ASSERT_EQ(log->producers().find(ProducerId(5))->last_sequence() + 1, log->end().offset.value);
          ASSERT_EQ(log->epochs().latest()->epoch.value, (log->end().offset.value / 3 - 1) / 4);
        }
        log.reset();
        opened = Error{};
        machine.kill();
      }
    }
  }
  EXPECT_GT(calls, 60);
}

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

TEST(Crash, ST_13_damaged_checkpoints_count_as_absent) {
  for (std::string const damage : {"", "0\n", "0\n5\norders 0 3\n", "0\n1\norders 0 x\n", "1\n0\n", "\xff\xfe"}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    auto const built = build(*log, 3);
    MR_ASSERT_OK(machine.flush());
    log.reset();
    machine.kill();
    for (auto const* name :
         {"recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"}) {
      machine.image.place(fmt::format("/data/{}", name), damage);
    }
    MR_ASSERT_OK(machine.start());
    auto opened = machine.open();
    MR_ASSERT_OK(opened);
    EXPECT_EQ((*opened)->end().offset, Offset(6));
    EXPECT_EQ((*opened)->high_watermark_at_start(), Offset(0));
    EXPECT_EQ((*opened)->recovery().scanned_bytes, static_cast<int64_t>(built.whole.size()));
  }
}

TEST(Crash, ST_14_epochs_are_read_from_the_log_when_their_file_is_damaged) {
  for (std::string const damage : {"", "0\n2\n0 0\n", "0\n1\n1 9999\n", "junk"}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    for (int i = 0; i < 6; ++i) MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = i / 2}));
    auto const before = log->epochs();
    MR_ASSERT_OK(machine.flush());
    log.reset();
    machine.kill();
    machine.image.place("/data/orders-0/leader-epoch-checkpoint", damage);
    MR_ASSERT_OK(machine.start());
    auto opened = machine.open();
    MR_ASSERT_OK(opened);
    if (damage.find("9999") == std::string::npos) {
      EXPECT_EQ((*opened)->epochs(), before) << damage;
    }
  }
}

TEST(Crash, ST_15_producers_are_rebuilt_when_their_snapshot_is_lost_damaged_or_ahead) {
  for (int damage = 0; damage < 4; ++damage) {
    for (bool const is_clean : {true, false}) {
      Machine machine;
      MR_ASSERT_OK(machine.start());
      auto log = *machine.create({.segment_bytes = 600});
      for (int i = 0; i < 10; ++i) {
        MR_ASSERT_OK(
            append_next(*log, {.count = 2, .producer_id = 7 + i % 2, .producer_epoch = 1, .sequence = i / 2 * 2}));
      }
      auto const seven = *log->producers().find(ProducerId(7));
      auto const eight = *log->producers().find(ProducerId(8));
      if (is_clean) {
        MR_ASSERT_OK(machine.stop(*log));
      } else {
        MR_ASSERT_OK(machine.flush());
      }
      log.reset();
      machine.kill();
      for (auto const& path : machine.image.files()) {
        if (!path.ends_with(".snapshot")) continue;
        if (damage == 0) machine.image.erase(path);
        if (damage == 1) machine.image.flip(path, 12, 0x40);
        if (damage == 2) machine.image.place(path, "");
      }
      if (damage == 3) {
        ProducerState ahead;
        ahead.apply({.producer_id = ProducerId(7),
                     .epoch = ProducerEpoch(1),
                     .first_sequence = 90,
                     .last_sequence = 99,
                     .base_offset = Offset(90),
                     .last_offset = Offset(99),
                     .timestamp_ms = kNow.ms});
        machine.image.place("/data/orders-0/00000000000000000100.snapshot", ahead.snapshot());
      }
      MR_ASSERT_OK(machine.start());
      auto opened = machine.open({.segment_bytes = 600});
      MR_ASSERT_OK(opened);
      auto const& producers = (*opened)->producers();
      ASSERT_NE(producers.find(ProducerId(7)), nullptr) << damage << is_clean;
      EXPECT_EQ(producers.find(ProducerId(7))->last_sequence(), seven.last_sequence());
      EXPECT_EQ(producers.find(ProducerId(8))->last_sequence(), eight.last_sequence());
      // A retry of the last batch is still known.
      ProducerClaim retry;
      retry.producer_id = ProducerId(8);
      retry.epoch = ProducerEpoch(1);
      retry.first_sequence = 8;
      retry.last_sequence = 9;
      EXPECT_EQ(producers.check(retry, nullptr, ClaimOrigin::client).verdict, ClaimVerdict::duplicate);
      EXPECT_EQ(producers.check(retry, nullptr, ClaimOrigin::client).batch.last_offset, Offset(19));
    }
  }
}

TEST(Crash, ST_16_the_mark_of_a_clean_stop_is_gone_before_the_first_write) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::first_start);
  auto log = *machine.create();
  build(*log, 3);
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  EXPECT_TRUE(machine.image.durable_content("/data/.kafka_cleanshutdown").has_value());
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::clean);
  EXPECT_EQ(machine.directory->previous_broker_epoch(), 7);
  EXPECT_FALSE(machine.image.durable_content("/data/.kafka_cleanshutdown").has_value());
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
}

TEST(Identity, ST_17_ST_19_foreign_and_newer_directories_are_refused_untouched) {
  auto const refused = [](std::string const& meta) {
    Machine machine;
    machine.image.place("/data/meta.properties", meta);
    machine.image.place("/data/.kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":1}");
    auto const before = machine.image.files();
    auto const started = machine.start();
    EXPECT_FALSE(started.ok()) << meta;
    if (!started) {
      EXPECT_EQ(started.error().kind, ErrorKind::invalid);
    }
    auto after = machine.image.files();
    std::erase(after, "/data/.lock");
    EXPECT_EQ(after, before);
    EXPECT_EQ(machine.image.content("/data/meta.properties"), meta);
  };
  refused("version=1\nnode.id=2\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n");
  refused("version=1\nnode.id=1\ncluster.id=BBBBBBBBBBBBBBBBBBBBBQ\n");
  refused("version=2\nnode.id=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n");
  refused("node.id=1\n");
  Machine machine;
  machine.image.place("/data/meta.properties",
                      "# by hand\nnode.id = 1\nversion:1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAQ\n");
  MR_ASSERT_OK(machine.start());
  EXPECT_NE(machine.image.content("/data/meta.properties")->find("directory.id=Ns9nb6OaQTOLpgZjiXIx6A"),
            std::string::npos);
  // One owner at a time.
  FileCache files(*machine.disk, 16);
  EXPECT_FALSE(LogDirectory::open(*machine.disk, files, machine.options()).ok());
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

// ---- Indexes

struct Probe {
  std::vector<LogPosition> positions;
  std::vector<std::optional<TimestampOffset>> times;
  std::optional<TimestampOffset> largest;
  std::vector<std::vector<AbortedTransaction>> aborted;
  bool operator==(Probe const&) const = default;
};

Probe probe(PartitionLog& log) {
  Probe out;
  auto const view = log.view();
  for (Offset o(0); o < log.end().offset; o += 1) {
    auto const at = view.position_of(o, log.end());
    EXPECT_TRUE(at.ok()) << at.error().message;
    out.positions.push_back(at.ok() ? *at : LogPosition(-1));
    auto const aborted = view.aborted_transactions(o, o + 5);
    EXPECT_TRUE(aborted.ok());
    out.aborted.push_back(*aborted);
  }
  for (auto time = kNow.ms - 5; time < kNow.ms + 1300; time += 7) {
    auto const found = view.offset_for_timestamp(time, Offset(0), log.end());
    EXPECT_TRUE(found.ok()) << found.error().message;
    out.times.push_back(found.ok() ? *found : std::nullopt);
  }
  auto const largest = view.largest_timestamp(Offset(0), log.end());
  EXPECT_TRUE(largest.ok());
  out.largest = *largest;
  return out;
}

// Without any index: every batch of every segment.
Probe full_scan(std::string const& whole, std::vector<AbortedTransaction> const& aborted, Offset end) {
  Probe out;
  struct Record {
    int64_t timestamp;
    int64_t offset;
  };
  std::vector<Record> records;
  record::BatchReader reader(as_bytes(whole));
  record::BatchView batch;
  size_t at = 0;
  while (reader.next(batch)) {
    while (static_cast<int64_t>(out.positions.size()) <= batch.last_offset().value)
      out.positions.emplace_back(static_cast<int64_t>(at));
    at = reader.position();
    record::RecordReader inner(batch, batch.payload());
    record::RecordView view;
    while (inner.next(view)) records.push_back({view.timestamp, view.offset.value});
  }
  for (Offset o(0); o < end; o += 1) {
    std::vector<AbortedTransaction> found;
    for (auto const& entry : aborted) {
      if (entry.last_offset >= o && entry.first_offset < o + 5) found.push_back(entry);
    }
    out.aborted.push_back(found);
  }
  for (auto time = kNow.ms - 5; time < kNow.ms + 1300; time += 7) {
    auto const hit = std::find_if(records.begin(), records.end(), [&](Record const& r) { return r.timestamp >= time; });
    out.times.push_back(hit == records.end()
                            ? std::nullopt
                            : std::optional(TimestampOffset{hit->timestamp, Offset(hit->offset), LeaderEpoch(0)}));
  }
  auto const best = std::max_element(records.begin(), records.end(),
                                     [](Record const& a, Record const& b) { return a.timestamp < b.timestamp; });
  out.largest = TimestampOffset{best->timestamp, Offset(best->offset), LeaderEpoch(0)};
  return out;
}

TEST(Indexes, ST_10_damaged_indexes_of_every_kind_are_made_again) {
  LogConfig const config{.segment_bytes = 4000, .index_interval_bytes = 150};
  for (std::string const suffix : {".index", ".timeindex", ".txnindex"}) {
    for (int damage = 0; damage < 6; ++damage) {
      for (bool const is_clean : {true, false}) {
        SCOPED_TRACE(fmt::format("{} {} {}", suffix, damage, is_clean));
        Machine machine;
        MR_ASSERT_OK(machine.start());
        auto log = *machine.create(config);
        std::string whole;
        std::vector<AbortedTransaction> aborted;
        int32_t sequence = 0;
        for (int i = 0; i < 60; ++i) {
          auto const base = log->end().offset.value;
          bool const is_marker = i % 6 == 5;
          // Times go back and forth.
          auto const batch = is_marker ? make_marker(base, 9, 0, i % 12 == 5)
                                       : make_batch({.base = base,
                                                     .count = 2,
                                                     .timestamp_ms = kNow.ms + i * 20 + (i % 7) * 50,
                                                     .value_bytes = 60,
                                                     .producer_id = 9,
                                                     .producer_epoch = 0,
                                                     .sequence = sequence,
                                                     .is_transactional = true});
          if (!is_marker) sequence += 2;
          if (is_marker && i % 12 != 5)
            aborted.push_back({ProducerId(9), Offset(base - 10), Offset(base), Offset(base + 1)});
          whole += text_of(batch);
          MR_ASSERT_OK(append_one(*log, batch));
        }
        auto const expected = full_scan(whole, aborted, log->end().offset);
        ASSERT_TRUE(probe(*log) == expected);
        if (is_clean) {
          MR_ASSERT_OK(machine.stop(*log));
        } else {
          MR_ASSERT_OK(machine.flush());
        }
        log.reset();
        machine.kill();
        Random random(static_cast<uint64_t>(damage));
        int damaged = 0;
        for (auto const& path : machine.image.files()) {
          if (!path.ends_with(suffix)) continue;
          auto content = *machine.image.content(path);
          ++damaged;
          if (damage == 0) {
            machine.image.erase(path);
            continue;
          }
          if (damage == 1) std::fill(content.begin(), content.end(), '\0');
          if (damage == 2) content.resize(content.size() / 2);
          if (damage == 3) {
            for (auto& c : content) c = static_cast<char>(random.below(256));
          }
          if (damage == 4) content.clear();
          if (damage == 5 && !content.empty()) content[random.below(content.size())] ^= 0x04;
          machine.image.place(path, content);
        }
        EXPECT_GT(damaged, 1);
        for (int restart = 0; restart < 2; ++restart) {
          MR_ASSERT_OK(machine.start());
          auto opened = machine.open(config);
          MR_ASSERT_OK(opened);
          log = *opened;
          auto const got = probe(*log);
          EXPECT_TRUE(got.positions == expected.positions);
          EXPECT_TRUE(got.times == expected.times);
          EXPECT_EQ(got.largest, expected.largest);
          EXPECT_TRUE(got.aborted == expected.aborted);
          EXPECT_EQ(read_all(*log, Offset(0)), whole);
          if (restart == 0) MR_ASSERT_OK(machine.stop(*log));
          log.reset();
          opened = Error{};
          machine.kill();
        }
      }
    }
  }
}

// ---- Retention

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

// ---- The metadata log

TEST(MetadataLog, appends_are_durable_and_snapshots_appear_whole) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *PlainLog::open(*machine.directory, {}, {}, kNow);
    Offset acknowledged(0);
    bool has_snapshot = false;
    machine.disk->crash_at_call(machine.disk->calls() + 1 + static_cast<int64_t>(seed));
    std::string const content(3000, 's');
    [&] {
      for (int i = 0; i < 10; ++i) {
        auto const batch = make_batch({.base = i * 2, .count = 2, .epoch = 1 + i / 4});
        ByteView const view(batch);
        if (!log->append({&view, 1}, kNow)) return;
        acknowledged = Offset(i * 2 + 2);
        if (i != 5) continue;
        ByteView const piece = as_bytes(content);
        if (!log->write_snapshot({Offset(8), LeaderEpoch(1)}, {&piece, 1})) return;
        has_snapshot = true;
      }
    }();
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    auto opened = PlainLog::open(*machine.directory, {}, {}, kNow);
    MR_ASSERT_OK(opened);
    log = *std::move(opened);
    EXPECT_GE(log->end().offset, acknowledged) << seed;
    if (has_snapshot) {
      ASSERT_EQ(log->snapshots().size(), 1u);
    }
    for (auto const& id : log->snapshots()) {
      std::string got(4000, '\0');
      auto const size = log->read_snapshot(id, Position(0), {reinterpret_cast<std::byte*>(got.data()), got.size()});
      MR_ASSERT_OK(size);
      EXPECT_EQ(got.substr(0, *size), content);
    }
    if (acknowledged >= Offset(10)) {
      EXPECT_EQ(log->end_of_epoch(LeaderEpoch(1)).end, Offset(8));
    }
  }
}

TEST(MetadataLog, is_truncated_reset_to_a_snapshot_and_shortened) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *PlainLog::open(*machine.directory, {}, {.segment_bytes = 400}, kNow);
  for (int i = 0; i < 10; ++i) {
    auto const batch = make_batch({.base = i * 2, .count = 2, .epoch = 1});
    ByteView const view(batch);
    MR_ASSERT_OK(log->append({&view, 1}, kNow));
  }
  MR_ASSERT_OK(log->truncate_to(Offset(12)));
  EXPECT_EQ(log->end().offset, Offset(12));
  ByteView const piece = as_bytes("snapshot");
  MR_ASSERT_OK(log->write_snapshot({Offset(6), LeaderEpoch(1)}, {&piece, 1}));
  MR_ASSERT_OK(log->write_snapshot({Offset(10), LeaderEpoch(1)}, {&piece, 1}));
  MR_ASSERT_OK(log->delete_before_snapshot({Offset(10), LeaderEpoch(1)}));
  EXPECT_EQ(log->log_start(), Offset(10));
  EXPECT_EQ(log->snapshots(), (std::vector<SnapshotId>{{Offset(10), LeaderEpoch(1)}}));
  auto download = *log->begin_download({Offset(100), LeaderEpoch(7)});
  MR_ASSERT_OK(download->append(as_bytes("half")));
  download.reset();
  EXPECT_EQ(log->snapshots().size(), 1u);
  download = *log->begin_download({Offset(100), LeaderEpoch(7)});
  MR_ASSERT_OK(download->append(as_bytes("whole")));
  MR_ASSERT_OK(download->finish());
  download.reset();
  log.reset();
  machine.kill();
  // Killed before the log was reset: it is reset when it opens.
  MR_ASSERT_OK(machine.start());
  log = *PlainLog::open(*machine.directory, {}, {}, kNow);
  EXPECT_EQ(log->log_start(), Offset(100));
  EXPECT_EQ(log->end().offset, Offset(100));
  EXPECT_EQ(log->epochs().latest(), (EpochStart{LeaderEpoch(7), Offset(100)}));
  EXPECT_EQ(log->snapshots(), (std::vector<SnapshotId>{{Offset(100), LeaderEpoch(7)}}));
}

// ---- Directories

TEST(Directory, deleted_partitions_are_gone_at_once_and_removed_later) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  auto const built = build(*log, 3);
  auto const suffix = *Uuid::parse("HJyrfyP_TYmKP4bVugTTsg");
  MR_ASSERT_OK(machine.directory->delete_log(*log, suffix));
  EXPECT_TRUE(machine.directory->partitions()->empty());
  // The name may be used again at once, and the old log neither writes nor reads there.
  auto again = machine.create();
  MR_ASSERT_OK(again);
  EXPECT_EQ((*again)->end().offset, Offset(0));
  MR_ASSERT_OK(append_next(**again, {.count = 1, .epoch = 9}));
  EXPECT_EQ(append_next(*log, {}).error().kind, ErrorKind::not_found);
  EXPECT_EQ(log->sync().error().kind, ErrorKind::not_found);
  EXPECT_EQ(log->view().read({.from = Offset(0), .bytes_max = 100, .upper = log->end()}).error().kind,
            ErrorKind::out_of_range);
  MR_EXPECT_OK(machine.flush());
  EXPECT_EQ(machine.content("leader-epoch-checkpoint"), "0\n1\n9 0\n");
  again = Error{};
  log.reset();
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->partitions()->size(), 1u);
  for (int i = 0; i < 5 && *machine.directory->remove_deleted_step(); ++i) {
  }
  for (auto const& path : machine.image.files()) EXPECT_EQ(path.find("-delete"), std::string::npos) << path;
}

TEST(Directory, names_of_partitions) {
  EXPECT_EQ(parse_partition_directory_name("a-b-3"), (TopicPartition{"a-b", 3}));
  EXPECT_FALSE(parse_partition_directory_name("a"));
  EXPECT_FALSE(parse_partition_directory_name("-1"));
  EXPECT_FALSE(parse_partition_directory_name("a-x"));
  Machine machine;
  MR_ASSERT_OK(machine.start());
  MR_ASSERT_OK(machine.disk->make_directory("/data/stranger"));
  EXPECT_EQ(machine.directory->partitions().error().kind, ErrorKind::invalid);
}

}  // namespace
}  // namespace millrace::storage
