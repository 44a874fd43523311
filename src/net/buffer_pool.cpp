#include "buffer_pool.h"

#include "millrace/base/assert.h"

namespace millrace::net {

RequestMemory::Ticket RequestMemory::join(int64_t wanted_bytes, int64_t missing_bytes) {
  std::lock_guard const lock(mutex_);
  wanted_.fetch_add(wanted_bytes, std::memory_order_relaxed);
  waiting_.push_back({++last_ticket_, wanted_bytes, missing_bytes});
  return last_ticket_;
}

void RequestMemory::leave(Ticket ticket) {
  std::lock_guard const lock(mutex_);
  auto const found = std::ranges::find(waiting_, ticket, &Waiting::ticket);
  MR_ASSERT(found != waiting_.end());
  wanted_.fetch_sub(found->wanted_bytes, std::memory_order_relaxed);
  waiting_.erase(found);
}

bool RequestMemory::is_first(Ticket ticket) const {
  if (is_turn_taken_.load(std::memory_order_relaxed)) return false;
  std::lock_guard const lock(mutex_);
  if (waiting_.empty()) return false;
  if (turn_count_.load(std::memory_order_relaxed) % kTurnsOfOldest == kTurnsOfOldest - 1) {
    return waiting_.front().ticket == ticket;
  }
  return std::ranges::min_element(waiting_, {}, &Waiting::missing_bytes)->ticket == ticket;
}

size_t BufferPool::class_of(size_t bytes) {
  size_t index = 0;
  while (index < kClassCount && (kBytesMin << index) < bytes) ++index;
  return index;
}

std::optional<SharedBytes> BufferPool::acquire(size_t bytes, RequestMemory::Claim claim) {
  auto const index = class_of(bytes);
  auto const size = index < kClassCount ? kBytesMin << index : bytes;
  if (!memory_->take(static_cast<int64_t>(size), claim)) return std::nullopt;
  Storage storage;
  if (index < kClassCount) {
    std::lock_guard const lock(mutex_);
    if (!free_[index].empty()) {
      storage = std::move(free_[index].back());  // the one used last is the warmest
      free_[index].pop_back();
      kept_bytes_ -= size;
    }
  }
  if (!storage) storage.reset(new std::byte[size]);
  auto* const data = storage.release();
  std::shared_ptr<void> owner(data, [pool = shared_from_this(), size, claim](void* memory) {
    pool->release(Storage(static_cast<std::byte*>(memory)), size, claim);
  });
  return SharedBytes(std::move(owner), MutableByteView{data, size});
}

void BufferPool::release(Storage storage, size_t bytes, RequestMemory::Claim claim) {
  memory_->give_back(static_cast<int64_t>(bytes), claim);
  auto const index = class_of(bytes);
  if (index == kClassCount) return;
  std::lock_guard const lock(mutex_);
  if (kept_bytes_ + bytes > kKeptBytesMax) return;
  kept_bytes_ += bytes;
  free_[index].push_back(std::move(storage));
}

}  // namespace millrace::net
