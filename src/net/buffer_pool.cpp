#include "buffer_pool.h"

namespace millrace::net {

size_t BufferPool::class_of(size_t bytes) {
  size_t index = 0;
  while (index < kClassCount && (kBytesMin << index) < bytes) ++index;
  return index;
}

std::optional<SharedBytes> BufferPool::acquire(size_t bytes) {
  auto const index = class_of(bytes);
  auto const size = index < kClassCount ? kBytesMin << index : bytes;
  if (!budget_->take(static_cast<int64_t>(size))) return std::nullopt;
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
  std::shared_ptr<void> owner(data, [pool = shared_from_this(), size](void* memory) {
    pool->release(Storage(static_cast<std::byte*>(memory)), size);
  });
  return SharedBytes(std::move(owner), MutableByteView{data, size});
}

void BufferPool::release(Storage storage, size_t bytes) {
  budget_->give_back(static_cast<int64_t>(bytes));
  auto const index = class_of(bytes);
  if (index == kClassCount) return;
  std::lock_guard const lock(mutex_);
  if (kept_bytes_ + bytes > kKeptBytesMax) return;
  kept_bytes_ += bytes;
  free_[index].push_back(std::move(storage));
}

}  // namespace millrace::net
