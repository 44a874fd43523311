// What the tests of compaction share: batches of keyed records, and what a log holds of them.
#pragma once
#include "fixture.h"
#include "millrace/record/record.h"
#include "millrace/storage/compaction.h"

namespace millrace::storage {

inline constexpr int64_t kHour = 3'600'000;
inline LogConfig const kCompacted{
    .segment_bytes = 2000, .index_interval_bytes = 200, .is_deleting = false, .is_compacting = true};

struct Item {
  std::string key;
  std::optional<std::string> value;
};

struct KeyedSpec {
  std::vector<Item> items;
  int64_t timestamp_ms = kNow.ms;
  Codec codec = Codec::none;
  int64_t producer_id = -1;
  int16_t producer_epoch = -1;
  int32_t sequence = -1;
  bool is_transactional = false;
  int32_t epoch = 0;
};

inline std::vector<std::byte> keyed_batch(int64_t base, KeyedSpec const& spec) {
  record::BatchBuilder builder({.base_offset = Offset(base),
                                .leader_epoch = LeaderEpoch(spec.epoch),
                                .codec = spec.codec,
                                .producer_id = ProducerId(spec.producer_id),
                                .producer_epoch = ProducerEpoch(spec.producer_epoch),
                                .base_sequence = spec.sequence,
                                .is_transactional = spec.is_transactional});
  for (auto const& item : spec.items) {
    builder.append({.timestamp = spec.timestamp_ms,
                    .key = as_bytes(item.key),
                    .value = item.value ? std::optional(as_bytes(*item.value)) : std::nullopt,
                    .headers = {}});
  }
  CodecContext codecs;
  return builder.build(codecs);
}

inline Result<Appended> put(PartitionLog& log, KeyedSpec const& spec, Wall now = kNow) {
  return append_one(log, keyed_batch(log.end().offset.value, spec), now);
}

struct Seen {
  int64_t offset;
  std::string key;
  std::optional<std::string> value;
  bool is_control = false;
  friend bool operator==(Seen const&, Seen const&) = default;
};

struct Content {
  std::vector<Seen> records;
  std::vector<std::pair<int64_t, int64_t>> batches;  // base and last offset
  std::map<std::string, std::string> live() const {
    std::map<std::string, std::string> out;
    for (auto const& one : records) {
      if (one.is_control) continue;
      if (one.value)
        out[one.key] = *one.value;
      else
        out.erase(one.key);
    }
    return out;
  }
  size_t count_of(std::string const& key) const {
    return static_cast<size_t>(
        std::count_if(records.begin(), records.end(), [&](auto const& r) { return r.key == key && !r.is_control; }));
  }
};

inline Content content_of(std::string const& bytes) {
  Content out;
  CodecContext codecs;
  std::vector<std::byte> scratch;
  record::BatchReader batches(as_bytes(bytes));
  int64_t next = 0;
  for (record::BatchView batch; batches.next(batch);) {
    EXPECT_FALSE(record::check(batch)) << batch.base_offset().value;
    EXPECT_GE(batch.base_offset().value, next);
    next = batch.next_offset().value;
    out.batches.emplace_back(batch.base_offset().value, batch.last_offset().value);
    ByteView records;
    EXPECT_FALSE(record::open_records(batch, {}, codecs, scratch, records));
    record::RecordReader reader(batch, records);
    int32_t count = 0;
    for (record::RecordView one; reader.next(one); ++count) {
      Seen seen{one.offset.value, std::string(as_text(one.key.value_or(ByteView{}))), {}, batch.is_control()};
      if (one.value) seen.value = std::string(as_text(*one.value));
      out.records.push_back(std::move(seen));
    }
    EXPECT_EQ(count, batch.record_count());
  }
  return out;
}

inline Content content_of(PartitionLog& log) { return content_of(read_all(log, log.log_start())); }

}  // namespace millrace::storage
