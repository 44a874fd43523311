#include "record_stream.h"

namespace millrace::record {

bool RecordStream::need(size_t count) {
  if (available() >= count) return true;
  if (ended_) return false;
  auto const kept = available();
  auto* const start = window_->data();
  std::memmove(start, at_, kept);
  at_ = start;
  end_ = start + kept;
  while (available() < count) {
    auto const filled = available();
    auto const got = source_->read(MutableByteView(*window_).subspan(filled));
    if (!got || *got == 0) {
      ended_ = true;
      if (!got) fault_ = decompression_fault(got.error());
      return false;
    }
    end_ += *got;
  }
  return true;
}

Fault RecordStream::why_short() const {
  return fault_ ? fault_ : scan_fault(ScannedRecord::Outcome::incomplete);
}

Fault RecordStream::too_large(int32_t body_bytes) {
  return {Code::invalid_record,
          fmt::format("Invalid record size: {} exceeds the configured maximum record size.", body_bytes)};
}

Fault RecordStream::make_whole(ScannedRecord::Outcome& outcome, ScannedRecord& record) {
  using Outcome = ScannedRecord::Outcome;
  if (outcome == Outcome::incomplete) {
    need(kVarint32BytesMax);
    if (available() == 0) return why_short();
    auto const* at = at_;
    int32_t body_bytes = 0;
    if (detail::scan_varint(at, end_, body_bytes)) {
      if (body_bytes > body_bytes_max_) return too_large(body_bytes);
      auto const whole = static_cast<size_t>(at - at_) + static_cast<size_t>(std::max(body_bytes, 0));
      if (whole > window_->size()) return {};
      if (!need(whole)) return why_short();
    } else if (static_cast<size_t>(end_ - at_) < kVarint32BytesMax) {
      return why_short();
    }
    outcome = scan_record(at_, end_, record);
  }
  // In a stream Kafka expects every one of these.
  if (outcome != Outcome::ok) return {Code::invalid_record, scan_fault(Outcome::malformed).message};
  return {};
}

Fault RecordStream::read_number(int32_t& value, size_t& left) {
  need(kVarint32BytesMax);
  auto const* const start = at_;
  auto const* const end = at_ + std::min(available(), left);
  if (!detail::scan_varint(at_, end, value)) {
    return available() < left && ended_ ? why_short() : scan_fault(ScannedRecord::Outcome::malformed);
  }
  left -= static_cast<size_t>(at_ - start);
  return {};
}

Fault RecordStream::read_number(int64_t& value, size_t& left) {
  need(kVarint64BytesMax);
  auto const* const start = at_;
  auto const* const end = at_ + std::min(available(), left);
  if (!detail::scan_varlong(at_, end, value)) {
    return available() < left && ended_ ? why_short() : scan_fault(ScannedRecord::Outcome::malformed);
  }
  left -= static_cast<size_t>(at_ - start);
  return {};
}

Fault RecordStream::finish() {
  if (need(1)) return {Code::invalid_record, "Incorrect declared batch size, records still remaining in file"};
  return fault_;
}

}  // namespace millrace::record
