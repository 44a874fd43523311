// Which offset holds the newest record of each key: what compaction knows of the part of a log that it maps. Keys are
// kept as hashes under a secret of this process. Grows with the number of different keys, up to a bound.
#pragma once
#include <optional>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/bytes/hash.h"

namespace millrace::storage {

class KeyOffsetMap {
 public:
  // What Kafka lets one key cost.
  static constexpr int64_t kEntryBytes = 24;
  static constexpr double kLoadMax = 0.9;

  KeyOffsetMap(int64_t bytes_max, SipKey secret);

  // Offsets rise. False: the key is new and there is no room for it.
  bool put(ByteView key, Offset offset);
  std::optional<Offset> find(ByteView key) const;
  size_t size() const { return count_; }
  int64_t bytes() const { return static_cast<int64_t>(slots_.size()) * kEntryBytes; }

 private:
  struct Slot {
    Hash128 hash;
    int64_t offset = -1;  // -1: free
  };
  static_assert(sizeof(Slot) == kEntryBytes);
  static constexpr size_t kSlotsMin = 1024;

  // The slot that has the hash, or the free one that it would take.
  size_t probe(std::vector<Slot> const& slots, Hash128 hash) const;
  bool grow();

  size_t const slots_max_;
  SipKey const secret_;
  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace millrace::storage
