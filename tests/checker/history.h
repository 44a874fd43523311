// What clients did and saw in one run: sends, polls, end offsets asked for, deletions. The checks of checker.h read it.
// Nothing here knows the simulator: a driver of real processes records the same things.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::checker {

using Nanos = int64_t;        // on one clock for all clients of a run
using ClientId = uint32_t;    // dense, from 0
using PartitionIndex = uint32_t;  // dense, from 0; the run keeps the names

enum class Outcome : uint8_t {
  ok,
  failed,   // surely refused before the append
  unknown,  // anything else: counts as both until it is seen
};

// A record's value: 24 bytes and padding. It says who wrote it, so that a record read can be judged alone.
struct Value {
  ClientId client{};
  PartitionIndex partition{};
  uint64_t sequence{};  // dense per client and partition, from 0
  static constexpr size_t kBytes = 24;
  std::array<std::byte, kBytes> bytes() const;
  static std::optional<Value> parse(std::span<std::byte const> bytes);  // checks the checksum; longer is padding
  friend bool operator==(Value const&, Value const&) = default;
};

struct Send {
  ClientId client{};
  PartitionIndex partition{};
  uint64_t first_sequence{};
  uint32_t count{};
  Nanos start{};
  Nanos end{};
  Outcome outcome = Outcome::unknown;
  int64_t base_offset = -1;        // of an ok one, if the answer told
  bool is_idempotent = false;
  bool is_fully_acknowledged = true;  // acks=all: may not be lost
  int32_t leader_epoch = -1;       // that the client believed in when it sent what was acknowledged; -1: unknown
  bool is_kept = true;             // what was acknowledged may not be lost: by all, or by a leader that stays
};

enum class Isolation : uint8_t { read_uncommitted, read_committed };

struct Observed {
  int64_t offset{};
  bool is_readable = true;   // false: the value did not parse, or key, headers, time were not those that were sent
  Value value;
};

struct Poll {
  ClientId client{};
  PartitionIndex partition{};
  uint32_t assignment{};     // a new number after each seek or rebalance
  Nanos start{};
  Nanos end{};
  int64_t fetch_offset{};
  int32_t leader_epoch = -1;  // that the leader confirmed; -1: unknown
  int64_t high_watermark = -1;
  int64_t last_stable = -1;
  int64_t log_start = -1;
  Isolation isolation = Isolation::read_uncommitted;
  bool is_from_leader = true;
  size_t first_record{};     // in History::records
  size_t record_count{};
};

// ListOffsets: the latest or the earliest offset.
struct EndAsked {
  ClientId client{};
  PartitionIndex partition{};
  Nanos start{};
  Nanos end{};
  int32_t leader_epoch = -1;
  bool is_latest = true;
  Isolation isolation = Isolation::read_uncommitted;
  int64_t offset = -1;
};

struct Deletion {  // DeleteRecords
  PartitionIndex partition{};
  Nanos start{};
  Nanos end{};
  Outcome outcome = Outcome::unknown;
  int64_t before_offset{};
};

// Everything that was there after healing, read by a fresh consumer.
struct FinalRead {
  PartitionIndex partition{};
  int64_t log_start{};
  int64_t end{};  // its high watermark
  std::vector<Observed> records;
};

using GroupIndex = uint32_t;  // dense, from 0

// An offset commit of one partition. Committed offsets are told apart: no two commits of a group and partition, or only
// repetitions of an unknown one, name the same.
struct Commit {
  ClientId client{};
  GroupIndex group{};
  PartitionIndex partition{};
  Nanos start{};
  Nanos end{};
  Outcome outcome = Outcome::unknown;
  int64_t offset{};
  int32_t generation = -1;  // -1: not a member's, or its client does not tell
  // A request that its sender has given up, or sent again, may reach the coordinator at any later time.
  bool may_come_late = false;
};

struct CommitRead {
  ClientId client{};
  GroupIndex group{};
  PartitionIndex partition{};
  Nanos start{};
  Nanos end{};
  int64_t offset = -1;  // -1: there is none
};

// From when to when a member was sure that a partition is its own.
struct Ownership {
  ClientId client{};
  GroupIndex group{};
  PartitionIndex partition{};
  int32_t generation = -1;  // -1: its client does not tell
  Nanos start{};
  Nanos end{};  // 0: only its start is known
};

// Somebody was seen to lead a partition, or the metadata quorum.
struct Leadership {
  static constexpr PartitionIndex kQuorum = UINT32_MAX;
  PartitionIndex partition{};
  int32_t epoch{};
  int32_t node{};
};

struct Vote {  // that a voter gave in the metadata quorum
  int32_t voter{};
  int32_t epoch{};
  int32_t candidate{};
};

// A node's metadata at one offset, as a fingerprint.
struct ImageSeen {
  int32_t node{};
  int64_t offset{};
  uint64_t fingerprint{};
};

// What a node's own log of a partition held when everything was at rest. Fingerprints of whole batches by base offset.
struct ReplicaRead {
  PartitionIndex partition{};
  int32_t node{};
  int64_t log_start{};
  int64_t high_watermark{};
  std::vector<std::pair<int64_t, uint64_t>> batches;  // in order
};

struct History {
  uint32_t client_count{};
  uint32_t partition_count{};
  std::vector<Send> sends;
  std::vector<Poll> polls;
  std::vector<Observed> records;
  std::vector<EndAsked> ends;
  std::vector<Deletion> deletions;
  std::vector<FinalRead> final_reads;  // at most one a partition
  std::vector<Commit> commits;
  std::vector<CommitRead> commit_reads;
  std::vector<Ownership> ownerships;
  std::vector<Leadership> leaderships;
  std::vector<Vote> votes;
  std::vector<ImageSeen> images;
  std::vector<ReplicaRead> replicas;
  // The consumers together were given every record up to the highest that one of them got.
  bool are_polls_whole = true;
  // A broker was started again: it may have forgotten a producer whose records had all been deleted, as Kafka does.
  bool has_restarts = true;
  // A new leader counts itself at its log's end at once, so that a Fetch shows what an earlier one acknowledged.
  bool do_marks_begin_at_end = false;
  // Leadership moves between brokers, and the sends' leader epochs are those of the first leader that called them
  // committed: a leader of an earlier epoch that has not heard of it yet answers for what was acknowledged up to its own.
  bool do_leaders_move = false;
  // Each client handed its records of a partition to one idempotent producer in the order of their sequence.
  bool are_clients_ordered = false;

  void add_poll(Poll poll, std::span<Observed const> seen);
  // One line an operation, in order of their end; for a failure's report.
  std::string text(size_t lines_max = 100'000) const;
};

}  // namespace millrace::checker
