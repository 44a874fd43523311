// Arena: memory of one request, given back all at once. Array: elements that live in an arena (or in a vector that the
// caller keeps). Neither is thread-safe; nothing in an arena is destroyed, so elements must not need it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "millrace/base/assert.h"
#include "millrace/bytes/view.h"

namespace millrace {

using Str = std::string_view;  // a view of a frame, of an arena or of a literal; never owns

struct NullArray {};
inline constexpr NullArray kNullArray{};

// What all arrays share, so that one interpreter can fill any of them. A null array has count -1.
struct ArrayBase {
  void* raw_elements = nullptr;
  int32_t raw_count = 0;
};

template <class T>
class Array : private ArrayBase {
 public:
  constexpr Array() = default;
  constexpr Array(NullArray) : ArrayBase{nullptr, -1} {}  // NOLINT: reads as `field = kNullArray`
  Array(T* elements, size_t count) : ArrayBase{elements, static_cast<int32_t>(count)} {
    static_assert(std::is_trivially_destructible_v<T>);
    MR_ASSERT(count <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  }
  // Borrows: the vector must outlive the array and not grow meanwhile.
  Array(std::vector<T>& elements) : Array(elements.data(), elements.size()) {}  // NOLINT

  bool is_null() const { return raw_count < 0; }
  bool empty() const { return raw_count <= 0; }
  size_t size() const { return raw_count < 0 ? 0 : static_cast<size_t>(raw_count); }
  T* data() { return static_cast<T*>(raw_elements); }
  T const* data() const { return static_cast<T const*>(raw_elements); }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  T const* begin() const { return data(); }
  T const* end() const { return data() + size(); }
  T& operator[](size_t index) {
    MR_ASSERT(index < size());
    return data()[index];
  }
  T const& operator[](size_t index) const {
    MR_ASSERT(index < size());
    return data()[index];
  }
  T& front() { return (*this)[0]; }
  T const& front() const { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }
  T const& back() const { return (*this)[size() - 1]; }
  std::span<T const> span() const { return {data(), size()}; }
  // Drops elements at the end; the memory stays with the arena.
  void shrink(size_t size_new) {
    MR_ASSERT(size_new <= size());
    raw_count = static_cast<int32_t>(size_new);
  }
};

class Arena {
 public:
  static constexpr size_t kFirstChunkBytes = 1024;
  static constexpr size_t kChunkBytesMax = 8 * 1024;
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  // `bytes_max` bounds what the arena takes from the heap, slack included.
  explicit Arena(size_t bytes_max = kUnlimited) : bytes_max_(bytes_max) {}
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    Arena(std::move(other)).swap(*this);
    return *this;
  }
  ~Arena() { release(nullptr); }

  // Null when the limit would be passed: for sizes that a peer chose.
  void* try_allocate(size_t bytes, size_t alignment) {
    auto const at = (at_ + alignment - 1) & ~(static_cast<uintptr_t>(alignment) - 1);
    if (at < at_ || at > end_ || bytes > end_ - at) [[unlikely]]
      return allocate_slowly(bytes, alignment);
    at_ = at + bytes;
    return reinterpret_cast<void*>(at);
  }
  void* allocate(size_t bytes, size_t alignment) {
    auto* const memory = try_allocate(bytes, alignment);
    MR_ASSERT(memory != nullptr);
    return memory;
  }

  // Elements are value-initialised. For counts that we chose ourselves: passing the limit is our bug.
  template <class T>
  Array<T> array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    MR_ASSERT(count <= kUnlimited / sizeof(T));
    auto* const elements = static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
    std::uninitialized_value_construct_n(elements, count);
    return {elements, count};
  }
  template <class T>
  Array<T> copy(std::span<T const> from) {
    auto out = array<T>(from.size());
    std::copy(from.begin(), from.end(), out.begin());
    return out;
  }
  Str copy(Str text);
  ByteView copy(ByteView bytes) { return as_bytes(copy(as_text(bytes))); }

  size_t allocated_bytes() const { return allocated_bytes_; }  // taken from the heap
  // Forgets everything and keeps one chunk for the next request.
  void reset();

 private:
  struct Chunk {
    Chunk* previous;
    size_t bytes;  // with this header
  };
  void* allocate_slowly(size_t bytes, size_t alignment);
  void release(Chunk* keep);
  void swap(Arena& other) noexcept {
    std::swap(bytes_max_, other.bytes_max_);
    std::swap(allocated_bytes_, other.allocated_bytes_);
    std::swap(last_, other.last_);
    std::swap(at_, other.at_);
    std::swap(end_, other.end_);
  }

  size_t bytes_max_ = kUnlimited;
  size_t allocated_bytes_ = 0;
  Chunk* last_ = nullptr;
  uintptr_t at_ = 0;
  uintptr_t end_ = 0;
};

// Grows in an arena when the count is not known before; finish() gives the elements and leaves the builder empty.
template <class T>
class ArrayBuilder {
 public:
  explicit ArrayBuilder(Arena& arena, size_t capacity = 0) : arena_(arena) {
    if (capacity > 0) reserve(capacity);
  }
  T& add(T const& element = {}) {
    if (size_ == room_.size()) reserve(size_ == 0 ? 8 : size_ * 2);
    room_[size_] = element;
    return room_[size_++];
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& back() {
    MR_ASSERT(size_ > 0);
    return room_[size_ - 1];
  }
  Array<T> finish() {
    auto out = std::exchange(room_, {});
    out.shrink(std::exchange(size_, 0));
    return out;
  }

 private:
  void reserve(size_t capacity) {
    auto room = arena_.array<T>(capacity);
    std::copy(room_.begin(), room_.begin() + size_, room.begin());
    room_ = room;
  }
  Arena& arena_;
  Array<T> room_;
  size_t size_ = 0;
};

}  // namespace millrace
