#include "millrace/record/record.h"

namespace millrace::record {

namespace {

std::optional<ByteView> optional_view(std::byte const* bytes, int32_t count) {
  if (count < 0) return std::nullopt;
  return ByteView(bytes, static_cast<size_t>(count));
}

}  // namespace

Fault scan_fault(ScannedRecord::Outcome outcome) {
  using Outcome = ScannedRecord::Outcome;
  switch (outcome) {
    case Outcome::ok: return {};
    // An exception that Kafka does not expect at this one place.
    case Outcome::length_too_long: return {Code::unknown_server_error, "Varint is too long: the length of a record"};
    case Outcome::incomplete: return {Code::invalid_record, "Incorrect declared batch size, premature EOF reached"};
    case Outcome::malformed: break;
  }
  return {Code::invalid_record, "Found invalid record structure"};
}

Fault decompression_fault(Error const& error) {
  auto const code = error.kind == ErrorKind::limit ? Code::message_too_large : Code::unknown_server_error;
  return {code, "Failed to decompress record stream: " + error.message};
}

Fault open_records(BatchView batch, DecompressLimits const& limits, CodecContext& context,
                   std::vector<std::byte>& scratch, ByteView& records) {
  auto const codec = batch.codec();
  if (!codec) {
    return {Code::unknown_server_error, fmt::format("Unknown compression type id: {}", batch.codec_id())};
  }
  if (*codec == Codec::none) {
    records = batch.payload();
    return {};
  }
  if (auto status = decompress(*codec, batch.payload(), limits, context, scratch); !status) {
    return decompression_fault(status.error());
  }
  records = scratch;
  return {};
}

RecordReader::RecordReader(BatchView batch, ByteView records)
    : rest_(records),
      count_(batch.record_count()),
      base_offset_(batch.base_offset().value),
      base_timestamp_(batch.base_timestamp()) {
  if (batch.timestamp_type() == TimestampType::log_append_time) log_append_time_ = batch.max_timestamp();
  if (count_ < 0) {
    fault_ = {Code::invalid_record, fmt::format("Found invalid record count {} in magic v2 batch", count_)};
  }
}

bool RecordReader::next(RecordView& record) {
  if (fault_ || done_ == count_) return false;
  ScannedRecord scanned;
  fault_ = scan_fault(scan_record(rest_.data(), rest_.data() + rest_.size(), scanned));
  if (fault_) return false;
  ++done_;
  record.offset_delta = scanned.offset_delta;
  record.offset = Offset(wrapping_sum(base_offset_, scanned.offset_delta));
  record.timestamp_delta = scanned.timestamp_delta;
  record.timestamp = log_append_time_ ? *log_append_time_ : wrapping_sum(base_timestamp_, scanned.timestamp_delta);
  record.key = optional_view(scanned.key, scanned.key_bytes);
  record.value = optional_view(scanned.value, scanned.value_bytes);
  record.header_count = scanned.header_count;
  record.headers = {scanned.headers, scanned.end};
  record.tail = {scanned.tail, scanned.end};
  record.size_bytes = static_cast<size_t>(scanned.end - rest_.data());
  rest_ = rest_.subspan(record.size_bytes);
  if (done_ == count_ && !rest_.empty()) {
    fault_ = {Code::invalid_record, "Incorrect declared batch size, records still remaining in file"};
    return false;
  }
  return true;
}

bool HeaderReader::next(HeaderView& header) {
  if (left_ == 0) return false;
  --left_;
  auto const* at = rest_.data();
  auto const* const end = at + rest_.size();
  int32_t size = 0;
  std::byte const* bytes = nullptr;
  MR_ASSERT(detail::scan_sized(at, end, size, bytes));
  header.key = as_text(ByteView(bytes, static_cast<size_t>(size)));
  MR_ASSERT(detail::scan_sized(at, end, size, bytes));
  header.value = optional_view(bytes, size);
  rest_ = {at, end};
  return true;
}

Fault read_control_type(RecordView const& record, ControlType& type) {
  constexpr size_t kKeyBytes = 4;  // version, type
  if (!record.key || record.key->size() < kKeyBytes) {
    return {Code::invalid_record, fmt::format("Invalid value size found for control record key. Must have at least {} "
                                              "bytes, but found only {}", kKeyBytes, record.key ? record.key->size() : 0)};
  }
  auto const version = load_be<int16_t>(record.key->data());
  if (version < 0) {
    return {Code::invalid_record,
            fmt::format("Invalid version found for control record: {}. May indicate data corruption", version)};
  }
  auto const id = load_be<int16_t>(record.key->data() + 2);
  type = id >= 0 && id <= static_cast<int16_t>(ControlType::kraft_voters) ? static_cast<ControlType>(id)
                                                                           : ControlType::unknown;
  return {};
}

Fault read_end_transaction(RecordView const& record, int32_t& coordinator_epoch) {
  constexpr size_t kValueBytes = 6;  // version, coordinator epoch
  if (!record.value || record.value->size() < kValueBytes || load_be<int16_t>(record.value->data()) < 0) {
    return {Code::invalid_record, "Invalid end transaction marker. May indicate data corruption"};
  }
  coordinator_epoch = load_be<int32_t>(record.value->data() + 2);
  return {};
}

}  // namespace millrace::record
