// What a broker checks before it appends what a client sent: Kafka 4.4's checks, in its order, with its answers.
// Stricter than Kafka in one thing: records of an uncompressed batch whose offsets do not count 0, 1, 2, ... are refused,
// where Kafka appends them with wrong offsets.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/record/batch.h"

namespace millrace::record {

// ---- Of the whole request, before any partition is looked at. A fault here fails every partition of the request; the
// answer carries its message unless the code is unknown_server_error.
struct FirstBatch {
  Fault fault;
  bool is_transactional = false;
};
FirstBatch look_at_first_batch(ByteView records);

// ---- Of one partition's records, which must be one batch. The answer carries no message and no log start offset.
struct RequestCheck {
  Fault fault;
  bool fails_request = false;  // Kafka trips over it in a way that fails every partition
  BatchView batch;             // size and magic are right, nothing else is checked yet
};
RequestCheck check_produce_records(ByteView records, int produce_version);

// ---- Of a batch that is about to be appended.
enum class Origin : uint8_t { client, coordinator };
enum class Depth : uint8_t {
  records,
  header,  // records are believed, unless the topic is compacted or the batch must be built again
};

inline constexpr size_t kRecordErrorsMax = 10'000;                       // more are dropped from the answer
inline constexpr uint64_t kDecompressedBytesMax = uint64_t{1} << 30;     // of a whole batch

struct TopicRules {
  std::string_view partition;                          // "orders-3", for messages
  int32_t batch_bytes_max = 1048588;                   // max.message.bytes
  int32_t record_body_bytes_max = 2147483639;          // max.decompressed.message.bytes: one record of a compressed batch
  bool is_compacted = false;                           // every record needs a key
  TimestampType timestamp_type = TimestampType::create_time;
  int64_t timestamp_before_ms_max = INT64_MAX;
  int64_t timestamp_after_ms_max = 3'600'000;
  std::optional<Codec> codec;                          // compression.type; nullopt: as the producer chose
  std::optional<int> codec_level;
  Depth depth = Depth::records;
  uint64_t decompressed_bytes_max = kDecompressedBytesMax;
};

struct RecordError {
  int32_t index{};
  std::string message;
};

struct Verdict {
  Fault fault;
  std::vector<RecordError> record_errors;

  // Of an accepted batch.
  int32_t record_count{};
  int64_t max_timestamp = kNoTimestamp;
  int64_t log_append_time = kNoTimestamp;       // what the answer says
  std::optional<SharedBytes> rebuilt;           // to be appended in place of the batch: codec or offsets changed

  bool is_accepted() const { return !fault; }
  // What an answer with fault.code carries, as Kafka's does.
  bool answer_has_message() const { return !record_errors.empty(); }
  bool answer_has_log_start() const {
    return fault.code != Code::corrupt_message && fault.code != Code::message_too_large;
  }
};

// Size, checksum, and what the header says about offsets, count, control and sequence.
Fault validate_header(BatchView batch, TopicRules const& rules, Origin origin);
// True if validate_records() must decompress or compress: dear, for a thread that may take its time.
bool is_dear(BatchView batch, TopicRules const& rules);
// The records of a batch that validate_header() passed. Accepted, and not rebuilt, the batch has its final timestamps
// and checksum; base offset and leader epoch are then set by the append, which needs no new checksum.
Verdict validate_records(MutableByteView batch, TopicRules const& rules, Origin origin, Wall now, CodecContext& context);
// Both.
Verdict validate(MutableByteView batch, TopicRules const& rules, Origin origin, Wall now, CodecContext& context);

}  // namespace millrace::record
