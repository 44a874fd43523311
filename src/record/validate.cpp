#include "millrace/record/validate.h"

#include "millrace/record/builder.h"
#include "record_stream.h"

namespace millrace::record {

namespace {

constexpr int kZstdSinceProduceVersion = 7;

// The tests that each record passes on its own, and what is learned from all of them.
class RecordChecks {
 public:
  RecordChecks(BatchView batch, TopicRules const& rules, Wall now) : rules_(rules), now_(now.ms), batch_(batch) {
    // A batch that says log append time has one time for all its records.
    source_has_append_time_ = batch.timestamp_type() == TimestampType::log_append_time;
    base_timestamp_ = batch.base_timestamp();
  }

  int64_t timestamp_of(int64_t delta) const {
    return source_has_append_time_ ? batch_.max_timestamp() : wrapping_sum(base_timestamp_, delta);
  }

  void check(int64_t timestamp, int32_t offset_delta, bool has_key) {
    auto const index = count_++;
    if (rules_.is_compacted && !has_key) [[unlikely]] return add_missing_key(index);
    if (rules_.timestamp_type == TimestampType::create_time && timestamp != kNoTimestamp) [[likely]] {
      auto const age = wrapping_difference(now_, timestamp);
      if (age > rules_.timestamp_before_ms_max || wrapping_difference(0, age) > rules_.timestamp_after_ms_max) [[unlikely]] {
        return add_bad_time(index, timestamp, offset_delta);
      }
    } else if (source_has_append_time_) [[unlikely]] {
      return add_bad_type(index, timestamp, offset_delta);
    }
    max_timestamp_ = std::max(max_timestamp_, timestamp);
    offsets_count_up_ &= offset_delta == index;
    has_negative_timestamp_ |= timestamp < kNoTimestamp;
  }

  int64_t max_timestamp() const { return max_timestamp_; }
  bool offsets_count_up() const { return offsets_count_up_; }
  bool has_negative_timestamp() const { return has_negative_timestamp_; }

  // Moves what was found into the verdict. True if some record was refused.
  bool report(Verdict& verdict) {
    if (errors_.empty()) return false;
    if (has_time_error_) {
      verdict.fault = {Code::invalid_timestamp, "One or more records have been rejected due to invalid timestamp"};
    } else {
      std::string shown;
      for (auto const& error : std::span(errors_).first(std::min<size_t>(errors_.size(), 3))) {
        if (!shown.empty()) shown += ", ";
        shown += fmt::format("RecordError(batchIndex={}, message='{}')", error.index, error.message);
      }
      verdict.fault = {Code::invalid_record,
                       fmt::format("One or more records have been rejected due to {} record errors in total, and only "
                                   "showing the first three errors at most: [{}]", error_count_, shown)};
    }
    verdict.record_errors = std::move(errors_);
    return true;
  }

 private:
  [[gnu::noinline]] void add(int32_t index, std::string message) {
    ++error_count_;
    if (errors_.size() < kRecordErrorsMax) errors_.push_back({index, std::move(message)});
  }
  [[gnu::noinline]] void add_missing_key(int32_t index) {
    add(index, fmt::format("Compacted topic cannot accept message without key in topic partition {}", rules_.partition));
  }
  [[gnu::noinline]] void add_bad_time(int32_t index, int64_t timestamp, int32_t offset_delta) {
    has_time_error_ = true;
    add(index, fmt::format("Timestamp {} of message with offset {} is out of range. The timestamp should be within "
                           "[{}, {}]", timestamp, wrapping_sum(batch_.base_offset().value, offset_delta),
                           wrapping_difference(now_, rules_.timestamp_before_ms_max),
                           wrapping_sum(now_, rules_.timestamp_after_ms_max)));
  }
  [[gnu::noinline]] void add_bad_type(int32_t index, int64_t timestamp, int32_t offset_delta) {
    has_time_error_ = true;
    add(index, fmt::format("Invalid timestamp type in message with offset {} and timestamp {}. Producer should not set "
                           "timestamp type to LogAppendTime.",
                           wrapping_sum(batch_.base_offset().value, offset_delta), timestamp));
  }

