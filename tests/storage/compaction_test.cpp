// Proves that compaction keeps the newest record of each key and nothing that it should not, that transactions and
// producers survive it, that a crash at any disk call leaves the old segments or the new ones, and that a log with few
// keys stays small however much is written to it. Names carry the scenario ids of the fault catalogue.
#include "millrace/storage/compaction.h"

#include <set>

#include "keyed.h"

namespace millrace::storage {
namespace {

struct Pass {
  Wall now = kNow;
  std::optional<Offset> high_watermark = {};
  int64_t key_map_bytes_max = 1 << 20;
  int64_t step_bytes = 700;
};

Result<CompactionStats> compact(PartitionLog& log, Pass const& pass = {}) {
  CompactionRules const rules{.key_map_bytes_max = pass.key_map_bytes_max, .secret = {1, 2}};
  MR_TRY_ASSIGN(auto const compaction,
                log.begin_compaction(rules, pass.now, pass.high_watermark.value_or(log.end().offset)));
  for (;;) {
    auto const next = compaction->step(pass.step_bytes);
    if (!next) {
      compaction->drop();
      return next.error();
    }
    if (*next == Compaction::Next::done) return compaction->stats();
    if (*next == Compaction::Next::install) {
      MR_TRY_ASSIGN(auto const files, log.install(*compaction));
      MR_TRY(PartitionLog::unlink(*files));
    }
  }
}

struct CompactionTest : testing::Test {
  void SetUp() override { MR_ASSERT_OK(machine.start()); }
  Machine machine;
};

// Writes `count` batches of two records over `key_count` keys; about one record in eight is a tombstone.
void write_random(PartitionLog& log, Random& random, int count, uint64_t key_count, bool with_codecs = false) {
  for (int i = 0; i < count; ++i) {
    KeyedSpec spec;
    for (int k = 0; k < 2; ++k) {
      Item item{fmt::format("key-{}", random.below(key_count)), fmt::format("value-{}-{}", log.end().offset, k)};
      if (random.below(8) == 0) item.value.reset();
      spec.items.push_back(std::move(item));
    }
    if (with_codecs) spec.codec = static_cast<Codec>(random.below(5));
    MR_ASSERT_OK(put(log, spec));
  }
}

TEST_F(CompactionTest, RC_04_the_newest_record_of_each_key_stays_at_its_offset) {
  auto log = *machine.create(kCompacted);
  Random random(7);
  for (int round = 0; round < 4; ++round) {
    write_random(*log, random, 200, 20, round % 2 == 1);
    MR_ASSERT_OK(log->roll(kNow));
    write_random(*log, random, 3, 20);
    auto const before = content_of(*log);
    auto const active = log->view();
    auto const stats = compact(*log);
    MR_ASSERT_OK(stats);
    EXPECT_LT(stats->bytes_after, stats->bytes_before);
    auto const after = content_of(*log);
    EXPECT_EQ(after.live(), before.live());
    EXPECT_EQ(after.batches.back(), before.batches.back());
    // Nothing new, nothing moved.
    std::set<std::pair<int64_t, int64_t>> const known(before.batches.begin(), before.batches.end());
    for (auto const& batch : after.batches) EXPECT_TRUE(known.contains(batch)) << batch.first;
    for (auto const& record : after.records)
      EXPECT_NE(std::find(before.records.begin(), before.records.end(), record), before.records.end());
    // Below the active segment each key is there once; what stays is the newest.
    auto const first_dirty = log->first_dirty_offset();
    std::map<std::string, int64_t> newest;
    for (auto const& record : before.records) {
      if (record.offset < first_dirty.value) newest[record.key] = record.offset;
    }
    size_t count = 0;
    for (auto const& record : after.records) {
      if (record.offset >= first_dirty.value) continue;
      EXPECT_EQ(newest[record.key], record.offset);
      ++count;
    }
    EXPECT_EQ(count, newest.size());
    EXPECT_FALSE(log->has_closed_dirty_segments());
  }
  // The same after every kind of restart.
  auto const whole = read_all(*log, Offset(0));
  MR_ASSERT_OK(machine.stop(*log));
  log.reset();
  machine.leave();
  MR_ASSERT_OK(machine.start());
  log = *machine.open(kCompacted);
  EXPECT_EQ(read_all(*log, Offset(0)), whole);
  MR_ASSERT_OK(machine.flush());
  for (int64_t offset = 0; offset < log->end().offset.value; ++offset) {
    auto const result = log->view().read({.from = Offset(offset), .bytes_max = 1, .upper = log->end()});
    MR_ASSERT_OK(result);
    ASSERT_TRUE(result->records);
    auto const first = content_of(bytes_of(*result->records)).batches.front();
    EXPECT_GE(first.second, offset);
  }
  log.reset();
  machine.lose_power();
  MR_ASSERT_OK(machine.start());
  log = *machine.open({.segment_bytes = 2000});  // the policy was changed meanwhile
  EXPECT_EQ(read_all(*log, Offset(0)), whole);
}

TEST_F(CompactionTest, RC_04_a_tombstone_stays_for_its_whole_time_and_then_goes) {
  auto config = kCompacted;
  config.delete_retention_ms = kHour;
  auto log = *machine.create(config);
  MR_ASSERT_OK(put(*log, {.items = {{"a", "1"}, {"b", "1"}}}));
  MR_ASSERT_OK(put(*log, {.items = {{"a", std::nullopt}}}));
  auto const pass_at = [&](int64_t after_ms) {
    MR_ASSERT_OK(put(*log, {.items = {{"filler", fmt::format("{}", after_ms)}}}));
    MR_ASSERT_OK(log->roll(kNow));
    MR_ASSERT_OK(compact(*log, {.now = Wall{kNow.ms + after_ms}}));
  };
  pass_at(0);
  EXPECT_EQ(content_of(*log).count_of("a"), 1u);
  pass_at(kHour - 1);
  EXPECT_EQ(content_of(*log).count_of("a"), 1u);
  pass_at(kHour);
  EXPECT_EQ(content_of(*log).count_of("a"), 0u);
  EXPECT_EQ(content_of(*log).count_of("b"), 1u);
}

// Noted in each tombstone until when it stays, a segment is larger than before: its end lies behind where the log's is.
TEST_F(CompactionTest, a_segment_that_grew_is_read_to_its_end_though_nothing_is_behind_it) {
  auto log = *machine.create(kCompacted);
  for (int i = 0; i < 8; ++i) MR_ASSERT_OK(put(*log, {.items = {{fmt::format("{}", i), std::nullopt}}}));
  auto const size = log->size_bytes();
  MR_ASSERT_OK(log->roll(kNow));
  MR_ASSERT_OK(compact(*log));
  ASSERT_GT(log->size_bytes(), size);
  for (int64_t offset = 0; offset < 8; ++offset) {
    auto const result = log->view().read({.from = Offset(offset), .bytes_max = 1, .upper = log->end()});
    MR_ASSERT_OK(result);
    ASSERT_TRUE(result->records);
    EXPECT_EQ(content_of(bytes_of(*result->records)).batches.front().first, offset);
  }
  EXPECT_EQ(log->view().offset_for_timestamp(kNow.ms, Offset(7), log->end())->value().offset, Offset(7));
  EXPECT_EQ(content_of(*log).records.size(), 8u);
}

TEST_F(CompactionTest, a_producer_that_wrote_only_what_is_outdated_is_not_forgotten) {
  auto log = *machine.create(kCompacted);
  MR_ASSERT_OK(
      put(*log, {.items = {{"k", "old"}, {"k", "older"}}, .producer_id = 9, .producer_epoch = 2, .sequence = 40}));
  MR_ASSERT_OK(put(*log, {.items = {{"k", "new"}}}));
  MR_ASSERT_OK(log->roll(kNow));
  MR_ASSERT_OK(compact(*log));
  EXPECT_EQ(content_of(*log).count_of("k"), 1u);
  EXPECT_EQ(content_of(*log).batches.size(), 2u);
  log.reset();
  machine.kill();
  for (auto const& file : machine.image.files()) {
    if (file.ends_with(".snapshot")) machine.image.erase(file);
  }
  MR_ASSERT_OK(machine.start());
  log = *machine.open(kCompacted);
  auto const* producer = log->producers().find(ProducerId(9));
  ASSERT_NE(producer, nullptr);
  EXPECT_EQ(producer->last_sequence(), 41);
  EXPECT_EQ(producer->epoch, ProducerEpoch(2));
  // Once it has written again, its empty batch goes.
  MR_ASSERT_OK(put(*log, {.items = {{"l", "1"}}, .producer_id = 9, .producer_epoch = 2, .sequence = 42}));
  MR_ASSERT_OK(log->roll(kNow));
  MR_ASSERT_OK(compact(*log));
  EXPECT_EQ(content_of(*log).batches, (std::vector<std::pair<int64_t, int64_t>>{{2, 2}, {3, 3}}));
}

TEST_F(CompactionTest, RC_05_markers_stay_while_any_record_of_their_transaction_does) {
  auto config = kCompacted;
  config.delete_retention_ms = kHour;
  auto log = *machine.create(config);
  auto const transactional = [&](int64_t producer, int32_t sequence, std::vector<Item> items) {
    MR_ASSERT_OK(put(*log, {.items = std::move(items),
                            .producer_id = producer,
                            .producer_epoch = 0,
                            .sequence = sequence,
                            .is_transactional = true}));
  };
  auto const end = [&](int64_t producer, bool is_commit) {
    MR_ASSERT_OK(append_one(*log, make_marker(log->end().offset.value, producer, 0, is_commit)));
  };
  transactional(1, 0, {{"aborted", "x"}, {"kept", "from an aborted transaction"}});  // 0, 1
  transactional(2, 0, {{"kept", "committed"}});                                      // 2
  end(1, false);                                                                     // 3
  MR_ASSERT_OK(log->roll(kNow));
  end(2, true);  // 4
  // Producers whose last batch is elsewhere, so that nothing stays for their sake.
  transactional(1, 2, {{"p1", "x"}});  // 5
  transactional(2, 1, {{"p2", "x"}});  // 6
  end(1, true);                        // 7
  end(2, true);                        // 8
  MR_ASSERT_OK(log->roll(kNow));
  auto const pass_at = [&](int64_t after_ms) {
    log->on_high_watermark(log->end().offset);
    MR_ASSERT_OK(compact(*log, {.now = Wall{kNow.ms + after_ms}}));
  };
  auto const controls = [&] {
    std::vector<int64_t> out;
    for (auto const& record : content_of(*log).records) {
      if (record.is_control) out.push_back(record.offset);
    }
    return out;
  };
  auto const again = [&](int64_t after_ms) {
    MR_ASSERT_OK(put(*log, {.items = {{"filler", fmt::format("{}", after_ms)}}}));
    MR_ASSERT_OK(log->roll(kNow));
    pass_at(after_ms);
  };
  pass_at(0);
  EXPECT_EQ(content_of(*log).live(),
            (std::map<std::string, std::string>{{"kept", "committed"}, {"p1", "x"}, {"p2", "x"}}));
  EXPECT_EQ(controls(), (std::vector<int64_t>{3, 4, 7, 8}));
  EXPECT_EQ(log->view().aborted_transactions(Offset(0), log->end().offset)->size(), 1u);
  again(1);  // the abort marker decides nothing any more, and gets its time
  EXPECT_EQ(controls(), (std::vector<int64_t>{3, 4, 7, 8}));
  EXPECT_EQ(log->view().aborted_transactions(Offset(0), log->end().offset)->size(), 0u);
  again(kHour);
  EXPECT_EQ(controls(), (std::vector<int64_t>{3, 4, 7, 8}));
  again(kHour + 1);
  EXPECT_EQ(controls(), (std::vector<int64_t>{4, 7, 8}));
  // Its only record is outdated: the marker goes too, two passes and its time later.
  MR_ASSERT_OK(put(*log, {.items = {{"kept", "newer"}}}));
  again(2 * kHour);
  EXPECT_EQ(controls(), (std::vector<int64_t>{4, 7, 8}));
  again(2 * kHour + 1);
  again(3 * kHour + 2);
  EXPECT_EQ(controls(), (std::vector<int64_t>{7, 8}));
}

TEST_F(CompactionTest, RC_06_nothing_past_the_mark_an_open_transaction_or_the_active_segment_is_touched) {
  auto log = *machine.create(kCompacted);
  for (int i = 0; i < 4; ++i) {
    MR_ASSERT_OK(put(*log, {.items = {{"k", fmt::format("{}", i)}}}));
    MR_ASSERT_OK(log->roll(kNow));
  }
  EXPECT_FALSE(log->begin_compaction({}, kNow, Offset(0)).ok());
  MR_ASSERT_OK(compact(*log, {.high_watermark = Offset(2)}));
  EXPECT_EQ(log->first_dirty_offset(), Offset(2));
  EXPECT_EQ(content_of(*log).count_of("k"), 3u);
  MR_ASSERT_OK(put(
      *log, {.items = {{"t", "1"}}, .producer_id = 1, .producer_epoch = 0, .sequence = 0, .is_transactional = true}));
  MR_ASSERT_OK(put(*log, {.items = {{"k", "4"}}}));
  MR_ASSERT_OK(log->roll(kNow));
  MR_ASSERT_OK(put(*log, {.items = {{"k", "5"}}}));
  MR_ASSERT_OK(compact(*log));
  EXPECT_EQ(log->first_dirty_offset(), Offset(4));  // the transaction's first
  EXPECT_EQ(content_of(*log).count_of("k"), 3u);    // 3, 4, 5
}

TEST_F(CompactionTest, records_younger_than_the_lag_wait) {
  auto config = kCompacted;
  config.compaction_lag_ms_min = 1000;
  config.compaction_lag_ms_max = 5000;
  config.cleanable_dirty_ratio_min = 0.9;
  auto log = *machine.create(config);
  for (int i = 0; i < 6; ++i) {
    MR_ASSERT_OK(put(*log, {.items = {{"k", fmt::format("{}", i)}}, .timestamp_ms = kNow.ms + i * 1000}));
    MR_ASSERT_OK(log->roll(kNow));
  }
  auto const at = [](int64_t ms) { return Wall{kNow.ms + ms}; };
  EXPECT_FALSE(log->begin_compaction({}, at(500), log->end().offset).ok());
  MR_ASSERT_OK(compact(*log, {.now = at(2500)}));
  EXPECT_EQ(log->first_dirty_offset(), Offset(2));
  auto const need = *log->compaction_need(at(6900), log->end().offset);
  EXPECT_GT(need.dirty_bytes, 0);
  EXPECT_FALSE(need.is_overdue);
  EXPECT_FALSE(need.is_due(config));
  EXPECT_TRUE(log->compaction_need(at(7001), log->end().offset)->is_due(config));
}

TEST_F(CompactionTest, more_keys_than_memory_take_more_passes) {
  auto log = *machine.create(kCompacted);
  for (int i = 0; i < 3000; ++i)
    MR_ASSERT_OK(put(*log, {.items = {{fmt::format("key-{}", i % 1500), fmt::format("{}", i)}}}));
  MR_ASSERT_OK(log->roll(kNow));
  auto const live = content_of(*log).live();
  int passes = 0;
  for (; log->has_closed_dirty_segments(); ++passes) {
    ASSERT_LT(passes, 10);
    auto const stats = compact(*log, {.key_map_bytes_max = 0});
    MR_ASSERT_OK(stats);
    EXPECT_LE(stats->key_map_bytes, 24 * 1024);
    EXPECT_EQ(content_of(*log).live(), live);
  }
  EXPECT_GT(passes, 2);
  EXPECT_EQ(content_of(*log).records.size(), 1500u);
}

TEST_F(CompactionTest, what_was_cleaned_is_remembered_as_kafka_does_and_a_cut_lowers_it) {
  auto log = *machine.create(kCompacted);
  for (int i = 0; i < 10; ++i) MR_ASSERT_OK(put(*log, {.items = {{i == 6 ? "last" : "k", fmt::format("{}", i)}}}));
  MR_ASSERT_OK(log->roll(kNow));
  MR_ASSERT_OK(machine.flush());
  MR_ASSERT_OK(compact(*log));
  auto const checkpoint = [&] { return machine.image.durable_content("/data/cleaner-offset-checkpoint").value_or(""); };
  EXPECT_EQ(checkpoint(), "0\n1\norders 0 10\n");
  MR_ASSERT_OK(log->truncate_to(Offset(9)));
  EXPECT_EQ(checkpoint(), "0\n1\norders 0 9\n");
  log.reset();
  machine.kill();
  MR_ASSERT_OK(machine.start());
  log = *machine.open(kCompacted);
  EXPECT_EQ(log->end().offset, Offset(7));  // nothing between says that it was 9
  EXPECT_EQ(log->first_dirty_offset(), Offset(0));
  // Another topic of that name begins anew.
  MR_ASSERT_OK(machine.directory->delete_log(*log, *Uuid::parse("Ns9nb6OaQTOLpgZjiXIx6A")));
  log = *machine.create(kCompacted);
  EXPECT_EQ(checkpoint(), "0\n0\n");
  EXPECT_EQ(log->first_dirty_offset(), Offset(0));
}

TEST_F(CompactionTest, a_reader_that_began_before_goes_on_as_if_nothing_had_happened) {
  auto log = *machine.create(kCompacted);
  Random random(3);
  write_random(*log, random, 100, 5);
  MR_ASSERT_OK(log->roll(kNow));
  auto const view = log->view();
  auto const end = log->end();
  auto const before = read_all(*log, Offset(0));
  MR_ASSERT_OK(compact(*log));
  std::string seen;
  for (auto from = Offset(0); from < end.offset;) {
    auto const result = view.read({.from = from, .bytes_max = 1 << 20, .upper = end});
    MR_ASSERT_OK(result);
    seen += bytes_of(*result->records);
    from = Offset(content_of(seen).batches.back().second + 1);
  }
  EXPECT_EQ(seen, before);
  EXPECT_LT(read_all(*log, Offset(0)).size(), before.size());
}

TEST_F(CompactionTest, D9_a_damaged_batch_is_not_given_a_new_checksum) {
  auto log = *machine.create(kCompacted);
  Random random(3);
  write_random(*log, random, 100, 5);
  MR_ASSERT_OK(log->roll(kNow));
  machine.image.flip("/data/orders-0/00000000000000000000.log", 300, 0x10);
  auto const bytes = [&] {
    std::map<std::string, std::string> out;
    for (auto const& file : machine.image.files()) {
      if (file.find("/orders-0/") != std::string::npos) out[file] = *machine.image.content(file);
    }
    return out;
  };
  auto const before = bytes();
  EXPECT_EQ(compact(*log).error().kind, ErrorKind::corrupt);
  EXPECT_EQ(bytes(), before);
  EXPECT_FALSE(machine.directory->is_offline());
}

TEST_F(CompactionTest, a_cut_or_deleted_log_ends_the_pass) {
  auto log = *machine.create(kCompacted);
  Random random(3);
  for (int round = 0; round < 2; ++round) {
    write_random(*log, random, 100, 5);
    MR_ASSERT_OK(log->roll(kNow));
    auto compaction = *log->begin_compaction({}, kNow, log->end().offset);
    while (*compaction->step(700) != Compaction::Next::install) {
    }
    if (round == 0)
      MR_ASSERT_OK(log->truncate_to(Offset(20)));
    else
      MR_ASSERT_OK(machine.directory->delete_log(*log, *Uuid::parse("Ns9nb6OaQTOLpgZjiXIx6A")));
    EXPECT_FALSE(log->install(*compaction).ok());
    EXPECT_FALSE(compaction->step(700).ok());
    compaction->drop();
    EXPECT_FALSE(machine.directory->is_offline());
    if (round == 0) {
      for (auto const& file : machine.image.files()) EXPECT_FALSE(file.ends_with(".cleaned")) << file;
      EXPECT_EQ(content_of(*log).batches.back().second, 19);
    }
  }
}

// One pass over many segments, then a crash at every disk call of it. Before the crash everything was synced, so all
// that may differ is which segments were exchanged already.
TEST(CompactionCrash, RC_01_every_crash_leaves_the_old_segments_or_the_new_ones) {
  // What a power loss keeps is drawn: several draws.
  for (uint64_t draw = 0; draw < 8; ++draw) {
    bool const is_power_loss = draw > 0;
    int64_t calls = 0;
    bool is_whole = false;
    for (int64_t crash_at = 1; !is_whole; ++crash_at) {
      ASSERT_LT(crash_at, 2000);
      Machine machine(static_cast<uint64_t>(crash_at) * 8 + draw);
      MR_ASSERT_OK(machine.start());
      auto config = kCompacted;
      config.segment_bytes = 700;
      auto log = *machine.create(config);
      Random random(11);
      write_random(*log, random, 60, 12);
      MR_ASSERT_OK(log->roll(kNow));
      write_random(*log, random, 2, 12);
      log->set_config(kCompacted);  // several become one
      MR_ASSERT_OK(machine.flush());
      log->on_high_watermark(log->end().offset);
      auto const before = content_of(*log);
      auto const end = log->end().offset;
      machine.disk->crash_at_call(machine.disk->calls() + crash_at);
      is_whole = compact(*log, {.step_bytes = 100'000}).ok();
      calls = crash_at;
      log.reset();
      if (is_power_loss)
        machine.lose_power();
      else
        machine.kill();
      if (draw >= 4) {  // and once more while the start finishes what it found
        MR_ASSERT_OK(machine.start());
        machine.disk->crash_at_call(machine.disk->calls() + 1 + (crash_at * 7) % 40);
        static_cast<void>(machine.open(kCompacted));
        machine.lose_power();
      }
      MR_ASSERT_OK(machine.start());
      auto opened = machine.open(kCompacted);
      ASSERT_TRUE(opened.ok()) << crash_at << " " << is_power_loss << ": " << opened.error().message;
      log = *opened;
      ASSERT_EQ(log->end().offset, end) << crash_at;
      for (auto const& file : machine.image.files()) {
        ASSERT_FALSE(file.ends_with(".cleaned") || file.ends_with(".swap")) << crash_at << " " << file;
      }
      auto const after = content_of(*log);  // also: no offset twice
      ASSERT_EQ(after.live(), before.live()) << crash_at << " " << is_power_loss;
      for (auto const& record : after.records)
        ASSERT_NE(std::find(before.records.begin(), before.records.end(), record), before.records.end());
      // And it goes on from there.
      if (log->has_closed_dirty_segments()) MR_ASSERT_OK(compact(*log));
      ASSERT_EQ(content_of(*log).live(), before.live()) << crash_at;
      ASSERT_LT(content_of(*log).records.size(), before.records.size() / 2);
    }
    EXPECT_GT(calls, 50);
  }
}

TEST(CompactionFaults, a_full_disk_ends_the_pass_and_nothing_else) {
  for (int skip = 0; skip < 6; ++skip) {
    Machine machine;
    MR_ASSERT_OK(machine.start());
    auto log = *machine.create(kCompacted);
    Random random(11);
    write_random(*log, random, 120, 12);
    MR_ASSERT_OK(log->roll(kNow));
    auto const before = read_all(*log, Offset(0));
    machine.image.add_fault(
        {.call = sim::DiskCall::write, .path_part = ".cleaned", .skip = skip, .error = ErrorKind::no_space});
    auto const failed = compact(*log);
    machine.image.clear_faults();
    if (failed.ok()) continue;
    EXPECT_EQ(failed.error().kind, ErrorKind::no_space);
    EXPECT_FALSE(machine.directory->is_offline());
    MR_ASSERT_OK(put(*log, {.items = {{"k", "1"}}}));
    MR_ASSERT_OK(compact(*log));
    EXPECT_LT(read_all(*log, Offset(0)).size(), before.size());
  }
}

TEST(CompactionFaults, ST_11_a_failed_sync_takes_the_directory_out_of_service) {
  Machine machine;
  MR_ASSERT_OK(machine.start());
  auto log = *machine.create(kCompacted);
  Random random(11);
  write_random(*log, random, 120, 12);
  MR_ASSERT_OK(log->roll(kNow));
  machine.image.add_fault({.call = sim::DiskCall::sync, .path_part = ".cleaned"});
  EXPECT_FALSE(compact(*log).ok());
  EXPECT_TRUE(machine.directory->is_offline());
}

// The figures that matter for __consumer_offsets: a million records to few keys.
TEST(CompactionSize, a_million_records_to_few_keys_leave_no_more_than_those_keys) {
  constexpr int kKeys = 500;
  Machine machine;
  MR_ASSERT_OK(machine.start());
  LogConfig const config{.segment_bytes = 1_MiB, .is_deleting = false, .is_compacting = true};
  auto log = *machine.create(config);
  int64_t used_max = 0, map_bytes_max = 0;
  size_t passes = 0;
  for (int i = 0; i < 10'000; ++i) {
    KeyedSpec spec;
    for (int k = 0; k < 100; ++k)
      spec.items.push_back({fmt::format("group-topic-{}", (i * 100 + k) % kKeys), fmt::format("offset {} {}", i, k)});
    MR_ASSERT_OK(put(*log, spec));
    if (i % 50 == 0) MR_ASSERT_OK(machine.flush(Mono{100s} + i * 1s));
    if (log->has_closed_dirty_segments() && log->compaction_need(kNow, log->end().offset)->is_due(config)) {
      auto const stats = compact(*log, {.step_bytes = 1 << 20});
      MR_ASSERT_OK(stats);
      map_bytes_max = std::max(map_bytes_max, stats->key_map_bytes);
      ++passes;
    }
    used_max = std::max(used_max, machine.image.used_bytes());
  }
  EXPECT_GT(passes, 20u);
  EXPECT_EQ(content_of(*log).live().size(), static_cast<size_t>(kKeys));
  // An active segment, one that waits, what is live, and while a pass runs a copy of it.
  EXPECT_LT(used_max, 4_MiB);
  EXPECT_LE(map_bytes_max, 2 * kKeys * 24 * 2);
  EXPECT_LE(log->segment_count(), 3u);
}

}  // namespace
}  // namespace millrace::storage
