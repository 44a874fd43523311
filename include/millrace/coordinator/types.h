// Words that all coordinators share.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "millrace/base/time.h"
#include "millrace/bytes/view.h"

namespace millrace::coordinator {

using Ticket = uint64_t;  // the driver's number for somebody who waits; never reused within a machine's life

// Both clocks at the moment of an event.
struct Now {
  Mono mono;
  Wall wall;
};

// Bytes of a client that never change and that replicated and soft state share. Null: empty.
using Blob = std::shared_ptr<std::string const>;
inline Blob make_blob(ByteView bytes) {
  return bytes.empty() ? nullptr : std::make_shared<std::string const>(as_text(bytes));
}
inline std::string_view text_of(Blob const& blob) { return blob ? std::string_view(*blob) : std::string_view(); }

struct GroupConfig {
  Duration initial_rebalance_delay = 3s;                      // group.initial.rebalance.delay.ms
  int32_t session_timeout_ms_min = 6'000;                     // group.min.session.timeout.ms
  int32_t session_timeout_ms_max = 1'800'000;                 // group.max.session.timeout.ms
  int32_t member_count_max = 2'147'483'647;                   // group.max.size
  int32_t offset_metadata_max = 4096;                         // offset.metadata.max.bytes, which Kafka counts in UTF-16
  Duration offsets_retention = std::chrono::minutes(10'080);  // offsets.retention.minutes
  Duration offsets_retention_check = std::chrono::milliseconds(600'000);  // offsets.retention.check.interval.ms
};

// A new member has no id to heartbeat with, and a client that gave up its first Join cannot be seen: it is dropped
// then.
inline constexpr Duration kNewMemberJoinTimeout = std::chrono::minutes(5);
inline constexpr Duration kRefusedTimerRetry = 500ms;  // a timer's decision whose append was refused
inline constexpr size_t kPendingMembersMax = 10'000;   // of a group: were given an id and have not come back yet
inline constexpr size_t kGroupsMax = 1'000'000;        // of one coordinator
inline constexpr size_t kTombstonesPerDecisionMax = 1'000;
inline constexpr size_t kGroupsPerCleanupMax = 1'000;  // looked at in one event
inline constexpr size_t kTimersPerEventMax = 64;
inline constexpr size_t kStoredTextBytesMax =
    32'767 - 64;  // strings of old records have an int16 length; 64: our suffix

}  // namespace millrace::coordinator
