// Record batches as they lie in a log, in a request or in a response: found, read and changed in place, never copied.
// Views point into the bytes they were made from. All functions are pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/bytes/codec.h"
#include "millrace/bytes/endian.h"
#include "millrace/bytes/view.h"
#include "millrace/record/fault.h"

namespace millrace::record {

// Layout of a magic 2 batch. The first three fields are the same in every message format.
inline constexpr size_t kBaseOffsetPosition = 0;
inline constexpr size_t kLengthPosition = 8;
inline constexpr size_t kLeaderEpochPosition = 12;
inline constexpr size_t kMagicPosition = 16;
inline constexpr size_t kCrcPosition = 17;
inline constexpr size_t kAttributesPosition = 21;
inline constexpr size_t kLastOffsetDeltaPosition = 23;
inline constexpr size_t kBaseTimestampPosition = 27;
inline constexpr size_t kMaxTimestampPosition = 35;
inline constexpr size_t kProducerIdPosition = 43;
inline constexpr size_t kProducerEpochPosition = 51;
inline constexpr size_t kBaseSequencePosition = 53;
inline constexpr size_t kRecordCountPosition = 57;
inline constexpr size_t kBatchHeaderBytes = 61;
inline constexpr size_t kLogOverheadBytes = 12;         // base offset and length, which the length does not count
inline constexpr size_t kBatchPrefixBytes = 17;         // enough to know size and magic
inline constexpr int32_t kLengthMin = 14;               // of the smallest message of any format
inline constexpr int8_t kMagicMax = 2;

inline constexpr int64_t kNoTimestamp = -1;
inline constexpr int32_t kNoSequence = -1;

enum class TimestampType : int8_t { none = -1, create_time = 0, log_append_time = 1 };

namespace attribute {
inline constexpr int16_t kCodecMask = 0x07;
inline constexpr int16_t kLogAppendTime = 0x08;
inline constexpr int16_t kTransactional = 0x10;
inline constexpr int16_t kControl = 0x20;
inline constexpr int16_t kDeleteHorizon = 0x40;
}  // namespace attribute

// Sequence numbers wrap from 2^31 - 1 to 0.
int32_t increment_sequence(int32_t sequence, int32_t increment);

// Input can hold any numbers; a sum that leaves the range wraps, as in Kafka.
constexpr int64_t wrapping_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t wrapping_difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// One batch. magic() and size_bytes() hold for every batch; the other accessors need a header that is there, which
// has_header() tells and check() includes. For magic 0 and 1 see legacy.h.
class BatchView {
 public:
  BatchView() = default;
  explicit BatchView(ByteView bytes) : bytes_(bytes) {}

  ByteView bytes() const { return bytes_; }
  size_t size_bytes() const { return bytes_.size(); }
  int8_t magic() const { return load<int8_t>(kMagicPosition); }
  bool has_header() const { return bytes_.size() >= kBatchHeaderBytes && magic() == 2; }

  Offset base_offset() const { return Offset(load<int64_t>(kBaseOffsetPosition)); }
  LeaderEpoch leader_epoch() const { return LeaderEpoch(load<int32_t>(kLeaderEpochPosition)); }
  uint32_t crc() const { return load<uint32_t>(kCrcPosition); }
  int16_t attributes() const { return load<int16_t>(kAttributesPosition); }
  int32_t last_offset_delta() const { return load<int32_t>(kLastOffsetDeltaPosition); }
  Offset last_offset() const { return Offset(wrapping_sum(base_offset().value, last_offset_delta())); }
  Offset next_offset() const { return Offset(wrapping_sum(last_offset().value, 1)); }
  int64_t base_timestamp() const { return load<int64_t>(kBaseTimestampPosition); }
  int64_t max_timestamp() const { return load<int64_t>(kMaxTimestampPosition); }
  ProducerId producer_id() const { return ProducerId(load<int64_t>(kProducerIdPosition)); }
  ProducerEpoch producer_epoch() const { return ProducerEpoch(load<int16_t>(kProducerEpochPosition)); }
  int32_t base_sequence() const { return load<int32_t>(kBaseSequencePosition); }
  int32_t last_sequence() const {
    return base_sequence() == kNoSequence ? kNoSequence : increment_sequence(base_sequence(), last_offset_delta());
  }
  int32_t record_count() const { return load<int32_t>(kRecordCountPosition); }

  int codec_id() const { return attributes() & attribute::kCodecMask; }
  std::optional<Codec> codec() const { return codec_from_id(codec_id()); }
  bool is_compressed() const { return codec_id() != 0; }
  bool is_transactional() const { return (attributes() & attribute::kTransactional) != 0; }
  bool is_control() const { return (attributes() & attribute::kControl) != 0; }
  bool has_producer_id() const { return producer_id() > kNoProducerId; }
  TimestampType timestamp_type() const {
    return (attributes() & attribute::kLogAppendTime) != 0 ? TimestampType::log_append_time : TimestampType::create_time;
  }
  // When compaction may drop the tombstones of this batch; it takes the place of the base timestamp.
  std::optional<int64_t> delete_horizon_ms() const {
    if ((attributes() & attribute::kDeleteHorizon) == 0) return std::nullopt;
    return base_timestamp();
  }

  ByteView payload() const { return bytes_.subspan(kBatchHeaderBytes); }  // the records, compressed or not
  uint32_t computed_crc() const;

 private:
  template <class T>
  T load(size_t position) const {
    MR_ASSERT(position + sizeof(T) <= bytes_.size());
    return load_be<T>(bytes_.data() + position);
  }

  ByteView bytes_;
};

// Size and checksum of one batch of any magic: corrupt_message if they are wrong.
Fault check(BatchView batch);

// What the first bytes of a batch say. `size_bytes` counts from the base offset to the end.
struct BatchPrefix {
  Offset base_offset;  // of magic 0 and 1: the last offset
  size_t size_bytes{};
  int8_t magic{};
};
// Needs kBatchPrefixBytes bytes. Fails as Kafka's reader does: corrupt_message, or unknown_server_error for a length
// that leaves the range of Kafka's integers.
Fault read_prefix(ByteView bytes, BatchPrefix& prefix);

// Walks the batches of a buffer. Bytes at the end that are no whole batch are not an error: next() stops before them.
class BatchReader {
 public:
  explicit BatchReader(ByteView bytes) : bytes_(bytes) {}

  bool next(BatchView& batch);
  Fault const& fault() const { return fault_; }      // why next() said no, if not because of the end
  size_t position() const { return position_; }      // of the first byte that no batch has taken
  ByteView rest() const { return bytes_.subspan(position_); }

 private:
  ByteView bytes_;
  size_t position_ = 0;
  Fault fault_;
};

// Changes in place of a magic 2 batch that was checked. The checksum does not cover the first two.
void set_base_offset(MutableByteView batch, Offset base_offset);
void set_leader_epoch(MutableByteView batch, LeaderEpoch epoch);
// Sets type and maximum; recomputes the checksum, and drops reserved attribute bits as Kafka does, if one changed.
void set_max_timestamp(MutableByteView batch, TimestampType type, int64_t max_timestamp);
void set_crc(MutableByteView batch);

}  // namespace millrace::record
