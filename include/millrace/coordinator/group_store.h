// The replicated state of a group coordinator: what the records of its __consumer_offsets partition say. Only replaying
// a record changes it. Not thread-safe.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/coordinator/types.h"

namespace millrace::coordinator {

struct Record {
  SharedBytes key;
  std::optional<SharedBytes> value;  // none: a tombstone
};

struct StoredMember {
  std::string id;
  std::optional<std::string> instance_id;
  std::string client_id, client_host;
  int32_t rebalance_timeout_ms{}, session_timeout_ms{};
  Blob subscription, assignment;
};

// A GroupMetadata record: a classic group as of its last complete rebalance.
struct StoredGroup {
  std::string protocol_type;
  int32_t generation{};
  std::optional<std::string> protocol, leader;
  int64_t state_timestamp_ms = -1;
  std::vector<StoredMember> members;
};

struct CommittedOffset {
  int64_t offset{};
  int32_t leader_epoch = -1;
  std::string metadata;
  int64_t commit_timestamp_ms{};
  int64_t expire_timestamp_ms = -1;  // -1: by the node's retention
  Uuid topic_id;                     // zero: committed by name, or by an old record
};

// Texts of the arguments must fit a record (kStoredTextBytesMax).
Record group_record(std::string_view group_id, StoredGroup const& group);
Record group_tombstone(std::string_view group_id);
Record offset_record(std::string_view group_id, std::string_view topic, int32_t partition,
                     CommittedOffset const& offset);
Record offset_tombstone(std::string_view group_id, std::string_view topic, int32_t partition);

using TopicOffsets = std::map<int32_t, CommittedOffset>;
using GroupOffsets = std::map<std::string, TopicOffsets, std::less<>>;

class GroupStore {
 public:
  struct Entry {
    std::optional<StoredGroup> group;  // none: a "simple" group, which only has offsets
    GroupOffsets offsets;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // Returns the id of the group that the record is about, a view of `key`; empty for records of other kinds, which are
  // left alone. `producer` is the batch's, if it is transactional. Errors: corrupt.
  Result<std::string_view> replay(ByteView key, std::optional<ByteView> value, ProducerId producer = kNoProducerId);
  void end_transaction(ProducerId producer, bool is_committed);
  void clear();

  Entry const* find(std::string_view group_id) const;
  Entries const& entries() const { return entries_; }
  CommittedOffset const* find_offset(std::string_view group_id, std::string_view topic, int32_t partition) const;
  // An open transaction has an offset for it.
  bool has_pending_offset(std::string_view group_id, std::string_view topic, int32_t partition) const;
  bool has_pending_offsets(std::string_view group_id) const;

  // Everything, one line a group, in one order: equal states have equal texts.
  std::string text() const;

 private:
  struct PendingKey {
    std::string group_id, topic;
    int32_t partition{};
    friend auto operator<=>(PendingKey const&, PendingKey const&) = default;
  };
  void replay_offset(std::string_view group_id, std::string_view topic, int32_t partition,
                     std::optional<CommittedOffset> offset);

  Entries entries_;
  std::map<ProducerId, std::map<PendingKey, CommittedOffset>> pending_;  // open transactions
};

}  // namespace millrace::coordinator