  TopicRules const& rules_;
  int64_t now_;
  BatchView batch_;
  bool source_has_append_time_;
  int64_t base_timestamp_;
  int32_t count_ = 0;
  int64_t max_timestamp_ = kNoTimestamp;
  bool offsets_count_up_ = true;
  bool has_negative_timestamp_ = false;
  bool has_time_error_ = false;
  size_t error_count_ = 0;
  std::vector<RecordError> errors_;
};

struct NoSink {
  void start(int64_t, int32_t, size_t) {}
  void tail(ByteView) {}
};

// Writes the records that pass through it as a new batch, with offsets 0, 1, 2, ...
class RebuildingSink {
 public:
  RebuildingSink(RecordChecks const& checks, Codec codec, int level, size_t batch_bytes_max, CodecContext& context)
      : checks_(checks),
        codec_(codec),
        batch_(kBatchHeaderBytes),
        writer_(codec, level, batch_, batch_bytes_max - std::min(batch_bytes_max, kBatchHeaderBytes), context) {}

  void start(int64_t timestamp_delta, int32_t, size_t tail_bytes) {
    auto const timestamp = checks_.timestamp_of(timestamp_delta);
    if (count_ == 0) base_timestamp_ = timestamp;
    start_.clear();
    append_record_start(start_, wrapping_difference(timestamp, base_timestamp_), count_, tail_bytes);
    writer_.write(start_);
    ++count_;
  }
  void tail(ByteView bytes) { writer_.write(bytes); }

  // Null if it is larger than the limit.
  std::optional<SharedBytes> finish(BatchView original, TimestampType type, int64_t max_timestamp) {
    if (!writer_.finish()) return std::nullopt;
    auto attributes = static_cast<int16_t>(codec_);
    if (type == TimestampType::log_append_time) attributes |= attribute::kLogAppendTime;
    if (original.is_transactional()) attributes |= attribute::kTransactional;
    write_header(batch_, {.base_offset = Offset(0),
                          .leader_epoch = original.leader_epoch(),
                          .attributes = attributes,
                          .last_offset_delta = count_ - 1,
                          .base_timestamp = base_timestamp_,
                          .max_timestamp = max_timestamp,
                          .producer_id = original.producer_id(),
                          .producer_epoch = original.producer_epoch(),
                          .base_sequence = original.base_sequence(),
                          .record_count = count_});
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(batch_));
    MutableByteView const view(*owner);
    return SharedBytes(std::move(owner), view);
  }

 private:
  RecordChecks const& checks_;
  Codec codec_;
  std::vector<std::byte> batch_;
  std::vector<std::byte> start_;
  Compressor writer_;
  int32_t count_ = 0;
  int64_t base_timestamp_ = kNoTimestamp;
};

template <class Sink>
Fault walk_plain(BatchView batch, RecordChecks& checks, Sink& sink) {
  auto const payload = batch.payload();
  auto const* at = payload.data();
  auto const* const end = at + payload.size();
  auto const count = batch.record_count();
  ScannedRecord record;
  for (int32_t i = 0; i < count; ++i) {
    if (auto const outcome = scan_record(at, end, record); outcome != ScannedRecord::Outcome::ok) [[unlikely]] {
      return scan_fault(outcome);
    }
    at = record.end;
    // Kafka looks for left-over bytes before it judges the last record.
    if (i + 1 == count && at != end) break;
    sink.start(record.timestamp_delta, record.offset_delta, static_cast<size_t>(record.end - record.tail));
    sink.tail({record.tail, record.end});
    checks.check(checks.timestamp_of(record.timestamp_delta), record.offset_delta, record.key_bytes >= 0);
  }
  if (count > 0 && at != end) {
    return {Code::invalid_record, "Incorrect declared batch size, records still remaining in file"};
  }
  return {};
}

// The common case in one pass over registers: every record of a plain batch is in order. If not, nothing is said about
// what is wrong; walk_plain() finds it.
bool is_plainly_right(BatchView batch, TopicRules const& rules, Wall now, int64_t& max_timestamp) {
  if (batch.timestamp_type() != TimestampType::create_time) return false;
  auto const payload = batch.payload();
  auto const* at = payload.data();
  auto const* const end = at + payload.size();
  auto const base = batch.base_timestamp();
  auto const count = batch.record_count();
  int64_t earliest = INT64_MAX;
  int64_t latest = INT64_MIN;
  int32_t null_keys = 0;
  int32_t offset_slips = 0;
  ScannedRecord record;
  for (int32_t i = 0; i < count; ++i) {
    if (scan_record(at, end, record) != ScannedRecord::Outcome::ok) [[unlikely]] return false;
    at = record.end;
    auto const timestamp = wrapping_sum(base, record.timestamp_delta);
    earliest = std::min(earliest, timestamp);
    latest = std::max(latest, timestamp);
    null_keys |= record.key_bytes;
    offset_slips |= record.offset_delta ^ i;
  }
  if (count == 0 || at != end || offset_slips != 0) return false;
  if (rules.is_compacted && null_keys < 0) return false;
  if (earliest < 0) return false;  // special times, and none of the differences below can leave its range
  max_timestamp = latest;
  if (rules.timestamp_type != TimestampType::create_time) return true;
  return now.ms >= 0 && now.ms - earliest <= rules.timestamp_before_ms_max &&
         latest - now.ms <= rules.timestamp_after_ms_max;
}

template <class Sink>
Fault walk_stream(BatchView batch, TopicRules const& rules, RecordChecks& checks, Sink& sink, CodecContext& context) {
  auto const count = batch.record_count();
  if (count == 0) return {};
  auto source = Decompressor::open(*batch.codec(), batch.payload(), {.output_bytes_max = rules.decompressed_bytes_max},
                                   context);
  if (!source) return decompression_fault(source.error());
  RecordStream stream(*source, context.scratch(), rules.record_body_bytes_max);
  RecordStream::Head head;
  for (int32_t i = 0; i < count; ++i) {
    if (auto fault = stream.next(head, sink)) return fault;
    if (i + 1 == count) {
      if (auto fault = stream.finish()) return fault;
    }
    checks.check(checks.timestamp_of(head.timestamp_delta), head.offset_delta, head.has_key);
  }
  return {};
}

template <class Sink>
Fault walk(BatchView batch, TopicRules const& rules, RecordChecks& checks, Sink& sink, CodecContext& context) {
  return batch.is_compressed() ? walk_stream(batch, rules, checks, sink, context) : walk_plain(batch, checks, sink);
}

Codec target_codec(BatchView batch, TopicRules const& rules) {
  auto const source = *batch.codec();
  if (batch.record_count() == 0) return source;
  // Control records are never compressed unless they came so.
  if (source == Codec::none && batch.is_control()) return source;
  return rules.codec.value_or(source);
}

}  // namespace

