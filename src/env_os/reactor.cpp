#include "reactor.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "millrace/base/assert.h"

namespace millrace::env_os {

OsReactor::OsReactor(std::string name, std::chrono::steady_clock::time_point epoch)
    : name_(std::move(name)), epoch_(epoch), work_(boost::asio::make_work_guard(context_)), alarm_(context_),
      wake_(context_, ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  arm_wake();
}

OsReactor::~OsReactor() { MR_ASSERT(!thread_.joinable()); }

void OsReactor::start() {
  thread_ = std::thread([this] { run(); });
}

void OsReactor::stop() {
  stopping_ = true;
  context_.stop();
}

void OsReactor::join() {
  if (!thread_.joinable()) return;
  thread_.join();
  has_ended_ = true;
}

bool OsReactor::drop_queued() {
  std::vector<Task> inbox;
  {
    std::lock_guard const lock(inbox_mutex_);
    inbox.swap(inbox_);
  }
  auto const turn_end = std::exchange(turn_end_, {});
  auto const flush = std::exchange(flush_, {});
  auto const timers = std::exchange(wheel_, TimerWheel());
  return !inbox.empty() || !turn_end.empty() || !flush.empty() || timers.size() != 0;
}

Mono OsReactor::now() const { return {std::chrono::steady_clock::now() - epoch_}; }

// The loop looks into its inbox every turn; it is woken only when it sleeps, and not under a lock that it needs then.
void OsReactor::post(Task task) {
  {
    std::lock_guard const lock(inbox_mutex_);
    inbox_.push_back(std::move(task));
  }
  if (!is_sleeping_.load() || !is_sleeping_.exchange(false)) return;
  uint64_t const one = 1;
  static_cast<void>(::write(wake_.native_handle(), &one, sizeof one));
}

bool OsReactor::drain_inbox() {
  {
    std::lock_guard const lock(inbox_mutex_);
    inbox_running_.swap(inbox_);
  }
  if (inbox_running_.empty()) return false;
  for (auto& task : inbox_running_) std::move(task)();
  inbox_running_.clear();
  return true;
}

void OsReactor::arm_wake() {
  wake_.async_wait(boost::asio::posix::descriptor_base::wait_read, [this](boost::system::error_code const& error) {
    if (error) return;
    // Waiting anew would find it readable for ever.
    uint64_t count = 0;
    static_cast<void>(::read(wake_.native_handle(), &count, sizeof count));
    arm_wake();
  });
}

// Until something happens. Who posts after the inbox was found empty sees the flag and wakes us.
void OsReactor::sleep() {
  is_sleeping_.store(true);
  bool is_empty = false;
  {
    std::lock_guard const lock(inbox_mutex_);
    is_empty = inbox_.empty();
  }
  if (is_empty) context_.run_one();
  is_sleeping_.store(false);
}

void OsReactor::at_turn_end(Task task) {
  MR_ASSERT(is_current());
  turn_end_.push_back(std::move(task));
}

void OsReactor::at_flush(Task task) {
  MR_ASSERT(is_current());
  flush_.push_back(std::move(task));
}

int64_t OsReactor::tick_of(Mono when) const {
  constexpr auto kTick = Duration(1ms);
  return (when.since_start.count() / kTick.count()) + (when.since_start.count() % kTick.count() != 0 ? 1 : 0);
}

env::TimerId OsReactor::call_at(Mono when, Task task) {
  MR_ASSERT(is_current());
  auto const timer = wheel_.add(tick_of(when), std::move(task));
  arm();
  return timer;
}

void OsReactor::cancel(env::TimerId timer) {
  MR_ASSERT(is_current());
  wheel_.cancel(timer);  // the alarm stays: waking once for nothing is cheaper than setting it each time
}

void OsReactor::arm() {
  auto const next = wheel_.next_tick();
  if (!next || (armed_tick_ && *armed_tick_ <= *next)) return;
  armed_tick_ = next;
  alarm_.expires_at(epoch_ + std::chrono::milliseconds(*next));
  alarm_.async_wait([this](boost::system::error_code const& error) {
    if (!error) on_alarm();
  });
}

void OsReactor::on_alarm() {
  armed_tick_.reset();
  auto const tick = to_ms(now().since_start);
  while (auto task = wheel_.take_due(tick)) std::move(task)();
  arm();
}

void OsReactor::run() {
  thread_id_ = std::this_thread::get_id();
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  while (!stopping_) {
    if (!has_turn_end() && !drain_inbox()) {
      sleep();
      if (!has_turn_end()) continue;
    }
    for (int handled = 1; handled < kHandlersPerTurnMax && context_.poll_one() != 0; ++handled) {
    }
    drain_inbox();
    run_turn_end();
  }
  thread_id_ = std::thread::id();
}

void OsReactor::run_turn_end() {
  for (int round = 0; round < kTurnEndRoundsMax && !turn_end_.empty(); ++round) {
    turn_end_running_.swap(turn_end_);
    for (auto& task : turn_end_running_) std::move(task)();
    turn_end_running_.clear();
  }
  flush_running_.swap(flush_);
  for (auto& task : flush_running_) std::move(task)();
  flush_running_.clear();
}

}  // namespace millrace::env_os
