// The file in which one client of a run of real processes notes what it did and saw: a header, then rows in the order in which
// they were written, little endian. Clients in any language write it; times are nanoseconds of CLOCK_MONOTONIC.
#pragma once
#include <cstdint>

namespace millrace::chaos {

struct FileHeader {
  char magic[8];  // "MRHIST01"
  uint32_t client;
  uint32_t reserved;
};
static_assert(sizeof(FileHeader) == 16);

enum class RowKind : uint8_t {
  send = 1,
  poll = 2,
  end = 3,
  commit = 4,
  committed = 5,
  owned = 6,
  calm = 7,
  fault = 8,
};

// One record that was handed to a producer, once its fate is known.
struct SendRow {
  RowKind kind;
  uint8_t outcome;  // checker::Outcome
  uint16_t reserved;
  uint32_t partition;
  uint64_t sequence;
  int64_t start, end;
  int64_t offset;  // -1: not told
};
static_assert(sizeof(SendRow) == 40);

// What one poll gave of one partition; `count` RecordRows follow.
struct PollRow {
  RowKind kind;
  uint8_t flags;
  uint16_t reserved;
  uint32_t partition;
  uint32_t assignment;  // a new number whenever the position is found anew
  uint32_t count;
  int64_t start, end;
  int64_t fetch_offset;
  int64_t high_watermark, last_stable, log_start;  // -1: not told
};
static_assert(sizeof(PollRow) == 64);
inline constexpr uint8_t kFinalRead = 1;  // everything from the log's start up to its high watermark, after healing
inline constexpr uint8_t kIsTimed = 2;    // the fetch that brought the high watermark was not sent before `start`

struct RecordRow {
  int64_t offset;
  uint64_t sequence;
  uint32_t client;  // kUnreadable: not a value that anybody sent
  int32_t leader_epoch;  // of the batch, -1: not told
};
static_assert(sizeof(RecordRow) == 24);
inline constexpr uint32_t kUnreadable = 0xffffffff;

// ListOffsets of the latest (or the earliest) offset.
struct EndRow {
  RowKind kind;
  uint8_t is_latest;
  uint16_t reserved;
  uint32_t partition;
  int32_t leader_epoch;
  uint32_t reserved_2;
  int64_t start, end;
  int64_t offset;
};
static_assert(sizeof(EndRow) == 40);

// A group's offset of a partition: committed (kind commit), or asked for (kind committed, -1: there was none).
struct CommitRow {
  RowKind kind;
  uint8_t outcome;
  uint16_t reserved;
  uint32_t partition;
  uint32_t group;
  int32_t generation;  // -1: not told
  int64_t start, end;
  int64_t offset;
};
static_assert(sizeof(CommitRow) == 40);

// A member was told that a partition is, or is no longer, its own.
struct OwnedRow {
  RowKind kind;
  uint8_t what;  // kAssigned, kRevoked, kLost
  uint16_t reserved;
  uint32_t partition;
  uint32_t group;
  int32_t generation;  // -1: not told
  int64_t time;
};
static_assert(sizeof(OwnedRow) == 24);
inline constexpr uint8_t kAssigned = 1, kRevoked = 2, kLost = 3;

// By the driver: from the first to the second of two such rows of a partition no fault was at work, all replicas were in sync,
// and the partition was led in one epoch.
struct CalmRow {
  RowKind kind;
  uint8_t is_end;
  uint16_t reserved;
  uint32_t partition;
  int32_t leader_epoch;
  uint32_t reserved_2;
  int64_t time;
};
static_assert(sizeof(CalmRow) == 24);

// By the driver: a fault began, and all was well again.
struct FaultRow {
  RowKind kind;
  uint8_t reserved;
  uint16_t reserved_2;
  uint32_t number;
  int64_t begin, settled;
};
static_assert(sizeof(FaultRow) == 24);

}  // namespace millrace::chaos
