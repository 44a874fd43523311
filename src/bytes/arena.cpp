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
  // What is large gets a chunk of its own, and the current one stays in use: at most a quarter of a chunk is left over.
  auto const is_large = last_ != nullptr && bytes + sizeof(Chunk) > wanted / 4;
  auto const chunk_bytes = is_large ? bytes + sizeof(Chunk) : std::max(std::min(wanted, left), bytes + sizeof(Chunk));
  auto* const chunk = static_cast<Chunk*>(::operator new(chunk_bytes));
  allocated_bytes_ += chunk_bytes;
  auto const begin = reinterpret_cast<uintptr_t>(chunk + 1);
  if (is_large) {
    *chunk = {last_->previous, chunk_bytes};
    last_->previous = chunk;
  } else {
    *chunk = {last_, chunk_bytes};
    last_ = chunk;
    at_ = begin + bytes;
    end_ = reinterpret_cast<uintptr_t>(chunk) + chunk_bytes;
  }
  return reinterpret_cast<void*>(begin);
}

Str Arena::copy(Str text) {
  if (text.empty()) return {};
  auto* const memory = static_cast<char*>(allocate(text.size(), 1));
  std::memcpy(memory, text.data(), text.size());
  return {memory, text.size()};
}

void Arena::release(Chunk* keep) {
  for (auto* chunk = last_; chunk != nullptr;) {
    auto* const previous = chunk->previous;
    if (chunk != keep) {
      allocated_bytes_ -= chunk->bytes;
      ::operator delete(chunk);
    }
    chunk = previous;
  }
  last_ = keep;
  if (keep != nullptr) keep->previous = nullptr;
}

void Arena::reset() {
  auto* const keep = last_;
  release(keep);
  if (keep == nullptr) return;
  at_ = reinterpret_cast<uintptr_t>(keep + 1);
  end_ = reinterpret_cast<uintptr_t>(keep) + keep->bytes;
}

}  // namespace millrace
