#include "millrace/base/random.h"

#include "millrace/base/assert.h"

namespace millrace {
namespace {

uint64_t splitmix(uint64_t& state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

}  // namespace

Random::Random(uint64_t seed) : seed_(seed) {
  for (auto& word : state_) word = splitmix(seed);
}

Random Random::fork(std::string_view purpose) const {
  uint64_t hash = 0xcbf29ce484222325ULL ^ seed_;
  for (char c : purpose) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return Random(hash);
}

uint64_t Random::next() {
  uint64_t const result = rotate_left(state_[1] * 5, 7) * 9;
  uint64_t const t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = rotate_left(state_[3], 45);
  return result;
}

__extension__ typedef unsigned __int128 Wide;

uint64_t Random::below(uint64_t limit) {
  MR_ASSERT(limit > 0);
  return static_cast<uint64_t>((static_cast<Wide>(next()) * limit) >> 64);
}

int64_t Random::between(int64_t low, int64_t high) {
  MR_ASSERT(low <= high);
  auto const width = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  return static_cast<int64_t>(static_cast<uint64_t>(low) + (width == 0 ? next() : below(width)));
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

bool Random::chance(double probability) { return unit() < probability; }

}  // namespace millrace
