#include "millrace/runtime/driver.h"

#include "millrace/base/assert.h"

namespace millrace::runtime {

void RunList::add(std::shared_ptr<Driver> driver) {
  ready_.push_back(std::move(driver));
  if (is_armed_) return;
  is_armed_ = true;
  reactor_.at_turn_end([this] { drain(); });
}

void RunList::drain() {
  is_armed_ = false;
  for (size_t round = 0; round < kRoundsMax && !ready_.empty(); ++round) {
    // A driver that is woken by another while we drain comes in the next round, never inside this one.
    is_armed_ = true;
    draining_.swap(ready_);
    for (auto& driver : draining_) driver->run_if_scheduled(*this);
    draining_.clear();
    is_armed_ = false;
  }
  if (ready_.empty()) return;
  is_armed_ = true;
  reactor_.post([this] { drain(); });
}

void RunList::abandon() {
  // Moved out first: what is destroyed may look at the list.
  static_cast<void>(std::exchange(draining_, {}));
  static_cast<void>(std::exchange(ready_, {}));
}

RunLists::RunLists(env::Env& env) {
  for (size_t i = 0; i < env.reactor_count(); ++i) lists_.push_back(std::make_unique<RunList>(env.reactor(i)));
  lists_.push_back(std::make_unique<RunList>(env.control_reactor()));
}

void RunLists::abandon() {
  for (auto& list : lists_) list->abandon();
}

RunList& RunLists::of(env::Reactor& reactor) {
  for (auto& list : lists_) {
    if (&list->reactor() == &reactor) return *list;
  }
  MR_ASSERT(false && "a reactor of another node");
  return *lists_.back();
}

void Driver::post(Task event, RunList& here) {
  bool must_start = false;
  {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    must_start = must_start_locked(Urgency::turn_end);
  }
  if (must_start) start(Urgency::turn_end, here);
}

bool Driver::must_start_locked(Urgency urgency) {
  if (state_ == State::running) return false;
  // Urgent work takes a driver that only waits for the end of some thread's turn.
  if (state_ == State::scheduled) return urgency == Urgency::now;
  state_ = State::scheduled;
  return true;
}

void Driver::start(Urgency urgency, RunList& here) {
  // As if another thread held the driver for a while: what comes meanwhile gathers.
  if (MR_CHAOS(hooks_, "driver.busy")) {
    here.reactor().post([self = shared_from_this(), list = &here] { self->run_if_scheduled(*list); });
    return;
  }
  if (urgency == Urgency::now) run_if_scheduled(here);
  else here.add(shared_from_this());
}

void Driver::run_if_scheduled(RunList& here) {
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::scheduled) return;
    state_ = State::running;
  }
  run(here);
}

void Driver::drop_events() {
  std::vector<Task> dropped[2];  // destroyed without the mutex
  std::lock_guard lock(mutex_);
  dropped[0].swap(events_);
  dropped[1].swap(running_events_);
}

void Driver::run(RunList& here) {
  here_ = &here;
  size_t count = 0;
  for (;;) {
    bool has_requests = false;
    {
      std::lock_guard lock(mutex_);
      running_events_.swap(events_);
      has_requests = take_requests_locked();
      if (running_events_.empty() && !has_requests) {
        here_ = nullptr;
        state_ = State::idle;
        return;
      }
    }
    for (auto& event : running_events_) std::move(event)();
    count += running_events_.size();
    running_events_.clear();
    if (has_requests) count += run_requests();
    finish_round();
    if (count < kEventsPerTurnMax) continue;
    MR_PROBE(hooks_, "driver.rest_posted");
    {
      std::lock_guard lock(mutex_);
      here_ = nullptr;
      state_ = State::scheduled;
    }
    here.reactor().post([self = shared_from_this(), list = &here] { self->run_if_scheduled(*list); });
    return;
  }
}

}  // namespace millrace::runtime
