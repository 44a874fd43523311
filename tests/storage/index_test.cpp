// Proves that every lookup through the indexes equals a full scan, whatever happened to their files (ST-10 of the fault
// catalogue).
#include "fixture.h"

namespace millrace::storage {
namespace {

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

}  // namespace
}  // namespace millrace::storage
