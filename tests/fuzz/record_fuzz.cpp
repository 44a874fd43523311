// Any bytes as a log, as a compressed stream and as the inside of a batch whose checksum is right. Proves that nothing
// reads out of bounds or takes memory beyond its limits, and that whatever the broker would accept can be read back.
//
// Input: the first byte chooses the use, the next two the codecs and rules, the rest is the data.
#include <cstdlib>
#include <vector>

#include "millrace/record/builder.h"
#include "millrace/record/legacy.h"
#include "millrace/record/validate.h"

namespace millrace::record {
namespace {

constexpr DecompressLimits kLimits{.output_bytes_max = 1 << 20, .scratch_bytes_max = 1 << 20};
constexpr size_t kContextBytesMax = size_t{16} << 20;  // one window of zstd is most of it

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads every record and header; false if some fault stops it.
bool read_whole(BatchView batch, CodecContext& context, std::vector<std::byte>& scratch, int64_t& records) {
  ByteView bytes;
  if (open_records(batch, kLimits, context, scratch, bytes)) return false;
  RecordReader reader(batch, bytes);
  RecordView record;
  records = 0;
  while (reader.next(record)) {
    require(record.offset_delta == record.offset - batch.base_offset() || batch.base_offset().value != 0);
    HeaderReader headers(record);
    HeaderView header;
    int32_t count = 0;
    while (headers.next(header)) ++count;
    require(count == record.header_count);
    ControlType type{};
    int32_t epoch = 0;
    if (!read_control_type(record, type)) static_cast<void>(read_end_transaction(record, epoch));
    ++records;
  }
  return !reader.fault();
}

void use_as_log(ByteView data, int version, CodecContext& context) {
  std::vector<std::byte> scratch;
  std::vector<LegacyMessage> messages;
  static_cast<void>(look_at_first_batch(data));
  static_cast<void>(check_produce_records(data, version));
  BatchReader reader(data);
  BatchView batch;
  while (reader.next(batch)) {
    bool const damaged = static_cast<bool>(check(batch));
    if (batch.magic() < kMagicMax) {
      static_cast<void>(read_legacy_deep(batch, kLimits, context, scratch, messages));
    } else if (!damaged && batch.has_header()) {
      int64_t records = 0;
      static_cast<void>(read_whole(batch, context, scratch, records));
    }
  }
}

void use_as_payload(ByteView data, uint8_t codecs, uint8_t choice, CodecContext& context) {
  auto const from = codec_from_id(codecs % 5);
  std::vector<std::byte> scratch;
  std::vector<std::byte> batch(kBatchHeaderBytes);
  if ((codecs & 0x80) != 0) {
    // Let the fuzzer's bytes be records, not what a codec makes of them.
    compress(*from, default_level(*from), data, context, batch);
  } else {
    batch.insert(batch.end(), data.begin(), data.end());
  }
  auto const count = (choice & 0x0f) + 1;
  write_header(batch, {.attributes = static_cast<int16_t>(*from), .last_offset_delta = count - 1,
                       .base_timestamp = 1000, .max_timestamp = 1000, .record_count = count});
  TopicRules rules;
  rules.partition = "t-0";
  rules.decompressed_bytes_max = 1 << 20;
  rules.is_compacted = (choice & 0x10) != 0;
  if ((choice & 0x20) != 0) rules.timestamp_type = TimestampType::log_append_time;
  if ((choice & 0x40) != 0) rules.codec = codec_from_id(codecs / 5 % 5);
  auto const verdict = validate(batch, rules, Origin::client, Wall{2000}, context);
  if (!verdict.is_accepted()) return;
  BatchView const accepted{verdict.rebuilt ? verdict.rebuilt->view() : ByteView(batch)};
  require(!check(accepted));
  int64_t records = 0;
  require(read_whole(accepted, context, scratch, records));
  require(records == verdict.record_count);
}

}  // namespace
}  // namespace millrace::record

extern "C" int LLVMFuzzerTestOneInput(uint8_t const* bytes, size_t size) {
  using namespace millrace;
  if (size < 3) return 0;
  CodecContext context;
  ByteView const data(reinterpret_cast<std::byte const*>(bytes) + 3, size - 3);
  switch (bytes[0] % 3) {
    case 0: record::use_as_log(data, bytes[1] % 14, context); break;
    case 1: record::use_as_payload(data, bytes[1], bytes[2], context); break;
    default: {
      std::vector<std::byte> out;
      auto limits = record::kLimits;
      limits.lz4_header_checksum_is_broken = (bytes[2] & 1) != 0;
      static_cast<void>(decompress(*codec_from_id(bytes[1] % 5), data, limits, context, out));
      record::require(out.size() <= limits.output_bytes_max);
    }
  }
  context.shed();
  record::require(context.memory_bytes() <= record::kContextBytesMax);
  return 0;
}
