// `millrace-recovery` in a log directory: what recovery may skip. It counts only beside the very
// recovery-point-offset-checkpoint that it was written with. Format: docs/log-format.md.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"

namespace millrace::storage {

// How much of the last segment's index files the recovery point vouches for.
struct SavedIndexes {
  Offset base{-1};  // of the segment; -1: not known
  int64_t offset_bytes{};
  int64_t time_bytes{};
  int64_t transaction_bytes{};
  uint32_t transaction_check{};
  friend bool operator==(SavedIndexes const&, SavedIndexes const&) = default;
};

struct RecoveryEntry {
  TopicPartition partition;
  Offset recovery_point;
  bool is_plain{};          // the metadata log, which is in no checkpoint
  bool has_no_producers{};  // as of the recovery point
  SavedIndexes indexes;
  friend bool operator==(RecoveryEntry const&, RecoveryEntry const&) = default;
};

std::string recovery_file_text(std::span<RecoveryEntry const> entries, std::string_view recovery_points);
Result<std::vector<RecoveryEntry>> parse_recovery_file(std::string_view text, std::string_view recovery_points);

}  // namespace millrace::storage
