// Receive buffers of one thread's connections. A buffer goes back to its pool with the last slice of it, from any
// thread. One accountant over all pools bounds what is out.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "millrace/base/units.h"
#include "millrace/bytes/shared_bytes.h"

namespace millrace::net {

// The memory that requests hold, over all threads: what frames are being read into, and what running requests were
// read into. Any thread may call; while memory is not short a call is a few loads and stores.
class RequestMemory {
 public:
  enum class Claim {
    within_limit,  // granted while the sum stays within the limit
    out_of_turn,   // counted and always granted: for small buffers of those that hold nothing else
    in_turn,       // one at a time, of any size, whatever the sum is
  };

  explicit RequestMemory(int64_t bytes_max) : bytes_max_(bytes_max) {}

  bool take(int64_t bytes, Claim claim) {
    if (claim == Claim::in_turn) {
      if (is_turn_taken_.exchange(true, std::memory_order_relaxed)) return false;
      turn_count_.fetch_add(1, std::memory_order_relaxed);
    }
    auto const before = used_.fetch_add(bytes, std::memory_order_relaxed);
    if (claim != Claim::within_limit || before + bytes <= bytes_max_) return true;
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  void give_back(int64_t bytes, Claim claim) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    if (claim == Claim::in_turn) is_turn_taken_.store(false, std::memory_order_relaxed);
  }

  // A connection that cannot go on until it is given `wanted_bytes`, and lacks `missing_bytes` to have its frame whole.
  using Ticket = uint64_t;
  Ticket join(int64_t wanted_bytes, int64_t missing_bytes);
  void leave(Ticket ticket);
  // Of all that wait, the one that may take the turn: mostly the one that lacks least, so that a crowd of huge requests
  // does not stand before everybody, but now and then the one that has waited for longest.
  bool is_first(Ticket ticket) const;
  int64_t wanted() const { return wanted_.load(std::memory_order_relaxed); }

  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t bytes_max() const { return bytes_max_; }

 private:
  int64_t const bytes_max_;
  std::atomic<int64_t> used_{0};
  std::atomic<int64_t> wanted_{0};
  std::atomic<bool> is_turn_taken_{false};
  std::atomic<uint64_t> turn_count_{0};

  struct Waiting {
    Ticket ticket{};
    int64_t wanted_bytes{};
    int64_t missing_bytes{};
  };
  static constexpr uint64_t kTurnsOfOldest = 4;  // one in so many
  mutable std::mutex mutex_;
  Ticket last_ticket_ = 0;         // guarded by mutex_, like what follows
  std::vector<Waiting> waiting_;   // the longest first
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr size_t kBytesMin = 128_KiB;
  static constexpr size_t kPooledBytesMax = 2_MiB;
  static constexpr size_t kKeptBytesMax = 8_MiB;

  // The accountant is kept alive by what is out.
  static std::shared_ptr<BufferPool> make(std::shared_ptr<RequestMemory> memory) {
    return std::shared_ptr<BufferPool>(new BufferPool(std::move(memory)));
  }

  // At least `bytes` long, content undefined; none when the claim is refused.
  std::optional<SharedBytes> acquire(size_t bytes, RequestMemory::Claim claim);
  RequestMemory& memory() { return *memory_; }

 private:
  using Storage = std::unique_ptr<std::byte[]>;
  static constexpr size_t kClassCount = 5;
  static_assert(kBytesMin << (kClassCount - 1) == kPooledBytesMax);

  explicit BufferPool(std::shared_ptr<RequestMemory> memory) : memory_(std::move(memory)) {}
  static size_t class_of(size_t bytes);  // kClassCount: too large to be kept
  void release(Storage storage, size_t bytes, RequestMemory::Claim claim);

  std::shared_ptr<RequestMemory> const memory_;
  std::mutex mutex_;
  std::array<std::vector<Storage>, kClassCount> free_;  // guarded by mutex_, like kept_bytes_
  size_t kept_bytes_ = 0;
};

}  // namespace millrace::net
