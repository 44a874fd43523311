// Proves that a killed process, a lost machine and damaged files cost what they must and nothing more. Names carry the
// scenario ids of the fault catalogue. `whole` is what the log held before the fault.
#include "fixture.h"

namespace millrace::storage {
namespace {

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

// Without the topic's id the next start could not tell whose records these are.
TEST(Crash, what_is_synced_has_its_topic_id_on_the_disk) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    auto const built = build(*log, 2);
    if (seed % 2 == 0) MR_ASSERT_OK(log->roll(Wall{}));  // syncs the segment that it ends
    else MR_ASSERT_OK(log->sync());
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    auto const found = machine.directory->partitions();
    MR_ASSERT_OK(found);
    ASSERT_EQ(found->size(), 1U);
    ASSERT_EQ(found->front().topic_id, kTopicId) << seed;
    ASSERT_EQ(read_all(**machine.open(), Offset(0)), built.whole);
  }
}

// After a cut nothing is known of the index files, and the entry of a batch at the recovery point may be on the disk though
// the batch is not.
TEST(Crash, ST_04_an_index_entry_of_the_batch_at_the_recovery_point_vouches_for_nothing) {
  LogConfig const config{.index_interval_bytes = 1};
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create(config);
  for (int i = 0; i < 20; ++i) MR_ASSERT_OK(append_next(*log, {.value_bytes = 200}));
  MR_ASSERT_OK(machine.flush());
  MR_ASSERT_OK(log->truncate_to(Offset(10)));
  auto const kept = read_all(*log, Offset(0));
  std::map<std::string, std::string> vouched;
  for (std::string const name : {"/data/recovery-point-offset-checkpoint", "/data/millrace-recovery"}) {
    vouched[name] = *machine.image.content(name);
  }
  MR_ASSERT_OK(append_next(*log, {.value_bytes = 200}));
  MR_ASSERT_OK(machine.flush(Mono{200s}));
  log.reset();
  machine.lose_power();
  for (auto const& [name, content] : vouched) machine.image.place(name, content);
  auto torn = *machine.image.content(kLogPath);
  torn.back() = static_cast<char>(torn.back() + 1);
  machine.image.place(std::string(kLogPath), torn);
  MR_ASSERT_OK(machine.start());
  auto const opened = machine.open(config);
  MR_ASSERT_OK(opened);
  EXPECT_EQ((*opened)->end().offset, Offset(10));
  EXPECT_EQ(read_all(**opened, Offset(0)), kept);
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

// An epoch that ended before anything was written in it goes from the log at once, and from the file later.
TEST(Crash, ST_14_a_file_of_epochs_that_is_older_than_a_cut_is_corrected_by_the_log) {
  for (bool const is_lost : {false, true}) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    MR_ASSERT_OK(append_next(*log, {.count = 4}));
    log->assign_epoch(LeaderEpoch(1));
    MR_ASSERT_OK(machine.flush());
    ASSERT_EQ(machine.content("leader-epoch-checkpoint"), "0\n2\n0 0\n1 4\n");
    MR_ASSERT_OK(log->truncate_to(Offset(4)));
    MR_ASSERT_OK(append_next(*log, {.count = 2}));
    MR_ASSERT_OK(append_next(*log, {.count = 2, .epoch = 2}));
    MR_ASSERT_OK(log->sync());
    auto const before = log->epochs();
    log.reset();
    if (is_lost) machine.lose_power();
    else machine.kill();
    MR_ASSERT_OK(machine.start());
    auto opened = machine.open();
    MR_ASSERT_OK(opened);
    EXPECT_EQ((*opened)->epochs(), before) << (*opened)->epochs().text();
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
  EXPECT_EQ(machine.directory->marked_epoch(), 7);
  EXPECT_FALSE(machine.image.durable_content("/data/.kafka_cleanshutdown").has_value());
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
}

// The controller is to hear it; it may take several starts until it has.
TEST(Identity, the_epoch_in_the_mark_of_a_clean_stop_is_known_until_the_node_has_registered) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->marked_epoch(), std::nullopt);
  MR_ASSERT_OK(machine.directory->stop_cleanly(7));
  machine.leave();
  MR_ASSERT_OK(machine.start());
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::process_killed);
  EXPECT_EQ(machine.directory->marked_epoch(), 7);
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
  EXPECT_EQ(machine.directory->marked_epoch(), 7);
  MR_ASSERT_OK(machine.directory->registered());
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->marked_epoch(), std::nullopt);
  // Somebody else, who does not know the file, has run since.
  machine.image.place("/data/millrace-marked-epoch", "{\"version\":0,\"brokerEpoch\":7}");
  machine.image.place("/data/.kafka_cleanshutdown", "{\"version\":0,\"brokerEpoch\":12}");
  machine.leave();
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->marked_epoch(), 12);
  machine.kill();
  for (std::string const damaged : {"", "12", "{\"version\":0,\"broker"}) {
    machine.image.place("/data/millrace-marked-epoch", damaged);
    MR_ASSERT_OK(machine.start());
    EXPECT_EQ(machine.directory->marked_epoch(), -1) << damaged;
    machine.kill();
  }
}

