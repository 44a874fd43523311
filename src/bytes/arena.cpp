#include "millrace/bytes/arena.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace millrace {

void* Arena::allocate_slowly(size_t bytes, size_t alignment) {
  MR_ASSERT(alignment <= alignof(std::max_align_t));
  static_assert(sizeof(Chunk) % alignof(std::max_align_t) == 0);
  auto const left = bytes_max_ - allocated_bytes_;
  if (left < sizeof(Chunk) || bytes > left - sizeof(Chunk)) return nullptr;
  auto const wanted = last_ == nullptr ? kFirstChunkBytes : std::min(last_->bytes * 2, kChunkBytesMax);
  auto const chunk_bytes = std::max(std::min(wanted, left), bytes + sizeof(Chunk));
  auto* const chunk = static_cast<Chunk*>(::operator new(chunk_bytes));
  *chunk = {last_, chunk_bytes};
  last_ = chunk;
  allocated_bytes_ += chunk_bytes;
  at_ = reinterpret_cast<uintptr_t>(chunk + 1);
  end_ = reinterpret_cast<uintptr_t>(chunk) + chunk_bytes;
  auto* const memory = reinterpret_cast<void*>(at_);
  at_ += bytes;
  return memory;
}

Str Arena::copy(Str text) {
  if (text.empty()) return {};
  auto* const memory = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(memory, text.data(), text.size());
  return {memory, text.size()};
}

void Arena::release(Chunk* keep) {
  while (last_ != keep) {
    auto* const chunk = last_;
    last_ = chunk->previous;
    allocated_bytes_ -= chunk->bytes;
    ::operator delete(chunk);
  }
}

void Arena::reset() {
  auto* first = last_;
  while (first != nullptr && first->previous != nullptr) first = first->previous;
  release(first);
  if (first == nullptr) return;
  at_ = reinterpret_cast<uintptr_t>(first + 1);
  end_ = reinterpret_cast<uintptr_t>(first) + first->bytes;
}

}  // namespace millrace
