// SharedBytes: a view that keeps its storage alive. Copying shares; the storage is freed (or goes back to its pool)
// with the last copy. Any thread may hold a copy; who writes through mutable_view() must be the only user.
#pragma once
#include <memory>
#include <utility>

#include "millrace/base/assert.h"
#include "millrace/bytes/view.h"

namespace millrace {

class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::shared_ptr<std::byte[]> storage, size_t size) : view_(storage.get(), size), owner_(std::move(storage)) {}
  // `owner` keeps whatever `view` points into alive (a pooled buffer, a mapped file, a string).
  SharedBytes(std::shared_ptr<void> owner, MutableByteView view) : view_(view), owner_(std::move(owner)) {}

  static SharedBytes allocate(size_t size) { return {std::shared_ptr<std::byte[]>(new std::byte[size]), size}; }
  static SharedBytes copy_of(ByteView bytes) {
    auto out = allocate(bytes.size());
    std::copy(bytes.begin(), bytes.end(), out.view_.begin());
    return out;
  }

  ByteView view() const { return view_; }
  MutableByteView mutable_view() const { return view_; }
  std::byte const* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  SharedBytes slice(size_t position, size_t count) const {
    MR_ASSERT(position <= size() && count <= size() - position);
    return {owner_, view_.subspan(position, count)};
  }
  long use_count() const { return owner_.use_count(); }

 private:
  MutableByteView view_{};
  std::shared_ptr<void> owner_;
};

}  // namespace millrace
