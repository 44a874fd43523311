// Hashes that Kafka's clients and coordinators agree on.
#pragma once
#include <cstdint>
#include <string_view>

#include "millrace/bytes/view.h"

namespace millrace {

// Of the key bytes of a record; the default partitioner takes (hash & 0x7fffffff) % partitions.
int32_t murmur2(ByteView bytes);

// String.hashCode() of UTF-8 text: over UTF-16 units, as Java holds it.
int32_t java_string_hash(std::string_view text);

// The partition of an internal topic that coordinates `id` (a group, a transactional id, a share group's key).
inline int32_t coordinator_partition(std::string_view id, int32_t partition_count) {
  auto const hash = java_string_hash(id);
  return hash == INT32_MIN ? 0 : (hash < 0 ? -hash : hash) % partition_count;
}

// XXH3, 64 bits, seed 0: the hash of topics and groups in the records of group coordinators.
uint64_t xxh3_64(ByteView bytes);

// SipHash-2-4 with 128 bits: whoever does not know the key cannot make two inputs meet.
struct Hash128 {
  uint64_t low{}, high{};
  friend bool operator==(Hash128 const&, Hash128 const&) = default;
};
struct SipKey {
  uint64_t low{}, high{};
};
Hash128 siphash128(ByteView bytes, SipKey key);

}  // namespace millrace
