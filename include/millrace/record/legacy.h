// Message formats 0 and 1, which lie in old logs: one message an entry, or a compressed message that wraps others.
// They are read, and refused where Kafka 4.4 refuses them; new ones are written by tests only.
#pragma once
#include <optional>
#include <vector>

#include "millrace/record/batch.h"

namespace millrace::record {

inline constexpr size_t kLegacyOverheadV0 = 14;  // crc, magic, attributes, key length, value length
inline constexpr size_t kLegacyOverheadV1 = 22;  // and a timestamp

Fault check_legacy(BatchView batch);

struct LegacyMessage {
  int8_t magic{};
  Offset offset;                            // of a wrapper: the last of those inside
  TimestampType timestamp_type{};           // none for magic 0
  int64_t timestamp = kNoTimestamp;
  int codec_id{};
  std::optional<ByteView> key, value;
};

// The one message of an entry, a wrapper as itself.
Fault read_legacy(BatchView entry, LegacyMessage& message);

// All messages of an entry, those inside a wrapper with their offsets in the log. `scratch` holds what they point into.
Fault read_legacy_deep(BatchView entry, DecompressLimits limits, CodecContext& context,
                       std::vector<std::byte>& scratch, std::vector<LegacyMessage>& messages);

// Appends an entry with a right checksum.
void append_legacy(LegacyMessage const& message, std::vector<std::byte>& output);

}  // namespace millrace::record
