// Incremental fetch sessions (KIP-227): what a client asked for last time and what it was told, so that a Fetch need
// only carry differences. One bounded cache a node; any thread.
#pragma once
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/random.h"
#include "millrace/base/time.h"
#include "millrace/protocol/errors.h"

namespace millrace::broker {

inline constexpr int32_t kNoSession = 0;
inline constexpr int32_t kFirstSessionEpoch = 0;
inline constexpr int32_t kFinalSessionEpoch = -1;

// One partition as a Fetch asks for it, from the request or from a session.
struct FetchItem {
  std::string topic;    // of a request by name; empty by id
  TopicId topic_id{};   // of a request by id
  int32_t partition = 0;
  LeaderEpoch current_leader_epoch{-1};
  Offset offset;
  LeaderEpoch last_fetched_epoch{-1};
  Offset log_start{-1};  // of a follower's own log
  int32_t bytes_max = 0;
};

// What decides whether an incremental answer must mention a partition.
struct FetchTold {
  int64_t high_watermark = -1;
  int64_t log_start_offset = -1;
};

class FetchSession {
 public:
  struct Entry {
    FetchItem item;
    FetchTold told;
  };
  using Entries = std::list<Entry>;  // in the order in which they are served

  int32_t id() const { return id_; }

 private:
  friend class FetchSessions;
  struct KeyHash {
    size_t operator()(std::pair<std::string, TopicIdPartition> const& key) const noexcept {
      return std::hash<std::string>{}(key.first) * 31 + std::hash<TopicIdPartition>{}(key.second);
    }
  };
  using Key = std::pair<std::string, TopicIdPartition>;
  static Key key_of(FetchItem const& item) { return {item.topic, {item.topic_id, item.partition}}; }

  int32_t id_ = kNoSession;
  int32_t epoch_ = 1;  // the next one that is right
  bool is_by_id_ = false;
  bool is_follower_ = false;
  Mono created_;
  Mono used_;
  Entries entries_;
  std::unordered_map<Key, Entries::iterator, KeyHash> index_;
};

class FetchSessions {
 public:
  static constexpr Duration kEvictionAge = 120s;            // min.incremental.fetch.session.eviction.ms
  static constexpr size_t kPartitionsMax = 2'000'000;       // in all sessions together

  FetchSessions(size_t session_count_max, Random random) : session_count_max_(session_count_max), random_(random) {}

  // Begins an incremental fetch: checks id and epoch, applies what the request changes. On success `items` holds
  // everything that the session asks for now, in the order in which it is to be served.
  ErrorCode update(int32_t id, int32_t epoch, bool is_by_id, std::vector<FetchItem> changed,
                   std::vector<FetchItem> const& forgotten, Mono now, std::vector<FetchItem>& items);
  void remove(int32_t id);

  // What the answer to a fetch with a fresh session tells. Returns the new session's id, or kNoSession when there is
  // no room for it: then the answer is an ordinary full one.
  int32_t create(std::vector<FetchItem> items, std::vector<FetchTold> const& told, bool is_by_id, bool is_follower,
                 Mono now);

  struct Answered {
    FetchItem const* item{};
    FetchTold told;
    bool has_bytes = false;
    bool has_error = false;
    bool must_be_told = false;  // for another reason
  };
  // The answer to an incremental fetch that began at `epoch`: marks in `is_told` what must be in it, and remembers.
  // invalid_fetch_session_epoch: another fetch of the session came in between.
  ErrorCode answer(int32_t id, int32_t epoch, std::vector<Answered> const& answered, std::vector<bool>& is_told);

  // The same for an answer that tells nothing, and so changes nothing that is remembered.
  ErrorCode check_answer(int32_t id, int32_t epoch) const;

  size_t session_count() const;
  size_t partition_count() const;

 private:
  bool make_room(size_t partition_count, bool is_follower, Mono now);
  void remove_locked(std::unordered_map<int32_t, FetchSession>::iterator session);
  static int32_t next_epoch(int32_t epoch) { return epoch == INT32_MAX ? 1 : epoch + 1; }

  size_t const session_count_max_;
  mutable std::mutex mutex_;
  Random random_;
  std::unordered_map<int32_t, FetchSession> sessions_;
  size_t partition_count_ = 0;
};

}  // namespace millrace::broker