TEST(Identity, the_epoch_in_a_mark_is_read_as_kafka_reads_it) {
  auto const epoch_in = [](std::string const& mark) {
    Machine machine;
    EXPECT_TRUE(machine.start().ok());
    machine.leave();
    machine.image.place("/data/.kafka_cleanshutdown", mark);
    EXPECT_TRUE(machine.start().ok());
    EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::clean);
    return machine.directory->marked_epoch();
  };
  EXPECT_EQ(epoch_in("{\"version\":0,\"brokerEpoch\":12}"), 12);
  EXPECT_EQ(epoch_in("{\"brokerEpoch\": 12, \"version\": 0}"), 12);
  EXPECT_EQ(epoch_in("{\"version\":0,\"brokerEpoch\":-1}"), -1);  // it stopped before it was registered
  EXPECT_EQ(epoch_in("{\"version\":0,\"brokerEpoch\":null}"), -1);
  EXPECT_EQ(epoch_in(""), -1);  // before KIP-966
}

TEST(Identity, an_old_copy_of_one_directory_makes_the_node_old) {
  sim::DiskHost host;
  sim::DiskImage image{Random(1), int64_t{1} << 40};
  auto const disk = image.attach(host);
  FileCache files(*disk, 64);
  auto const oldest = [&](std::vector<std::string> const& marks) {  // of one directory each; empty: a new one
    std::vector<std::unique_ptr<LogDirectory>> owned;
    std::vector<LogDirectory*> directories;
    for (size_t i = 0; i < marks.size(); ++i) {
      auto options = Machine().options();
      options.path = fmt::format("/{}-{}", marks.size(), i);
      if (!marks[i].empty()) {
        EXPECT_TRUE(LogDirectory::open(*disk, files, options).ok());
        image.place(options.path + "/.kafka_cleanshutdown", fmt::format("{{\"version\":0,\"brokerEpoch\":{}}}", marks[i]));
      }
      owned.push_back(*LogDirectory::open(*disk, files, options));
      directories.push_back(owned.back().get());
    }
    return oldest_marked_epoch(directories);
  };
  EXPECT_EQ(oldest({""}), std::nullopt);
  EXPECT_EQ(oldest({"9", "", "12"}), 9);
  EXPECT_EQ(oldest({"12", "9"}), 9);
  EXPECT_EQ(oldest({"12", "", "-1", "9"}), -1);
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

// Whoever made the partition was killed before anything synced its entry. The next sync promises the records, so it has
// to promise their directory too.
TEST(Crash, ST_05_a_sync_covers_the_entries_that_a_killed_process_made) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    log.reset();
    machine.kill();
    MR_ASSERT_OK(machine.start());
    log = *machine.open();
    auto const built = build(*log, 3);
    MR_ASSERT_OK(log->sync());
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    auto const opened = machine.open();
    MR_ASSERT_OK(opened);
    EXPECT_EQ(read_all(**opened, Offset(0)), built.whole);
  }
}

// The log directory itself was made by a process that was killed in its first start.
TEST(Crash, ST_05_a_directory_made_by_a_killed_start_is_made_durable_by_the_next) {
  for (int64_t crash_at = 1; crash_at < 20; ++crash_at) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Machine machine(seed);
      auto const start = [&] {
        machine.disk = machine.image.attach(machine.host);
        machine.files = std::make_unique<FileCache>(*machine.disk, 64);
        if (machine.boot_id == "boot-0") machine.disk->crash_at_call(crash_at);
        auto options = machine.options();
        options.path = "/new/data";
        auto opened = LogDirectory::open(*machine.disk, *machine.files, options);
        if (opened) machine.directory = *std::move(opened);
        return opened.ok() ? Status() : Status(opened.error());
      };
      static_cast<void>(start().ok());
      machine.kill();
      machine.boot_id = "boot-1";
      MR_ASSERT_OK(start());
      MR_ASSERT_OK(machine.directory->create_log(kPartition, kTopicId, {}, kNow));
      MR_ASSERT_OK(machine.directory->flush_all());
      machine.lose_power();
      machine.boot_id = "boot-2";
      MR_ASSERT_OK(start());
      ASSERT_NE(machine.directory->previous_stop(), PreviousStop::first_start) << crash_at << " " << seed;
    }
  }
}

