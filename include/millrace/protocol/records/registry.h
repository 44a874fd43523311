// Every stored record, for decoders and tools that take whatever they meet.
#pragma once
#include <span>
#include <string_view>

#include "millrace/protocol/describe.h"

namespace millrace::protocol {

enum class RecordLog : uint8_t { none, metadata, group, transaction, share_state, remote_log };
enum class RecordPart : uint8_t { body, key, value, data };

struct RecordInfo {
  std::string_view name;
  RecordLog log{};
  RecordPart part{};
  MessageTable const& (*table)() = nullptr;
};

std::span<RecordInfo const> all_records();
// `key` is the record type in the metadata log, or the number that stands before a coordinator's key. Null if unknown.
RecordInfo const* find_record(RecordLog log, RecordPart part, int16_t key);

}  // namespace millrace::protocol
