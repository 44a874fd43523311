#include "millrace/record/builder.h"

#include <limits>

namespace millrace::record {

namespace {

void put(std::vector<std::byte>& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

void put_uvarint(std::vector<std::byte>& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

size_t sized_bytes(std::optional<ByteView> const& bytes) {
  if (!bytes) return 1;
  MR_ASSERT(bytes->size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  return varint_bytes(static_cast<int32_t>(bytes->size())) + bytes->size();
}

void put_sized(std::vector<std::byte>& out, std::optional<ByteView> const& bytes) {
  append_varint(out, bytes ? static_cast<int32_t>(bytes->size()) : -1);
  if (bytes) put(out, *bytes);
}

}  // namespace

void append_varint(std::vector<std::byte>& out, int32_t value) { put_uvarint(out, zigzag(value)); }

void append_record_start(std::vector<std::byte>& out, int64_t timestamp_delta, int32_t offset_delta,
                         size_t tail_bytes) {
  auto const body_bytes = 1 + varlong_bytes(timestamp_delta) + varint_bytes(offset_delta) + tail_bytes;
  MR_ASSERT(body_bytes <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  append_varint(out, static_cast<int32_t>(body_bytes));
  out.push_back(std::byte{0});
  put_uvarint(out, zigzag(timestamp_delta));
  append_varint(out, offset_delta);
}

BatchBuilder::BatchBuilder(BatchOptions const& options) : options_(options), next_offset_(options.base_offset) {
  if (options_.delete_horizon_ms) base_timestamp_ = *options_.delete_horizon_ms;
}

void BatchBuilder::begin_record(Offset offset, int64_t timestamp, size_t tail_bytes) {
  MR_ASSERT(offset >= next_offset_);
  auto const delta = offset - options_.base_offset;
  MR_ASSERT(delta <= std::numeric_limits<int32_t>::max());
  if (count_ == 0 && !options_.delete_horizon_ms) base_timestamp_ = timestamp;
  append_record_start(records_, wrapping_difference(timestamp, base_timestamp_), static_cast<int32_t>(delta), tail_bytes);
  next_offset_ = offset + 1;
  max_timestamp_ = std::max(max_timestamp_, timestamp);
  ++count_;
}

void BatchBuilder::append(NewRecord const& record) { append_at(next_offset_, record); }

void BatchBuilder::append_at(Offset offset, NewRecord const& record) {
  auto tail_bytes = sized_bytes(record.key) + sized_bytes(record.value) +
                    varint_bytes(static_cast<int32_t>(record.headers.size()));
  for (auto const& header : record.headers) tail_bytes += sized_bytes(as_bytes(header.key)) + sized_bytes(header.value);
  begin_record(offset, record.timestamp, tail_bytes);
  put_sized(records_, record.key);
  put_sized(records_, record.value);
  append_varint(records_, static_cast<int32_t>(record.headers.size()));
  for (auto const& header : record.headers) {
    put_sized(records_, as_bytes(header.key));
    put_sized(records_, header.value);
  }
}

void BatchBuilder::append_copy(RecordView const& record) {
  begin_record(record.offset, record.timestamp, record.tail.size());
  put(records_, record.tail);
}

std::vector<std::byte> BatchBuilder::build() {
  MR_ASSERT(options_.codec == Codec::none);
  CodecContext unused;
  return build(unused);
}

std::vector<std::byte> BatchBuilder::build(CodecContext& context) {
  MR_ASSERT(count_ > 0 || options_.last_offset);
  std::vector<std::byte> batch(kBatchHeaderBytes);
  batch.reserve(kBatchHeaderBytes + (options_.codec == Codec::none ? records_.size() : records_.size() / 2));
  if (count_ == 0 || options_.codec == Codec::none) {
    put(batch, records_);
  } else {
    compress(options_.codec, options_.codec_level.value_or(default_level(options_.codec)), records_, context, batch);
  }
  auto attributes = static_cast<int16_t>(count_ == 0 ? Codec::none : options_.codec);
  if (options_.log_append_time) attributes |= attribute::kLogAppendTime;
  if (options_.is_transactional) attributes |= attribute::kTransactional;
  if (options_.is_control) attributes |= attribute::kControl;
  if (options_.delete_horizon_ms) attributes |= attribute::kDeleteHorizon;
  auto const last_offset = options_.last_offset.value_or(next_offset_ - 1);
  MR_ASSERT(last_offset + 1 >= next_offset_);
  write_header(batch, {.base_offset = options_.base_offset,
                       .leader_epoch = options_.leader_epoch,
                       .attributes = attributes,
                       .last_offset_delta = static_cast<int32_t>(last_offset - options_.base_offset),
                       .base_timestamp = base_timestamp_,
                       .max_timestamp = options_.log_append_time ? *options_.log_append_time
                                                                 : options_.max_timestamp.value_or(max_timestamp_),
                       .producer_id = options_.producer_id,
                       .producer_epoch = options_.producer_epoch,
                       .base_sequence = options_.base_sequence,
                       .record_count = count_});
  return batch;
}

void write_header(MutableByteView batch, HeaderFields const& fields) {
  MR_ASSERT(batch.size() >= kBatchHeaderBytes);
  MR_ASSERT(batch.size() - kLogOverheadBytes <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  auto* at = batch.data();
  store_be(at + kBaseOffsetPosition, fields.base_offset.value);
  store_be(at + kLengthPosition, static_cast<int32_t>(batch.size() - kLogOverheadBytes));
  store_be(at + kLeaderEpochPosition, fields.leader_epoch.value);
  store_be(at + kMagicPosition, kMagicMax);
  store_be(at + kAttributesPosition, fields.attributes);
  store_be(at + kLastOffsetDeltaPosition, fields.last_offset_delta);
  store_be(at + kBaseTimestampPosition, fields.base_timestamp);
  store_be(at + kMaxTimestampPosition, fields.max_timestamp);
  store_be(at + kProducerIdPosition, fields.producer_id.value);
  store_be(at + kProducerEpochPosition, fields.producer_epoch.value);
  store_be(at + kBaseSequencePosition, fields.base_sequence);
  store_be(at + kRecordCountPosition, fields.record_count);
  set_crc(batch);
}

std::array<std::byte, 4> control_key(ControlType type) {
  MR_ASSERT(type != ControlType::unknown);
  std::array<std::byte, 4> key{};
  store_be(key.data() + 2, static_cast<int16_t>(type));
  return key;
}

std::array<std::byte, 6> end_transaction_value(int32_t coordinator_epoch) {
  std::array<std::byte, 6> value{};
  store_be(value.data() + 2, coordinator_epoch);
  return value;
}

std::vector<std::byte> build_control_batch(BatchOptions options, ControlType type, int64_t timestamp, ByteView value) {
  options.is_control = true;
  auto const key = control_key(type);
  BatchBuilder builder(options);
  builder.append({.timestamp = timestamp, .key = ByteView(key), .value = value, .headers = {}});
  return builder.build();
}

std::vector<std::byte> build_end_transaction(BatchOptions options, ControlType type, int64_t timestamp,
                                             int32_t coordinator_epoch) {
  MR_ASSERT(type == ControlType::commit || type == ControlType::abort);
  options.is_transactional = true;
  auto const value = end_transaction_value(coordinator_epoch);
  return build_control_batch(options, type, timestamp, value);
}

}  // namespace millrace::record
