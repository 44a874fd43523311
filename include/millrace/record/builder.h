// Building record batches of magic 2.
#pragma once
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/record/record.h"

namespace millrace::record {

struct BatchOptions {
  Offset base_offset{0};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  Codec codec = Codec::none;
  std::optional<int> codec_level = {};         // none: Kafka's default
  std::optional<int64_t> log_append_time = {};  // set: the batch carries it as its only time
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch{-1};
  int32_t base_sequence = kNoSequence;
  bool is_transactional = false;
  bool is_control = false;
  // For batches that compaction rewrites.
  std::optional<int64_t> delete_horizon_ms = {};  // becomes the base timestamp
  std::optional<Offset> last_offset = {};         // kept although the last record is gone
  std::optional<int64_t> max_timestamp = {};      // likewise
};

struct NewRecord {
  int64_t timestamp = kNoTimestamp;
  std::optional<ByteView> key = {}, value = {};
  std::span<HeaderView const> headers = {};
};

class BatchBuilder {
 public:
  explicit BatchBuilder(BatchOptions const& options);

  void append(NewRecord const& record);                   // at the next offset
  void append_at(Offset offset, NewRecord const& record);  // offsets must rise
  void append_copy(RecordView const& record);            // at its own offset and time

  int32_t record_count() const { return count_; }
  size_t size_bytes() const { return kBatchHeaderBytes + records_.size(); }  // before compression
  Offset next_offset() const { return next_offset_; }

  // The finished batch; an empty one if there are no records and options.last_offset says where it ends.
  std::vector<std::byte> build(CodecContext& context);
  std::vector<std::byte> build();  // for batches that are not compressed

 private:
  void begin_record(Offset offset, int64_t timestamp, size_t tail_bytes);

  BatchOptions options_;
  std::vector<std::byte> records_;
  int32_t count_ = 0;
  Offset next_offset_;
  int64_t base_timestamp_ = kNoTimestamp;
  int64_t max_timestamp_ = kNoTimestamp;
};

// Control records. Keys and marker values are written here; values of other types are messages of the protocol.
std::array<std::byte, 4> control_key(ControlType type);
std::array<std::byte, 6> end_transaction_value(int32_t coordinator_epoch);

// A batch with one control record; options.is_control is set for it.
std::vector<std::byte> build_control_batch(BatchOptions options, ControlType type, int64_t timestamp, ByteView value);
// A commit or abort marker.
std::vector<std::byte> build_end_transaction(BatchOptions options, ControlType type, int64_t timestamp,
                                             int32_t coordinator_epoch);

// The header fields of a batch, laid down before the payload that starts at kBatchHeaderBytes of `batch`.
struct HeaderFields {
  Offset base_offset{0};
  LeaderEpoch leader_epoch = kNoLeaderEpoch;
  int16_t attributes{};
  int32_t last_offset_delta{};
  int64_t base_timestamp = kNoTimestamp;
  int64_t max_timestamp = kNoTimestamp;
  ProducerId producer_id = kNoProducerId;
  ProducerEpoch producer_epoch{-1};
  int32_t base_sequence = kNoSequence;
  int32_t record_count{};
};
// Also writes length, magic and checksum.
void write_header(MutableByteView batch, HeaderFields const& fields);

// Appends a record's length, attributes, time and offset; `tail_bytes` more bytes must follow.
void append_record_start(std::vector<std::byte>& out, int64_t timestamp_delta, int32_t offset_delta, size_t tail_bytes);
void append_varint(std::vector<std::byte>& out, int32_t value);

}  // namespace millrace::record
