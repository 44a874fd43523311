#include "timer_wheel.h"

#include <bit>

#include "millrace/base/assert.h"

namespace millrace::env_os {

TimerWheel::TimerWheel() = default;

env::TimerId TimerWheel::add(int64_t tick, Task task) {
  uint32_t index = free_;
  if (index == kNil) {
    index = static_cast<uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[index].next;
  }
  auto& node = nodes_[index];
  node.task = std::move(task);
  node.tick = std::clamp<int64_t>(tick, now_ + 1, now_ + (int64_t{1} << (kLevels * kSlotBits)) - kSlots);
  ++size_;
  place(index);
  return (static_cast<uint64_t>(node.generation) << 32) | index;
}

void TimerWheel::cancel(env::TimerId timer) {
  auto const index = static_cast<uint32_t>(timer);
  auto const generation = static_cast<uint32_t>(timer >> 32);
  if (timer == env::kNoTimer || index >= nodes_.size() || nodes_[index].generation != generation) return;
  unlink(index);
  auto const dropped = std::move(nodes_[index].task);  // destroyed last: its destructor may come back here
  release(index);
}

// A timer lies on the level of the highest digit (base 64) in which its tick differs from now. So all timers of a
// slot become nearer together when time reaches the slot's start, and a lower level is always earlier.
void TimerWheel::place(uint32_t index) {
  auto const tick = static_cast<uint64_t>(nodes_[index].tick);
  auto const differing = tick ^ static_cast<uint64_t>(now_);
  if (differing == 0) return link(index, kDueList);
  auto const level = std::min((63 - std::countl_zero(differing)) / kSlotBits, kLevels - 1);
  auto const slot = (tick >> (level * kSlotBits)) & (kSlots - 1);
  link(index, static_cast<uint16_t>(level * kSlots + static_cast<int>(slot)));
}

std::optional<int64_t> TimerWheel::next_tick() const {
  if (lists_[kDueList].first != kNil) return now_;
  for (int level = 0; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    auto const shift = level * kSlotBits;
    auto const current = (now_ >> shift) & (kSlots - 1);
    // On the topmost level slots may have wrapped round; below, every occupied slot lies ahead.
    auto const ahead = occupied_[level] & ~((uint64_t{2} << current) - 1);
    auto const above = now_ >> (shift + kSlotBits);
    if (ahead != 0) return ((above << kSlotBits) + std::countr_zero(ahead)) << shift;
    return (((above + 1) << kSlotBits) + std::countr_zero(occupied_[level])) << shift;
  }
  return std::nullopt;
}

Task TimerWheel::take_due(int64_t tick) {
  while (true) {
    if (lists_[kDueList].first != kNil) return pop_due();
    auto const next = next_tick();
    if (!next || *next > tick) break;
    move_to(*next);
  }
  now_ = std::max(now_, tick);
  return {};
}

// Slots that begin at `tick`: their timers move down a level, those of this very tick become due.
void TimerWheel::move_to(int64_t tick) {
  now_ = tick;
  for (int level = kLevels - 1; level >= 0; --level) {
    auto const shift = level * kSlotBits;
    if ((tick & ((int64_t{1} << shift) - 1)) != 0) continue;
    auto index = lists_[level * kSlots + ((tick >> shift) & (kSlots - 1))].first;
    while (index != kNil) {
      auto const following = nodes_[index].next;
      unlink(index);
      place(index);
      index = following;
    }
  }
}

Task TimerWheel::pop_due() {
  auto const index = lists_[kDueList].first;
  if (index == kNil) return {};
  unlink(index);
  auto task = std::move(nodes_[index].task);
  release(index);
  return task;
}

void TimerWheel::link(uint32_t index, uint16_t list) {
  auto& node = nodes_[index];
  auto& ends = lists_[list];
  node.list = list;
  node.previous = ends.last;
  node.next = kNil;
  if (ends.last == kNil) ends.first = index;
  else nodes_[ends.last].next = index;
  ends.last = index;
  if (list != kDueList) occupied_[list / kSlots] |= uint64_t{1} << (list % kSlots);
}

void TimerWheel::unlink(uint32_t index) {
  auto& node = nodes_[index];
  auto& ends = lists_[node.list];
  if (node.previous == kNil) ends.first = node.next;
  else nodes_[node.previous].next = node.next;
  if (node.next == kNil) ends.last = node.previous;
  else nodes_[node.next].previous = node.previous;
  if (ends.first == kNil && node.list != kDueList) occupied_[node.list / kSlots] &= ~(uint64_t{1} << (node.list % kSlots));
}

void TimerWheel::release(uint32_t index) {
  auto& node = nodes_[index];
  node.generation = node.generation == UINT32_MAX ? 1 : node.generation + 1;
  node.next = free_;
  free_ = index;
  --size_;
}

}  // namespace millrace::env_os