FirstBatch look_at_first_batch(ByteView records) {
  BatchReader reader(records);
  BatchView batch;
  if (!reader.next(batch)) return {reader.fault(), false};
  return {{}, batch.magic() == kMagicMax && batch.is_transactional()};
}

RequestCheck check_produce_records(ByteView records, int produce_version) {
  BatchReader reader(records);
  RequestCheck out;
  auto const failed = [&](Fault fault) {
    out.fails_request = fault.code == Code::unknown_server_error;
    out.fault = std::move(fault);
    return out;
  };
  auto const invalid = [&](std::string_view what) {
    return failed({Code::invalid_record, fmt::format("Produce requests with version {} {}", produce_version, what)});
  };
  if (!reader.next(out.batch)) {
    if (reader.fault()) return failed(reader.fault());
    return invalid("must have at least one record batch per partition");
  }
  if (out.batch.magic() != kMagicMax) return invalid("are only allowed to contain record batches with magic version 2");
  if (produce_version < kZstdSinceProduceVersion) {
    auto const codec = out.batch.codec();
    if (!codec) return failed({Code::unknown_server_error, fmt::format("Unknown compression type id: {}", out.batch.codec_id())});
    if (*codec == Codec::zstd) {
      return failed({Code::unsupported_compression_type,
                     fmt::format("Produce requests with version {} are not allowed to use ZStandard compression",
                                 produce_version)});
    }
  }
  BatchView second;
  if (reader.next(second)) return invalid("are only allowed to contain exactly one record batch per partition");
  if (reader.fault()) return failed(reader.fault());
  if (out.batch.size_bytes() < kProducerEpochPosition) {
    // Kafka looks for the producer id of every batch before it checks any.
    return failed({Code::unknown_server_error, fmt::format("A batch of {} bytes has no producer id", out.batch.size_bytes())});
  }
  return out;
}

