// The timers of one machine in one ordered queue. Moving a timer later, which each heartbeat does, only writes its due
// time; the queue finds out when the old time comes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "millrace/base/time.h"

namespace millrace::coordinator {

enum class TimerKind : uint8_t { session, join, sync, cleanup };

// Kept by its owner; cancel before the owner goes.
struct Timer {
  Mono due = Mono::never();  // never: not armed
  std::optional<std::pair<Mono, uint64_t>> queued;
};

class Timers {
 public:
  struct Target {
    TimerKind kind{};
    std::string group_id, member_id;
  };

  void arm(Timer& timer, Mono due, TimerKind kind, std::string const& group_id = {},
           std::string const& member_id = {}) {
    timer.due = due;
    if (timer.queued && timer.queued->first <= due) return;
    if (timer.queued) queue_.erase(*timer.queued);
    timer.queued = {due, next_serial_++};
    queue_.emplace(*timer.queued, Target{kind, group_id, member_id});
  }
  void cancel(Timer& timer) {
    if (timer.queued) queue_.erase(*timer.queued);
    timer = {};
  }

  Mono next() const { return queue_.empty() ? Mono::never() : queue_.begin()->first.first; }
  // The first entry whose time has come; its owner must call fire() for it next.
  Target const* first(Mono now) const {
    return queue_.empty() || queue_.begin()->first.first > now ? nullptr : &queue_.begin()->second;
  }
  // True: the timer of first() is due and no longer armed. False: it had been moved and is queued again.
  bool fire(Timer& timer, Mono now) {
    auto node = queue_.extract(queue_.begin());
    timer.queued.reset();
    if (timer.due <= now) {
      timer.due = Mono::never();
      return true;
    }
    node.key() = {timer.due, next_serial_++};
    timer.queued = node.key();
    queue_.insert(std::move(node));
    return false;
  }
  void clear() { queue_.clear(); }
  size_t size() const { return queue_.size(); }

 private:
  std::map<std::pair<Mono, uint64_t>, Target> queue_;
  uint64_t next_serial_ = 0;
};

}  // namespace millrace::coordinator
