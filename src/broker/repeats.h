// What a request names more than once. Kafka answers it each time, and so do we a few times: a repeat takes a few bytes
// of a request, and its answer may be as large as a group's state, so that many of them would make gigabytes.
#pragma once
#include <cstddef>
#include <set>

namespace millrace::broker {

template <class Name>
class Repeats {
 public:
  static constexpr size_t kRepeatsMax = 16;  // of all names of one request together

  // False when that is used up: the repeat is refused.
  bool may_answer(Name name) { return seen_.insert(std::move(name)).second || ++repeat_count_ <= kRepeatsMax; }

 private:
  std::set<Name> seen_;
  size_t repeat_count_ = 0;
};

}  // namespace millrace::broker
