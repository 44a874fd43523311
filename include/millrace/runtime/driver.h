// Driver: a mailbox with a running flag around one machine. Who finds it idle runs it; others enqueue and leave, so
// that what gathers meanwhile is handled together. RunList: the drivers that one thread will run once the current turn
// of its event loop is over.
//
// Two lanes: completions (posted tasks) are never refused and go first; requests are the subclass's, bounded by it.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/task.h"
#include "millrace/env/env.h"
#include "millrace/env/reactor.h"

namespace millrace::runtime {

class Driver;

// One a reactor; only its thread touches it. Outlives the drivers that are on it.
class RunList {
 public:
  explicit RunList(env::Reactor& reactor) : reactor_(reactor) {}
  env::Reactor& reactor() { return reactor_; }
  void add(std::shared_ptr<Driver> driver);
  // The node is gone and nothing runs any more: lets go of the drivers that were to run.
  void abandon();

 private:
  // Drivers that wake each other for ever must not keep the loop from its sockets.
  static constexpr size_t kRoundsMax = 16;
  void drain();

  env::Reactor& reactor_;
  std::vector<std::shared_ptr<Driver>> ready_;
  std::vector<std::shared_ptr<Driver>> draining_;
  bool is_armed_ = false;
};

// The run lists of a node, by reactor. Immutable after construction; any thread.
class RunLists {
 public:
  explicit RunLists(env::Env& env);
  RunList& of(env::Reactor& reactor);
  RunList& control() { return *lists_.back(); }
  void abandon();

 private:
  std::vector<std::unique_ptr<RunList>> lists_;  // the control reactor's is the last
};

class Driver : public std::enable_shared_from_this<Driver> {
 public:
  static constexpr size_t kEventsPerTurnMax = 64;

  explicit Driver(Hooks& hooks) : hooks_(hooks) {}
  virtual ~Driver() = default;
  Driver(Driver const&) = delete;
  Driver& operator=(Driver const&) = delete;

  // Enqueues a completion. `here` is the calling thread's list; the task runs on whichever thread runs the driver.
  void post(Task event, RunList& here);
  // Runs the driver if it is still waiting to be run. Called by RunList and by posts of ours.
  void run_if_scheduled(RunList& here);

 protected:
  enum class State { idle, scheduled, running };
  enum class Urgency { turn_end, now };

  // Called with mutex_ held after a request was queued; true: the caller must then call start(), without the mutex.
  bool must_start_locked(Urgency urgency);
  void start(Urgency urgency, RunList& here);

  // The node is gone and nothing runs any more: destroys the events that will not be handled.
  void drop_events();

  // Mutex held. Moves waiting requests to the runner's side; false: there are none, or they may not start now.
  virtual bool take_requests_locked() = 0;
  // By the runner, without the mutex, after a successful take. Returns how many events it handled.
  virtual size_t run_requests() = 0;
  // By the runner, once everything taken has been handled: publish, reply.
  virtual void finish_round() = 0;

  // The list of the thread that runs the driver; only while it runs.
  RunList& here() { return *here_; }
  bool is_running_here() const { return here_ != nullptr; }
  Hooks& hooks() { return hooks_; }

  std::mutex mutex_;

 private:
  void run(RunList& here);

  Hooks& hooks_;
  State state_ = State::idle;  // mutex_
  std::vector<Task> events_;   // mutex_
  std::vector<Task> running_events_;
  RunList* here_ = nullptr;    // by the runner only
};

}  // namespace millrace::runtime
