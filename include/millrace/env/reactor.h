// Event loops, timers and blocking pools as the environment gives them. In simulation all of them are one queue
// ordered by (virtual time, seeded tie-break).
#pragma once
#include <cstdint>

#include "millrace/base/task.h"
#include "millrace/base/time.h"

namespace millrace::env {

using TimerId = uint64_t;
inline constexpr TimerId kNoTimer = 0;

// One thread's event loop. A node that stops or crashes destroys what is queued here without running it.
class Reactor {
 public:
  virtual ~Reactor() = default;

  // The node's monotonic clock; a few nanoseconds. Any thread.
  virtual Mono now() const = 0;
  // Any thread. Tasks posted by one thread run in the order of posting.
  virtual void post(Task task) = 0;
  // Own thread only. Runs once the events of the current turn have been handled, before the loop sleeps.
  virtual void at_turn_end(Task task) = 0;
  // Own thread only. Resolution is a millisecond; runs at or after `when`.
  virtual TimerId call_at(Mono when, Task task) = 0;
  // Own thread only. Cancelling a timer that has run, or kNoTimer, does nothing.
  virtual void cancel(TimerId timer) = 0;
  // True on this loop's thread (in simulation: while one of its tasks runs).
  virtual bool is_current() const = 0;
};

// Threads that may block: cold reads, syncs, recovery, unlink. One pool per log directory and one for the node.
// The queue is unbounded here; each submitter has at most a named number of jobs outstanding.
class Pool {
 public:
  virtual ~Pool() = default;

  // Runs `job` on the pool, then posts `done` to `back`. Any thread. `job` may take seconds.
  virtual void run(Reactor& back, Task job, Task done) = 0;

  // For one short disk call such as an append to the page cache. Call on `back`'s thread. Really: job and done run
  // inline before this returns, unless the directory is known to be slow, then as run(). In simulation both run
  // later, after a drawn latency. Callers must be ready for both.
  virtual void run_short(Reactor& back, Task job, Task done) = 0;
};

}  // namespace millrace::env
