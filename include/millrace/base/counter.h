// A counter that one thread raises and any thread reads. No lock prefix on the hot path.
#pragma once
#include <atomic>
#include <cstdint>

namespace millrace {

class Counter {
 public:
  void add(int64_t count) { value_.store(value() + count, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

}  // namespace millrace
