// A queue in one piece of memory: as a vector whose first elements have been taken. Holds nothing until it is used, so
// that thousands of idle ones cost little; what was taken is given back when half of it is.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "millrace/base/assert.h"

namespace millrace {

template <class T>
class Fifo {
 public:
  using iterator = typename std::vector<T>::iterator;
  using const_iterator = typename std::vector<T>::const_iterator;

  bool empty() const { return first_ == elements_.size(); }
  size_t size() const { return elements_.size() - first_; }
  iterator begin() { return elements_.begin() + static_cast<std::ptrdiff_t>(first_); }
  iterator end() { return elements_.end(); }
  const_iterator begin() const { return elements_.begin() + static_cast<std::ptrdiff_t>(first_); }
  const_iterator end() const { return elements_.end(); }
  T& front() { MR_ASSERT(!empty()); return elements_[first_]; }
  T const& front() const { MR_ASSERT(!empty()); return elements_[first_]; }
  T& operator[](size_t index) { MR_ASSERT(index < size()); return elements_[first_ + index]; }

  void push_back(T element) { elements_.push_back(std::move(element)); }
  void insert(iterator at, T element) { elements_.insert(at, std::move(element)); }
  void erase(iterator at) { elements_.erase(at); }
  void pop_front() {
    MR_ASSERT(!empty());
    elements_[first_++] = T{};
    if (first_ == elements_.size()) {
      elements_.clear();
      first_ = 0;
    } else if (first_ >= kCompactMin && first_ * 2 >= elements_.size()) {
      elements_.erase(elements_.begin(), begin());
      first_ = 0;
    }
  }
  void clear() {
    elements_.clear();
    first_ = 0;
  }

 private:
  static constexpr size_t kCompactMin = 32;
  std::vector<T> elements_;
  size_t first_ = 0;
};

}  // namespace millrace