Fault validate_header(BatchView batch, TopicRules const& rules, Origin origin) {
  MR_ASSERT(batch.magic() == kMagicMax);
  auto const invalid = [&](std::string what) -> Fault {
    return {Code::invalid_record, fmt::format("{} in topic partition {}", what, rules.partition)};
  };
  auto const base_offset = batch.base_offset();
  if (origin == Origin::client && base_offset.value != 0) {
    return {Code::invalid_record, fmt::format("The baseOffset of the record batch in the append to {} should be 0, but "
                                              "it is {}", rules.partition, base_offset)};
  }
  if (batch.size_bytes() > static_cast<size_t>(rules.batch_bytes_max)) {
    return {Code::message_too_large, fmt::format("The record batch size in the append to {} is {} bytes which exceeds "
                                                 "the maximum configured value of {}).", rules.partition,
                                                 batch.size_bytes(), rules.batch_bytes_max)};
  }
  if (batch.size_bytes() < kBatchHeaderBytes || batch.crc() != batch.computed_crc()) {
    return {Code::corrupt_message,
            fmt::format("Record is corrupt (stored crc = {}) in topic partition {}.", batch.crc(), rules.partition)};
  }
  if (!batch.codec()) {
    return {Code::unknown_server_error, fmt::format("Unknown compression type id: {}", batch.codec_id())};
  }
  if (origin != Origin::client) {
    if (batch.record_count() < 0) return invalid(fmt::format("Found invalid record count {}", batch.record_count()));
    return {};
  }
  auto const last_offset = batch.last_offset();
  auto const by_offsets = int64_t{batch.last_offset_delta()} + 1;
  int64_t const count = batch.record_count();
  if (by_offsets <= 0) return invalid(fmt::format("Batch has an invalid offset range: [{}, {}]", base_offset, last_offset));
  if (count <= 0) return invalid(fmt::format("Invalid reported count for record batch: {}", count));
  if (by_offsets != count) {
    return invalid(fmt::format("Inconsistent batch offset range [{}, {}] and count of records {}", base_offset,
                               last_offset, count));
  }
  if (batch.is_control()) return invalid("Clients are not allowed to write control records");
  if (batch.has_producer_id() && batch.base_sequence() < 0) {
    return invalid(fmt::format("Invalid sequence number {} in record batch with producerId {}", batch.base_sequence(),
                               batch.producer_id()));
  }
  return {};
}

bool is_dear(BatchView batch, TopicRules const& rules) {
  MR_ASSERT(batch.codec().has_value());
  if (target_codec(batch, rules) != *batch.codec()) return true;
  return batch.is_compressed() && (rules.depth == Depth::records || rules.is_compacted);
}

Verdict validate_records(MutableByteView bytes, TopicRules const& rules, Origin origin, Wall now,
                         CodecContext& context) {
  BatchView const batch(bytes);
  MR_ASSERT(batch.has_header());
  MR_ASSERT(batch.codec().has_value());
  Verdict verdict;
  verdict.record_count = batch.record_count();
  bool const append_time = rules.timestamp_type == TimestampType::log_append_time;
  if (append_time) verdict.log_append_time = now.ms;
  auto const codec = target_codec(batch, rules);
  auto const refuse = [&](Code code, std::string message) {
    verdict.fault = {code, std::move(message)};
    return std::move(verdict);
  };

  RecordChecks checks(batch, rules, now);
  if (codec != *batch.codec()) {
    RebuildingSink sink(checks, codec, rules.codec_level.value_or(default_level(codec)),
                        static_cast<size_t>(rules.batch_bytes_max), context);
    verdict.fault = walk(batch, rules, checks, sink, context);
    context.shed();
    if (verdict.fault || checks.report(verdict)) return verdict;
    if (checks.has_negative_timestamp()) return refuse(Code::unknown_server_error, "Invalid negative timestamp");
    verdict.max_timestamp = append_time ? now.ms : checks.max_timestamp();
    verdict.rebuilt = sink.finish(batch, rules.timestamp_type, verdict.max_timestamp);
    if (!verdict.rebuilt) {
      return refuse(Code::message_too_large, fmt::format("Message batch size in append to partition {} exceeds the "
                                                         "maximum configured size of {}.", rules.partition,
                                                         rules.batch_bytes_max));
    }
    return verdict;
  }

  if (rules.depth != Depth::records && !rules.is_compacted) {
    verdict.max_timestamp = batch.max_timestamp();
  } else if (batch.is_compressed() || !is_plainly_right(batch, rules, now, verdict.max_timestamp)) {
    NoSink sink;
    verdict.fault = walk(batch, rules, checks, sink, context);
    if (batch.is_compressed()) context.shed();
    if (verdict.fault || checks.report(verdict)) return verdict;
    if (!checks.offsets_count_up() && origin == Origin::client) {
      // Of compressed batches Kafka finds this out too, but trips over it.
      return refuse(batch.is_compressed() ? Code::unknown_server_error : Code::invalid_record,
                    fmt::format("Offsets of the records do not count up from 0 in topic partition {}", rules.partition));
    }
    verdict.max_timestamp = checks.max_timestamp();
  }
  if (append_time) verdict.max_timestamp = now.ms;
  set_max_timestamp(bytes, rules.timestamp_type, verdict.max_timestamp);
  return verdict;
}

Verdict validate(MutableByteView batch, TopicRules const& rules, Origin origin, Wall now, CodecContext& context) {
  if (auto fault = validate_header(BatchView(batch), rules, origin)) {
    Verdict verdict;
    verdict.fault = std::move(fault);
    return verdict;
  }
  return validate_records(batch, rules, origin, now, context);
}

}  // namespace millrace::record
