// The keys that most records of a partition have, found by looking at parts of its log: whoever produces pays nothing
// for it, and it takes bounded memory however many keys there are.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"

namespace millrace::runtime {

class PartitionDriver;

struct HeavyKey {
  std::string key;
  int64_t count{};  // at most `error` too high, never too low
  int64_t error{};
};

// The Space-Saving algorithm (Metwally, Agrawal, El Abbadi 2005): whatever makes up more than 1/capacity of what was
// added is in it.
class HeavyKeys {
 public:
  static constexpr size_t kKeyBytesMax = 1024;  // longer ones count by their beginning

  explicit HeavyKeys(size_t capacity) : capacity_(capacity) {}
  void add(std::string_view key);
  int64_t total() const { return total_; }
  // The heaviest first.
  std::vector<HeavyKey> top(size_t count) const;

 private:
  size_t const capacity_;
  int64_t total_ = 0;
  std::vector<HeavyKey> counters_;
  std::unordered_map<std::string, size_t> places_;
  std::set<std::pair<int64_t, size_t>> by_count_;  // (count, place)
};

struct KeySampleOptions {
  int64_t record_count = 100'000;  // how far back to look
  size_t read_count = 32;          // places in it
  int64_t read_bytes = 64 * 1024;  // at each of them; a batch that is larger comes whole
  size_t capacity = 1000;
  size_t top = 10;
};

struct KeySample {
  Offset from, to;         // what it speaks of
  int64_t records{};       // looked at
  int64_t without_key{};
  std::vector<HeavyKey> keys;
};

// *blocks* Any thread. Empty when nothing is committed or the log is not open.
Result<KeySample> sample_keys(PartitionDriver& partition, KeySampleOptions const& options);

}  // namespace millrace::runtime
