// One seeded stream of pseudo-random numbers (splitmix64 seeding xoshiro256**). Not for secrets. Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace millrace {

class Random {
 public:
  explicit Random(uint64_t seed);
  // An independent stream for `purpose`: adding a draw to one stream never shifts another.
  Random fork(std::string_view purpose) const;

  uint64_t next();
  uint64_t below(uint64_t limit);              // [0, limit), limit > 0
  int64_t between(int64_t low, int64_t high);  // [low, high]
  bool chance(double probability);
  double unit();                               // [0, 1)

 private:
  std::array<uint64_t, 4> state_;
  uint64_t seed_;
};

}  // namespace millrace