// The removal of a snapshot by a truncation is not synced: a power loss brings it back, and it tells of batches that
// are no longer there.
TEST(Crash, ST_15_a_snapshot_that_a_power_loss_brings_back_does_not_count) {
  int whole_count = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Machine machine(seed);
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    std::map<int64_t, int32_t> next;
    auto const append = [&](int64_t producer) {
      auto const spec = BatchSpec{.producer_id = producer, .producer_epoch = 0, .sequence = next[producer]++};
      EXPECT_TRUE(append_next(*log, spec).ok());
    };
    while (log->end().offset < Offset(8)) append(1);
    MR_ASSERT_OK(log->roll(kNow));  // leaves a snapshot at 8
    MR_ASSERT_OK(machine.flush());
    MR_ASSERT_OK(log->truncate_to(Offset(4)));
    while (log->end().offset < Offset(8)) append(2);
    log.reset();
    machine.lose_power();
    MR_ASSERT_OK(machine.start());
    log = *machine.open();
    auto const whole = read_all(*log, Offset(0));
    record::BatchReader reader(as_bytes(whole));
    record::BatchView last;
    while (reader.next(last)) {
    }
    // The truncation may have been undone as well, or the new tail lost.
    if (log->end().offset < Offset(8) || last.producer_id() != ProducerId(2)) continue;
    ++whole_count;
    append(3);
    MR_ASSERT_OK(log->truncate_to(Offset(8)));
    auto const* producer = log->producers().find(ProducerId(2));
    ASSERT_NE(producer, nullptr) << seed;
    ASSERT_EQ(producer->last_sequence(), 3);
    ASSERT_EQ(log->producers().find(ProducerId(1))->last_sequence(), 3);
  }
  EXPECT_GT(whole_count, 10);
}

// A node that promises to sync before it acknowledges has lost nothing with its machine, if it promised since all that
// was there was on the disk, and never broke the promise.
TEST(Crash, IS_05_a_promise_to_flush_lasts_from_a_clean_start_until_it_is_withdrawn) {
  Machine machine;
  machine.is_flush_promised = true;
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.directory->kept_flush_promise());
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.directory->kept_flush_promise());
  machine.kill();  // before the recovery is done
  MR_ASSERT_OK(machine.start());
  EXPECT_EQ(machine.directory->previous_stop(), PreviousStop::machine_lost);
  EXPECT_TRUE(machine.directory->kept_flush_promise());
  // One topic that does not keep it is enough.
  MR_ASSERT_OK(machine.directory->withdraw_flush_promise());
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.directory->kept_flush_promise());
  // What it left in the page cache is not covered by a promise that comes later.
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.directory->kept_flush_promise());
  MR_ASSERT_OK(machine.directory->stop_cleanly(1));
  machine.leave();
  MR_ASSERT_OK(machine.start());
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.directory->kept_flush_promise());
  machine.kill();
  machine.is_flush_promised = false;
  MR_ASSERT_OK(machine.start());
  machine.is_flush_promised = true;
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  EXPECT_FALSE(machine.directory->kept_flush_promise());
}

// A leader that was elected uncleanly has less than was committed: whoever is cut to its log has no mark above its own end,
// whenever its machine dies.
TEST(Crash, IS_06_a_cut_below_the_high_watermark_lowers_it_on_the_disk) {
  Machine machine;
  machine.is_flush_promised = true;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create();
  build(*log, 6);
  MR_ASSERT_OK(log->sync());
  log->on_high_watermark(Offset(8));
  MR_ASSERT_OK(machine.directory->write_checkpoints());
  MR_ASSERT_OK(log->truncate_to(Offset(4)));
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  EXPECT_TRUE(machine.directory->kept_flush_promise());
  auto opened = machine.open();
  MR_ASSERT_OK(opened);
  EXPECT_EQ((*opened)->end().offset, Offset(4));
}

TEST(Crash, IS_05_with_the_promise_nothing_below_the_high_watermark_is_cut) {
  for (bool const is_promised : {false, true}) {
    Machine machine;
    machine.is_flush_promised = is_promised;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create();
    auto const built = build(*log, 6);
    log->on_high_watermark(Offset(8));
    MR_ASSERT_OK(machine.directory->write_checkpoints());
    log.reset();
    machine.lose_power();
    machine.image.place(std::string(kLogPath), built.whole.substr(0, built.places[3] + 20));
    MR_ASSERT_OK(machine.start());
    auto const opened = machine.open();
    if (is_promised) {
      EXPECT_EQ(opened.error().kind, ErrorKind::corrupt);
      EXPECT_EQ(machine.image.content(kLogPath), built.whole.substr(0, built.places[3] + 20));
    } else {
      MR_ASSERT_OK(opened);
      EXPECT_EQ((*opened)->end().offset, Offset(6));
    }
  }
}

}  // namespace
}  // namespace millrace::storage
