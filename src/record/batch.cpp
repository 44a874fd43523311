#include "millrace/record/batch.h"

#include <limits>

#include "millrace/bytes/crc32c.h"
#include "millrace/record/legacy.h"

namespace millrace::record {

int32_t increment_sequence(int32_t sequence, int32_t increment) {
  constexpr auto kMax = std::numeric_limits<int32_t>::max();
  auto const sum = static_cast<int64_t>(sequence) + increment;
  return static_cast<int32_t>(sum > kMax ? sum - kMax - 1 : sum);
}

uint32_t BatchView::computed_crc() const { return crc32c(bytes_.subspan(kAttributesPosition)); }

Fault check(BatchView batch) {
  if (batch.magic() < kMagicMax) return check_legacy(batch);
  if (batch.size_bytes() < kBatchHeaderBytes) {
    return {Code::corrupt_message, fmt::format("Record batch is corrupt (the size {} is smaller than the minimum allowed "
                                               "overhead {})", batch.size_bytes(), kBatchHeaderBytes)};
  }
  if (auto const computed = batch.computed_crc(); computed != batch.crc()) {
    return {Code::corrupt_message,
            fmt::format("Record is corrupt (stored crc = {}, computed crc = {})", batch.crc(), computed)};
  }
  return {};
}

Fault read_prefix(ByteView bytes, BatchPrefix& prefix) {
  MR_ASSERT(bytes.size() >= kBatchPrefixBytes);
  auto const length = load_be<int32_t>(bytes.data() + kLengthPosition);
  if (length < kLengthMin) {
    return {Code::corrupt_message,
            fmt::format("Record size {} is less than the minimum record overhead ({})", length, kLengthMin)};
  }
  auto const magic = load_be<int8_t>(bytes.data() + kMagicPosition);
  if (magic < 0 || magic > kMagicMax) {
    return {Code::corrupt_message, fmt::format("Invalid magic found in record: {}", magic)};
  }
  if (length > std::numeric_limits<int32_t>::max() - static_cast<int32_t>(kLogOverheadBytes)) {
    return {Code::unknown_server_error, fmt::format("Record size {} is out of range", length)};
  }
  prefix.base_offset = Offset(load_be<int64_t>(bytes.data() + kBaseOffsetPosition));
  prefix.size_bytes = kLogOverheadBytes + static_cast<size_t>(length);
  prefix.magic = magic;
  return {};
}

bool BatchReader::next(BatchView& batch) {
  if (fault_) return false;
  auto const left = rest();
  if (left.size() < kLogOverheadBytes) return false;
  if (left.size() < kBatchPrefixBytes) {
    // The magic is not there yet, but a length that no batch can have is an error already.
    auto const length = load_be<int32_t>(left.data() + kLengthPosition);
    if (length < kLengthMin) {
      fault_ = {Code::corrupt_message,
                fmt::format("Record size {} is less than the minimum record overhead ({})", length, kLengthMin)};
    }
    return false;
  }
  BatchPrefix prefix;
  fault_ = read_prefix(left, prefix);
  if (fault_ || prefix.size_bytes > left.size()) return false;
  batch = BatchView(left.first(prefix.size_bytes));
  position_ += prefix.size_bytes;
  return true;
}

void set_base_offset(MutableByteView batch, Offset base_offset) {
  MR_ASSERT(batch.size() >= kBatchHeaderBytes);
  store_be(batch.data() + kBaseOffsetPosition, base_offset.value);
}

void set_leader_epoch(MutableByteView batch, LeaderEpoch epoch) {
  MR_ASSERT(batch.size() >= kBatchHeaderBytes);
  store_be(batch.data() + kLeaderEpochPosition, epoch.value);
}

void set_max_timestamp(MutableByteView batch, TimestampType type, int64_t max_timestamp) {
  BatchView const view(batch);
  MR_ASSERT(view.has_header());
  MR_ASSERT(type != TimestampType::none);
  if (view.timestamp_type() == type && view.max_timestamp() == max_timestamp) return;
  constexpr int16_t kKept = attribute::kCodecMask | attribute::kTransactional | attribute::kControl |
                            attribute::kDeleteHorizon;
  auto attributes = static_cast<int16_t>(view.attributes() & kKept);
  if (type == TimestampType::log_append_time) attributes |= attribute::kLogAppendTime;
  store_be(batch.data() + kAttributesPosition, attributes);
  store_be(batch.data() + kMaxTimestampPosition, max_timestamp);
  set_crc(batch);
}

void set_crc(MutableByteView batch) {
  BatchView const view(batch);
  MR_ASSERT(view.has_header());
  store_be(batch.data() + kCrcPosition, view.computed_crc());
}

}  // namespace millrace::record
