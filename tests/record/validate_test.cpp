// Proves what the recordings do not show: hostile varints and lengths, bombs that must not be held in memory, records
// larger than any buffer, every change of codec, and that whatever is accepted can be read by everyone afterwards.
#include "millrace/record/validate.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "millrace/base/random.h"
#include "millrace/base/units.h"
#include "millrace/record/builder.h"

namespace millrace::record {
namespace {

constexpr Wall kNow{1'700'000'000'000};
constexpr Codec kCodecs[] = {Codec::none, Codec::gzip, Codec::snappy, Codec::lz4, Codec::zstd};

TopicRules big_rules() {
  TopicRules rules;
  rules.partition = "orders-3";
  rules.batch_bytes_max = 64 << 20;
  return rules;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (auto const v : values) out.push_back(static_cast<std::byte>(v));
  return out;
}

// A batch around a payload, with a right checksum.
std::vector<std::byte> wrap(ByteView payload, int32_t count, Codec codec = Codec::none) {
  std::vector<std::byte> batch(kBatchHeaderBytes);
  batch.insert(batch.end(), payload.begin(), payload.end());
  write_header(batch, {.attributes = static_cast<int16_t>(codec), .last_offset_delta = count - 1,
                       .base_timestamp = kNow.ms, .max_timestamp = kNow.ms, .record_count = count});
  return batch;
}

std::vector<std::byte> wrap_compressed(ByteView payload, int32_t count, Codec codec, CodecContext& context) {
  if (codec == Codec::none) return wrap(payload, count);
  std::vector<std::byte> packed;
  compress(codec, default_level(codec), payload, context, packed);
  return wrap(packed, count, codec);
}

struct Content {
  std::vector<std::string> keys, values;
  std::vector<int64_t> timestamps;
  std::vector<int64_t> offsets;
  int headers = 0;
  friend bool operator==(Content const&, Content const&) = default;
};

Content content_of(BatchView batch, CodecContext& context, Fault& fault) {
  Content content;
  std::vector<std::byte> scratch;
  ByteView bytes;
  fault = open_records(batch, {}, context, scratch, bytes);
  if (fault) return content;
  RecordReader reader(batch, bytes);
  RecordView record;
  while (reader.next(record)) {
    content.keys.emplace_back(record.key ? as_text(*record.key) : "(null)");
    content.values.emplace_back(record.value ? as_text(*record.value) : "(null)");
    content.timestamps.push_back(record.timestamp);
    content.offsets.push_back(record.offset.value);
    HeaderReader headers(record);
    HeaderView header;
    while (headers.next(header)) ++content.headers;
  }
  fault = reader.fault();
  return content;
}

std::vector<std::byte> sample(Codec codec, std::vector<size_t> const& value_sizes, CodecContext& context) {
  BatchBuilder builder({.codec = codec});
  Random random(value_sizes.size());
  int64_t time = kNow.ms - 10;
  for (auto const size : value_sizes) {
    std::string value(size, 'v');
    for (size_t i = 0; i < size; i += 7) value[i] = static_cast<char>('a' + random.below(26));
    std::vector<HeaderView> const headers = {{"trace", as_bytes("123")}, {"none", std::nullopt}};
    builder.append({.timestamp = time++, .key = as_bytes("key"), .value = as_bytes(value), .headers = headers});
  }
  return builder.build(context);
}

TEST(Validate, EveryChangeOfCodecKeepsTheRecords) {
  CodecContext context;
  for (auto const from : kCodecs) {
    for (auto const to : kCodecs) {
      auto batch = sample(from, {0, 1, 100, 65'529, 65'530, 65'536, 900'000, 3}, context);
      Fault fault;
      auto const before = content_of(BatchView(batch), context, fault);
      ASSERT_FALSE(fault) << fault.message;
      auto rules = big_rules();
      rules.codec = to;
      auto const verdict = validate(batch, rules, Origin::client, kNow, context);
      ASSERT_TRUE(verdict.is_accepted()) << codec_name(from) << " to " << codec_name(to) << ": " << verdict.fault.message;
      EXPECT_EQ(verdict.rebuilt.has_value(), from != to);
      BatchView const after{verdict.rebuilt ? verdict.rebuilt->view() : ByteView(batch)};
      EXPECT_FALSE(check(after));
      EXPECT_EQ(after.codec(), to);
      EXPECT_EQ(verdict.max_timestamp, kNow.ms - 3);
      EXPECT_EQ(content_of(after, context, fault), before);
      EXPECT_FALSE(fault);
    }
  }
}

TEST(Validate, EveryLevelAndTheEmptyStreamAreReadBack) {
  CodecContext context;
  std::string text;
  for (int i = 0; i < 15'000; ++i) text += std::to_string(i * 7919);
  for (auto const codec : kCodecs) {
    auto const range = level_range(codec);
    for (int level = std::max(range.min, -5); level <= range.max; level += level < 9 ? 2 : 4) {
      for (auto const input : {as_bytes(text), as_bytes(text).first(1), ByteView{}}) {
        std::vector<std::byte> packed, unpacked;
        compress(codec, level, input, context, packed);
        auto const status = decompress(codec, packed, {}, context, unpacked);
        ASSERT_TRUE(status.ok()) << codec_name(codec) << ' ' << level << ' ' << status.error().message;
        EXPECT_EQ(as_text(unpacked), as_text(input));
      }
    }
  }
}

// Reads of any size, and streams strung together as some writers make them.
TEST(Validate, StreamsAreReadInPiecesOfAnySize) {
  CodecContext context;
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += std::to_string(i * 31 % 977);
  for (auto const codec : {Codec::gzip, Codec::snappy, Codec::zstd}) {
    std::vector<std::byte> packed;
    compress(codec, default_level(codec), as_bytes(text), context, packed);
    compress(codec, default_level(codec), as_bytes("tail"), context, packed);
    for (size_t const step : {1, 2, 7, 4096, 1'000'000}) {
      auto stream = Decompressor::open(codec, packed, {}, context);
      ASSERT_TRUE(stream.ok());
      std::string out;
      std::vector<std::byte> piece(step);
      while (true) {
        auto const count = stream->read(piece);
        ASSERT_TRUE(count.ok()) << codec_name(codec) << ' ' << step << ' ' << count.error().message;
        if (*count == 0) break;
        out += as_text(ByteView(piece).first(*count));
      }
      EXPECT_EQ(out, text + "tail") << codec_name(codec) << ' ' << step;
    }
  }
}

TEST(Validate, RawSnappyWithoutFramingIsRead) {
  CodecContext context;
  // A literal of five bytes: length 5, tag (5 - 1) << 2.
  auto const raw = bytes_of({5, 16, 'h', 'e', 'l', 'l', 'o'});
  std::vector<std::byte> out;
  ASSERT_TRUE(decompress(Codec::snappy, raw, {}, context, out).ok());
  EXPECT_EQ(as_text(out), "hello");
}

TEST(Validate, HostileVarintsAreRefusedInEveryCodec) {
  struct Case {
    char const* name;
    std::vector<std::byte> payload;
    int32_t count;
  };
  Case const cases[] = {
      {"length of 6 bytes", bytes_of({0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0, 0}), 1},
      {"length cut", bytes_of({0xff, 0xff}), 1},
      {"length zero", bytes_of({0}), 1},
      {"length negative", bytes_of({1, 0, 0, 0, 1, 1, 0}), 1},
      {"length one too many", bytes_of({14, 0, 0, 0, 1, 1, 0}), 1},
      {"length one too few", bytes_of({10, 0, 0, 0, 1, 1, 0}), 1},
      {"length of 2 GiB", bytes_of({0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 1, 1, 0}), 1},
      {"time of 11 bytes", bytes_of({32, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 1, 1, 0}), 1},
      {"offset of 6 bytes", bytes_of({22, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1, 1, 0}), 1},
      {"key longer than the record", bytes_of({12, 0, 0, 0, 126, 1, 0}), 1},
      {"key of 2 GiB", bytes_of({20, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1, 0}), 1},
      {"value longer than the record", bytes_of({12, 0, 0, 0, 1, 126, 0}), 1},
      {"headers negative", bytes_of({12, 0, 0, 0, 1, 1, 1}), 1},
      {"headers of 2 GiB", bytes_of({20, 0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f}), 1},
      {"header without key", bytes_of({16, 0, 0, 0, 1, 1, 2, 1, 1}), 1},
      {"header cut", bytes_of({14, 0, 0, 0, 1, 1, 2, 0}), 1},
      {"no header where one is counted", bytes_of({12, 0, 0, 0, 1, 1, 2}), 1},
      {"bytes after the last record", bytes_of({12, 0, 0, 0, 1, 1, 0, 0}), 1},
      {"a record missing", bytes_of({12, 0, 0, 0, 1, 1, 0}), 2},
      {"two billion records", bytes_of({12, 0, 0, 0, 1, 1, 0}), INT32_MAX},
  };
  CodecContext context;
  for (auto const& c : cases) {
    for (auto const codec : kCodecs) {
      auto batch = wrap_compressed(c.payload, c.count, codec, context);
      auto const verdict = validate(batch, big_rules(), Origin::client, kNow, context);
      // The length of a record is the one place where Kafka does not expect a long varint.
      auto const expected = codec == Codec::none && std::string_view(c.name) == "length of 6 bytes"
                                ? Code::unknown_server_error
                                : Code::invalid_record;
      EXPECT_EQ(verdict.fault.code, expected) << c.name << ' ' << codec_name(codec) << ' ' << verdict.fault.message;
      EXPECT_TRUE(verdict.record_errors.empty());
      Fault fault;
      content_of(BatchView(batch), context, fault);
      EXPECT_TRUE(fault) << c.name << ' ' << codec_name(codec);
    }
  }
  // The same bytes without a fault are accepted, so each refusal above is for its own reason.
  auto good = wrap(bytes_of({12, 0, 0, 0, 1, 1, 0}), 1);
  EXPECT_TRUE(validate(good, big_rules(), Origin::client, kNow, context).is_accepted());
}

TEST(Validate, OffsetsThatDoNotCountUpAreRefused) {
  CodecContext context;
  auto const payload = bytes_of({12, 0, 0, 0, 1, 1, 0, 12, 0, 0, 10, 1, 1, 0});
  auto plain = wrap(payload, 2);
  EXPECT_EQ(validate(plain, big_rules(), Origin::client, kNow, context).fault.code, Code::invalid_record);
  auto packed = wrap_compressed(payload, 2, Codec::lz4, context);
  EXPECT_EQ(validate(packed, big_rules(), Origin::client, kNow, context).fault.code, Code::unknown_server_error);
  // Where the batch is built again they get right offsets, as in Kafka.
  auto rules = big_rules();
  rules.codec = Codec::zstd;
  auto const verdict = validate(packed, rules, Origin::client, kNow, context);
  ASSERT_TRUE(verdict.is_accepted()) << verdict.fault.message;
  Fault fault;
  EXPECT_EQ(content_of(BatchView(verdict.rebuilt->view()), context, fault).offsets, (std::vector<int64_t>{0, 1}));
}

TEST(Validate, RecordErrorsNameTheRecords) {
  CodecContext context;
  for (auto const codec : kCodecs) {
    BatchBuilder builder({.codec = codec});
    builder.append({.timestamp = kNow.ms, .key = as_bytes("k"), .value = std::nullopt, .headers = {}});
    builder.append({.timestamp = kNow.ms, .key = std::nullopt, .value = as_bytes("v"), .headers = {}});
    builder.append({.timestamp = kNow.ms + 3'600'001, .key = as_bytes("k"), .value = std::nullopt, .headers = {}});
    auto batch = builder.build(context);
    auto rules = big_rules();
    rules.is_compacted = true;
    auto verdict = validate(batch, rules, Origin::client, kNow, context);
    EXPECT_EQ(verdict.fault.code, Code::invalid_timestamp);
    ASSERT_EQ(verdict.record_errors.size(), 2u);
    EXPECT_EQ(verdict.record_errors[0].index, 1);
    EXPECT_EQ(verdict.record_errors[0].message,
              "Compacted topic cannot accept message without key in topic partition orders-3");
    EXPECT_EQ(verdict.record_errors[1].index, 2);
    EXPECT_TRUE(verdict.answer_has_message());
    rules.timestamp_after_ms_max = 3'600'001;
    verdict = validate(batch, rules, Origin::client, kNow, context);
    EXPECT_EQ(verdict.fault.code, Code::invalid_record);
    EXPECT_EQ(verdict.record_errors.size(), 1u);
  }
}

TEST(Validate, ErrorsOfAMillionRecordsAreBounded) {
  BatchBuilder builder({});
  for (int i = 0; i < 50'000; ++i) builder.append({.timestamp = kNow.ms, .key = {}, .value = {}, .headers = {}});
  auto batch = builder.build();
  auto rules = big_rules();
  rules.is_compacted = true;
  CodecContext context;
  auto const verdict = validate(batch, rules, Origin::client, kNow, context);
  EXPECT_EQ(verdict.record_errors.size(), kRecordErrorsMax);
  EXPECT_NE(verdict.fault.message.find("due to 50000 record errors"), std::string::npos);
}

// max.message.bytes is about the batch as it is stored: compressed.
TEST(Validate, SizeIsJudgedOnTheCompressedBatch) {
  CodecContext context;
  std::string const ten_megabytes(10 << 20, 'x');
  BatchBuilder builder({.codec = Codec::gzip});
  builder.append({.timestamp = kNow.ms, .key = {}, .value = as_bytes(ten_megabytes), .headers = {}});
  auto batch = builder.build(context);
  auto rules = big_rules();
  rules.batch_bytes_max = 50'000;
  ASSERT_LT(batch.size(), 50'000u);
  EXPECT_TRUE(validate(batch, rules, Origin::client, kNow, context).is_accepted());
  rules.batch_bytes_max = static_cast<int32_t>(batch.size()) - 1;
  auto verdict = validate(batch, rules, Origin::client, kNow, context);
  EXPECT_EQ(verdict.fault.code, Code::message_too_large);
  EXPECT_FALSE(verdict.answer_has_log_start());
  // Written uncompressed it is too large, although it arrived small.
  rules.batch_bytes_max = 50'000;
  rules.codec = Codec::none;
  EXPECT_EQ(validate(batch, rules, Origin::client, kNow, context).fault.code, Code::message_too_large);
}

// A zstd frame of run-length blocks: 4 bytes of input make 128 KiB of output.
std::vector<std::byte> zstd_bomb(ByteView start, size_t blocks) {
  auto out = bytes_of({0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38});  // magic, no content size, window of 128 KiB
  auto const put_block = [&](uint32_t type, size_t size, bool last) {
    auto const head = static_cast<uint32_t>(size) << 3 | type << 1 | (last ? 1 : 0);
    for (int i = 0; i < 3; ++i) out.push_back(static_cast<std::byte>(head >> (8 * i)));
  };
  put_block(0, start.size(), false);
  out.insert(out.end(), start.begin(), start.end());
  for (size_t i = 0; i < blocks; ++i) {
    put_block(1, 128 << 10, i + 1 == blocks);
    out.push_back(std::byte{0});
  }
  return out;
}

int64_t peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Validate, BombsAreRefusedWithoutHoldingThem) {
  CodecContext context;
  auto const before = peak_kib();
  // One record that says it is as large as Kafka allows: length, attributes, time, offset, no key, the value's length.
  std::vector<std::byte> start;
  append_record_start(start, 0, 0, 2'147'483'600);
  append_varint(start, -1);
  append_varint(start, 2'147'483'590);
  auto one = wrap(zstd_bomb(start, 32'768), 1, Codec::zstd);  // 4 GiB in 128 KiB
  EXPECT_LT(one.size(), 1_MiB);
  for (auto const target : {Codec::zstd, Codec::none, Codec::gzip}) {
    auto rules = big_rules();
    rules.codec = target;
    if (target == Codec::gzip) rules.decompressed_bytes_max = 32_MiB;
    auto const verdict = validate(one, rules, Origin::client, kNow, context);
    EXPECT_EQ(verdict.fault.code, Code::message_too_large) << verdict.fault.message;
  }
  auto rules = big_rules();
  rules.record_body_bytes_max = 1'000'000;
  EXPECT_EQ(validate(one, rules, Origin::client, kNow, context).fault.code, Code::invalid_record);
  rules.record_body_bytes_max = 2147483639;
  rules.decompressed_bytes_max = 1'000'000;
  EXPECT_EQ(validate(one, rules, Origin::client, kNow, context).fault.code, Code::message_too_large);
  EXPECT_LT(peak_kib() - before, 100 << 10);  // what fits in batch_bytes_max may be built
}

TEST(Validate, LyingLengthsInsideCodecsAllocateNothing) {
  CodecContext context;
  std::vector<std::byte> out;
  auto const refused = [&](Codec codec, std::vector<std::byte> input) {
    auto const status = decompress(codec, input, {}, context, out);
    EXPECT_FALSE(status.ok()) << codec_name(codec);
    EXPECT_LT(context.memory_bytes(), 2_MiB) << codec_name(codec);
  };
  refused(Codec::snappy, bytes_of({0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'a'}));  // raw, 4 GiB
  refused(Codec::snappy, bytes_of({0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff, 1, 0}));
  refused(Codec::snappy, bytes_of({0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 'a'}));
  refused(Codec::lz4, bytes_of({0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0xff, 0xff, 0xff, 0x7f, 0}));
  refused(Codec::lz4, bytes_of({0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x10, 0, 0, 0, 0}));
  refused(Codec::zstd, bytes_of({0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xb0, 0x01, 0, 0}));  // a window of 4 GiB
  refused(Codec::zstd, bytes_of({0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 0, 0}));  // content of 8 EiB
  refused(Codec::gzip, bytes_of({0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0x01}));
}

TEST(Validate, LogAppendTimeIsStampedIntoTheBatch) {
  CodecContext context;
  for (auto const codec : kCodecs) {
    auto batch = sample(codec, {10, 10}, context);
    auto rules = big_rules();
    rules.timestamp_type = TimestampType::log_append_time;
    auto const verdict = validate(batch, rules, Origin::client, Wall{kNow.ms + 5}, context);
    ASSERT_TRUE(verdict.is_accepted());
    EXPECT_EQ(verdict.log_append_time, kNow.ms + 5);
    BatchView const view{ByteView(batch)};
    EXPECT_FALSE(check(view));
    EXPECT_EQ(view.timestamp_type(), TimestampType::log_append_time);
    EXPECT_EQ(view.max_timestamp(), kNow.ms + 5);
    Fault fault;
    EXPECT_EQ(content_of(view, context, fault).timestamps, (std::vector<int64_t>{kNow.ms + 5, kNow.ms + 5}));
    // A producer must not say so itself.
    auto const again = validate(batch, rules, Origin::client, kNow, context);
    EXPECT_EQ(again.fault.code, Code::invalid_timestamp);
    EXPECT_EQ(again.record_errors.size(), 2u);
  }
}

TEST(Validate, OffsetAndEpochAreSetWithoutANewChecksum) {
  CodecContext context;
  auto batch = sample(Codec::none, {10, 10, 10}, context);
  set_base_offset(batch, Offset(1'000'000'000'007));
  set_leader_epoch(batch, LeaderEpoch(12));
  BatchView const view{ByteView(batch)};
  EXPECT_FALSE(check(view));
  EXPECT_EQ(view.last_offset(), Offset(1'000'000'000'009));
  EXPECT_EQ(view.leader_epoch(), LeaderEpoch(12));
}

// A fetch that starts inside a batch gets the whole batch: it is found by its last offset.
TEST(Batches, AnOffsetInsideABatchFindsIt) {
  std::vector<std::byte> log;
  for (int64_t base : {0, 2, 4}) {
    BatchBuilder builder({.base_offset = Offset(base)});
    for (int i = 0; i < 2; ++i) builder.append({.timestamp = 1, .key = {}, .value = as_bytes("v"), .headers = {}});
    auto const batch = builder.build();
    log.insert(log.end(), batch.begin(), batch.end());
  }
  for (int64_t wanted = 0; wanted < 6; ++wanted) {
    BatchReader reader{ByteView(log)};
    BatchView batch;
    while (reader.next(batch) && batch.last_offset() < Offset(wanted)) {}
    EXPECT_EQ(batch.base_offset(), Offset(wanted / 2 * 2));
  }
}

// Seeded damage with right checksums: whatever is accepted reads back whole, and with count-up offsets.
TEST(Validate, WhatIsAcceptedReadsBack) {
  CodecContext context;
  int accepted = 0;
  int refused = 0;
  for (uint64_t seed = 1; seed <= 2500; ++seed) {
    Random random(seed);
    auto const codec = kCodecs[random.below(5)];
    std::vector<size_t> sizes;
    for (auto left = random.below(6) + 1; left > 0; --left) sizes.push_back(random.below(12) == 0 ? 70'000 : random.below(40));
    auto batch = sample(codec, sizes, context);
    for (auto flips = random.below(4); flips > 0; --flips) {
      auto const from = random.below(3) == 0 ? kAttributesPosition : kRecordCountPosition;
      auto const near = std::min<size_t>(batch.size() - from, random.below(2) == 0 ? 40 : batch.size());
      batch[from + random.below(near)] = static_cast<std::byte>(random.below(256));
    }
    set_crc(batch);
    auto rules = big_rules();
    rules.decompressed_bytes_max = 4_MiB;
    if (random.below(3) == 0) rules.codec = kCodecs[random.below(5)];
    if (random.below(4) == 0) rules.timestamp_type = TimestampType::log_append_time;
    auto const verdict = validate(batch, rules, Origin::client, kNow, context);
    if (!verdict.is_accepted()) {
      ++refused;
      continue;
    }
    ++accepted;
    BatchView const after{verdict.rebuilt ? verdict.rebuilt->view() : ByteView(batch)};
    ASSERT_FALSE(check(after)) << seed;
    Fault fault;
    auto const content = content_of(after, context, fault);
    ASSERT_FALSE(fault) << "seed " << seed << ": " << fault.message;
    ASSERT_EQ(content.offsets.size(), static_cast<size_t>(verdict.record_count)) << seed;
    for (size_t i = 0; i < content.offsets.size(); ++i) ASSERT_EQ(content.offsets[i], static_cast<int64_t>(i)) << seed;
  }
  EXPECT_GT(accepted, 250);
  EXPECT_GT(refused, 250);
}

TEST(Control, MarkersAreWrittenAndRead) {
  auto const batch = build_end_transaction({.base_offset = Offset(44), .producer_id = ProducerId(7),
                                            .producer_epoch = ProducerEpoch(3)},
                                           ControlType::abort, 5, 9);
  BatchView const view{ByteView(batch)};
  EXPECT_TRUE(view.is_control());
  EXPECT_TRUE(view.is_transactional());
  RecordReader reader(view, view.payload());
  RecordView record;
  ASSERT_TRUE(reader.next(record));
  ControlType type{};
  int32_t epoch = 0;
  EXPECT_FALSE(read_control_type(record, type));
  EXPECT_EQ(type, ControlType::abort);
  EXPECT_FALSE(read_end_transaction(record, epoch));
  EXPECT_EQ(epoch, 9);
  record.key = as_bytes("abc");
  EXPECT_TRUE(read_control_type(record, type));
}

}  // namespace
}  // namespace millrace::record
