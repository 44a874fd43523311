// Timers of one thread at a resolution of one tick (a millisecond). Adding and cancelling are O(1) and touch no clock
// and no kernel timer: the owner asks for the next tick at which anything can happen and arms only that.
// Not thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "millrace/base/task.h"
#include "millrace/env/reactor.h"

namespace millrace::env_os {

class TimerWheel {
 public:
  TimerWheel();

  // Fires at `tick`, or at the next one when that has passed. Ticks further off than 64^6 fire then.
  env::TimerId add(int64_t tick, Task task);
  // Does nothing for a timer that has fired or for kNoTimer.
  void cancel(env::TimerId timer);

  // The earliest tick at which take_due() has something to do: no timer fires before it (perhaps none at it either).
  std::optional<int64_t> next_tick() const;
  // One due timer after the other, earlier ticks first; an empty task when none up to and including `tick` is left.
  // Between two calls the rest may still be cancelled. Time never moves back.
  Task take_due(int64_t tick);

  size_t size() const { return size_; }

 private:
  static constexpr int kLevels = 6;
  static constexpr int kSlotBits = 6;
  static constexpr int kSlots = 1 << kSlotBits;
  static constexpr uint32_t kNil = UINT32_MAX;
  static constexpr uint16_t kDueList = kLevels * kSlots;

  struct Node {
    Task task;
    int64_t tick{};
    uint32_t previous = kNil;
    uint32_t next = kNil;
    uint32_t generation = 1;
    uint16_t list{};
  };
  struct List {
    uint32_t first = kNil;
    uint32_t last = kNil;
  };

  void move_to(int64_t tick);
  Task pop_due();
  void place(uint32_t index);
  void link(uint32_t index, uint16_t list);
  void unlink(uint32_t index);
  void release(uint32_t index);

  std::vector<Node> nodes_;
  uint32_t free_ = kNil;
  std::array<List, kLevels * kSlots + 1> lists_;
  std::array<uint64_t, kLevels> occupied_{};  // one bit a slot
  int64_t now_ = 0;                           // every timer in a slot is later than this
  size_t size_ = 0;
};

}  // namespace millrace::env_os
