// Fifo keeps order through pushes, pops, compaction, insertion and removal, as a deque would.
#include <gtest/gtest.h>

#include <deque>

#include "millrace/base/fifo.h"
#include "millrace/base/random.h"

namespace millrace {

TEST(Fifo, behaves_as_a_deque) {
  Random random(8123);
  Fifo<int> fifo;
  std::deque<int> deque;
  for (int i = 0; i < 20'000; ++i) {
    auto const choice = random.below(10);
    if (choice < 5 || deque.empty()) {
      fifo.push_back(i);
      deque.push_back(i);
    } else if (choice < 8) {
      ASSERT_EQ(fifo.front(), deque.front());
      fifo.pop_front();
      deque.pop_front();
    } else {
      auto const at = static_cast<std::ptrdiff_t>(random.below(deque.size()));
      if (choice == 8) {
        fifo.insert(fifo.begin() + at, i);
        deque.insert(deque.begin() + at, i);
      } else {
        fifo.erase(fifo.begin() + at);
        deque.erase(deque.begin() + at);
      }
    }
    ASSERT_EQ(fifo.size(), deque.size());
    ASSERT_EQ(fifo.empty(), deque.empty());
    if (i % 97 == 0) {
      ASSERT_TRUE(std::equal(fifo.begin(), fifo.end(), deque.begin(), deque.end()));
    }
  }
}

}  // namespace millrace
