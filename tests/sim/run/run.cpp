#include "sim/run/run.h"

namespace millrace::sim {
namespace {

constexpr int64_t kFirstTimestampMs = 1'750'000'000'000;
constexpr size_t kPaddingMax = 400;

}  // namespace

RunRecord make_record(checker::Value const& value) {
  RunRecord out;
  out.key = fmt::format("client-{}", value.client);
  auto const head = value.bytes();
  out.value.assign(head.begin(), head.end());
  Random random(value.sequence * 1000 + value.client);
  // Mostly small, some larger than an index interval.
  auto const padding = random.chance(0.03) ? random.below(6000) : random.below(kPaddingMax);
  for (size_t i = 0; i < padding; ++i) out.value.push_back(static_cast<std::byte>((value.sequence + i) & 0xff));
  out.header = random.chance(0.3) ? fmt::format("h{}", value.sequence) : std::string();
  out.timestamp = kFirstTimestampMs + static_cast<int64_t>(value.sequence);
  return out;
}

std::vector<std::byte> build_batch(checker::Value first, uint32_t count, record::BatchOptions const& options) {
  record::BatchBuilder builder(options);
  for (uint32_t i = 0; i < count; ++i, ++first.sequence) {
    auto const made = make_record(first);
    record::HeaderView const header{made.header, std::nullopt};
    record::NewRecord record;
    record.timestamp = made.timestamp;
    record.key = as_bytes(made.key);
    record.value = ByteView(made.value);
    if (!made.header.empty()) record.headers = {&header, 1};
    builder.append(record);
  }
  CodecContext codecs;
  return builder.build(codecs);
}

checker::Observed judge_record(record::RecordView const& record) {
  checker::Observed seen{record.offset.value, false, {}};
  if (!record.value || !record.key) return seen;
  auto const value = checker::Value::parse(*record.value);
  if (!value) return seen;
  seen.value = *value;
  auto const expected = make_record(*value);
  std::string header;
  record::HeaderView view;
  record::HeaderReader headers(record);
  while (headers.next(view)) header += view.key;
  seen.is_readable = as_text(*record.key) == expected.key && as_text(*record.value) == as_text(expected.value) &&
                     header == expected.header && record.timestamp == expected.timestamp;
  return seen;
}

bool read_batches(ByteView bytes, int64_t fetch_offset, std::vector<checker::Observed>& out, int64_t& next_offset,
                  std::string& fault) {
  record::BatchReader batches(bytes);
  record::BatchView batch;
  CodecContext codecs;
  std::vector<std::byte> scratch;
  int64_t last = -1;
  while (batches.next(batch)) {
    if (auto bad = record::check(batch)) {
      fault = fmt::format("batch at offset {}: {}", batch.base_offset(), bad.message);
      return false;
    }
    if (batch.base_offset().value <= last) {
      fault = fmt::format("batch at offset {} follows offset {}", batch.base_offset(), last);
      return false;
    }
    last = batch.last_offset().value;
    if (last < fetch_offset) continue;
    next_offset = last + 1;
    if (batch.is_control()) continue;
    ByteView records;
    if (auto bad = record::open_records(batch, {}, codecs, scratch, records)) {
      fault = fmt::format("batch at offset {}: {}", batch.base_offset(), bad.message);
      return false;
    }
    record::RecordReader reader(batch, records);
    record::RecordView record;
    while (reader.next(record)) {
      if (record.offset.value >= fetch_offset) out.push_back(judge_record(record));
    }
    if (reader.fault()) {
      fault = fmt::format("batch at offset {}: {}", batch.base_offset(), reader.fault().message);
      return false;
    }
  }
  if (batches.fault()) {
    fault = batches.fault().message;
    return false;
  }
  return true;
}

}  // namespace millrace::sim
