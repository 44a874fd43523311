// Receive buffers of one thread's connections. A buffer goes back to its pool with the last slice of it, from any
// thread. One budget over all pools bounds what is out.
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

// Bytes in receive buffers, over all threads.
class BufferBudget {
 public:
  explicit BufferBudget(int64_t bytes_max) : bytes_max_(bytes_max) {}
  bool take(int64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= bytes_max_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(int64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  int64_t const bytes_max_;
  std::atomic<int64_t> used_{0};
};

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr size_t kBytesMin = 128_KiB;
  static constexpr size_t kPooledBytesMax = 2_MiB;
  static constexpr size_t kKeptBytesMax = 8_MiB;

  // The budget is kept alive by what is out.
  static std::shared_ptr<BufferPool> make(std::shared_ptr<BufferBudget> budget) {
    return std::shared_ptr<BufferPool>(new BufferPool(std::move(budget)));
  }

  // At least `bytes` long, content undefined; none when the budget is spent.
  std::optional<SharedBytes> acquire(size_t bytes);

 private:
  using Storage = std::unique_ptr<std::byte[]>;
  static constexpr size_t kClassCount = 5;
  static_assert(kBytesMin << (kClassCount - 1) == kPooledBytesMax);

  explicit BufferPool(std::shared_ptr<BufferBudget> budget) : budget_(std::move(budget)) {}
  static size_t class_of(size_t bytes);  // kClassCount: too large to be kept
  void release(Storage storage, size_t bytes);

  std::shared_ptr<BufferBudget> const budget_;
  std::mutex mutex_;
  std::array<std::vector<Storage>, kClassCount> free_;  // guarded by mutex_, like kept_bytes_
  size_t kept_bytes_ = 0;
};

}  // namespace millrace::net
