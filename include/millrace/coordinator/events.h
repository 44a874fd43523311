// What is asked of a group coordinator and what it answers. Everything owns its memory: a request outlives the frame
// that it came in while it waits for a rebalance.
#pragma once
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/coordinator/group_store.h"
#include "millrace/coordinator/types.h"
#include "millrace/protocol/errors.h"

namespace millrace::coordinator {

struct Protocol {
  std::string name;
  Blob metadata;
};

// ---- Requests

struct JoinGroup {
  Ticket ticket{};
  std::string group_id, member_id;
  std::optional<std::string> instance_id;
  std::string client_id, client_host;
  int32_t session_timeout_ms{};
  int32_t rebalance_timeout_ms{};  // version 0 has none: the session timeout
  std::string protocol_type;
  std::vector<Protocol> protocols;     // as the member prefers them
  bool wants_known_member_id = false;  // version 4 and later
  bool can_skip_assignment = false;    // version 9 and later
  Uuid unique;                         // random; becomes part of a new member's id
};
struct SyncGroup {
  Ticket ticket{};
  std::string group_id;
  int32_t generation{};
  std::string member_id;
  std::optional<std::string> instance_id, protocol_type, protocol;
  std::vector<std::pair<std::string, Blob>> assignments;
};
struct Heartbeat {
  Ticket ticket{};
  std::string group_id;
  int32_t generation{};
  std::string member_id;
  std::optional<std::string> instance_id;
};
struct LeaveGroup {
  struct Leaver {
    std::string member_id;
    std::optional<std::string> instance_id;
  };
  Ticket ticket{};
  std::string group_id;
  std::vector<Leaver> members;
};
struct CommitOffsets {
  struct Partition {
    std::string topic;  // exists
    Uuid topic_id;
    int32_t partition{};
    int64_t offset{};
    int32_t leader_epoch = -1;
    std::string metadata;
  };
  Ticket ticket{};
  std::string group_id;
  int32_t generation = -1;
  std::string member_id;
  std::optional<std::string> instance_id;
  int64_t retention_ms = -1;
  bool knows_group_id_not_found = false;  // version 9 and later
  std::vector<Partition> partitions;
};
struct FetchOffsets {
  struct Topic {
    std::string name;
    Uuid topic_id;
    std::vector<int32_t> partitions;
  };
  Ticket ticket{};
  std::string group_id;
  std::optional<std::vector<Topic>> topics;  // none: all that the group has
  bool require_stable = false;
};
struct DeleteOffsets {
  Ticket ticket{};
  std::string group_id;
  std::vector<std::pair<std::string, int32_t>> partitions;
};
struct ListGroups {
  Ticket ticket{};
  std::vector<std::string> states, types;  // empty: any; case does not matter
};
struct DescribeGroup {
  Ticket ticket{};
  std::string group_id;
};
struct DeleteGroup {
  Ticket ticket{};
  std::string group_id;
};

// ---- Other events

struct LoadStarted {};  // leadership of the partition began; replay() may be called
struct Loaded {
  Offset end;  // everything below it was replayed
};
struct Resign {};  // leadership ended, or the node stops
struct AppendAccepted {
  Offset end;
};
struct AppendRefused {
  ErrorCode error{};
};
struct TimerFired {};  // next_deadline() has passed
struct TopicsDeleted {
  std::vector<std::pair<std::string, Uuid>> topics;
};

using Event = std::variant<JoinGroup, SyncGroup, Heartbeat, LeaveGroup, CommitOffsets, FetchOffsets, DeleteOffsets,
                           ListGroups, DescribeGroup, DeleteGroup, LoadStarted, Loaded, Resign, AppendAccepted,
                           AppendRefused, TimerFired, TopicsDeleted>;

// ---- Answers

struct JoinAnswer {
  struct Member {
    std::string id;
    std::optional<std::string> instance_id;
    Blob metadata;
  };
  ErrorCode error = ErrorCode::none;
  int32_t generation = -1;
  std::optional<std::string> protocol_type, protocol;
  std::string leader;
  bool skip_assignment = false;
  std::string member_id;
  std::vector<Member> members;  // for the leader
};
struct SyncAnswer {
  ErrorCode error = ErrorCode::none;
  std::optional<std::string> protocol_type, protocol;
  Blob assignment;
};
struct HeartbeatAnswer {
  ErrorCode error = ErrorCode::none;
};
struct LeaveAnswer {
  ErrorCode error = ErrorCode::none;
  std::vector<ErrorCode> members;  // as in the request; empty on error
};
struct CommitAnswer {
  std::vector<ErrorCode> partitions;  // as in the request
};
struct FetchAnswer {
  struct Partition {
    int32_t index{};
    ErrorCode error = ErrorCode::none;
    int64_t offset = -1;
    int32_t leader_epoch = -1;
    std::string metadata;
  };
  struct Topic {
    std::string name;
    Uuid topic_id;  // zero if it was not asked for by id and was not stored
    std::vector<Partition> partitions;
  };
  ErrorCode error = ErrorCode::none;
  std::vector<Topic> topics;
};
struct DeleteOffsetsAnswer {
  ErrorCode error = ErrorCode::none;
  std::vector<ErrorCode> partitions;  // as in the request; empty on error
};
struct ListAnswer {
  struct Group {
    std::string id, protocol_type;
    std::string_view state, type;
  };
  ErrorCode error = ErrorCode::none;
  std::vector<Group> groups;
};
struct DescribeAnswer {
  struct Member {
    std::string id;
    std::optional<std::string> instance_id;
    std::string client_id, client_host;
    Blob metadata, assignment;
  };
  ErrorCode error = ErrorCode::none;  // group_id_not_found: old versions answer a dead group instead
  std::string_view state;             // empty on other errors
  std::string protocol_type, protocol;
  std::vector<Member> members;
};
struct DeleteGroupAnswer {
  ErrorCode error = ErrorCode::none;
};

using Answer = std::variant<JoinAnswer, SyncAnswer, HeartbeatAnswer, LeaveAnswer, CommitAnswer, FetchAnswer,
                            DeleteOffsetsAnswer, ListAnswer, DescribeAnswer, DeleteGroupAnswer>;

// Turns an answer into one that says nothing but `error`; parts that have failed already keep their own.
void set_error(Answer& answer, ErrorCode error);
// The answer to `request` when it is not decided at all. Requests only.
Answer refusal(Event const& request, ErrorCode error);
void set_ticket(Event& request, Ticket ticket);

struct Reply {
  Ticket ticket{};
  Answer answer;
  Offset after_offset{0};  // to be sent once everything below it is committed
};

// What an event caused. The driver clears and reuses it.
struct Effects {
  std::vector<Reply> replies;
  // One atomic batch. Not empty: no event but AppendAccepted, AppendRefused or Resign may follow.
  std::vector<Record> append;

  void clear() {
    replies.clear();
    append.clear();
  }
};

}  // namespace millrace::coordinator
