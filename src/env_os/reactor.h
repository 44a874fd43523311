// A thread with an Asio event loop. A turn handles what is ready; then the tasks of at_turn_end run.
#pragma once
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "millrace/env/reactor.h"
#include "timer_wheel.h"

namespace millrace::env_os {

class OsReactor final : public env::Reactor {
 public:
  OsReactor(std::string name, std::chrono::steady_clock::time_point epoch);
  // The thread must have been joined. Queued tasks are destroyed without running.
  ~OsReactor() override;

  void start();
  void stop();  // any other thread; the loop ends after the current turn
  void join();

  Mono now() const override;
  void post(Task task) override;
  void at_turn_end(Task task) override;
  // As at_turn_end(), after all of those: what was written during the turn leaves together.
  void at_flush(Task task);
  env::TimerId call_at(Mono when, Task task) override;
  void cancel(env::TimerId timer) override;
  // Once the loop has ended, whoever takes things down counts as its thread.
  bool is_current() const override {
    return has_ended_.load(std::memory_order_relaxed) ||
           std::this_thread::get_id() == thread_id_.load(std::memory_order_relaxed);
  }
  // After join(): destroys what is queued, without running it. False: there was nothing.
  bool drop_queued();

  boost::asio::io_context& context() { return context_; }

 private:
  // Handlers run before the turn-end tasks get their turn, and rounds of turn-end tasks that made new ones.
  static constexpr int kHandlersPerTurnMax = 64;
  static constexpr int kTurnEndRoundsMax = 8;

  void run();
  void run_turn_end();
  bool has_turn_end() const { return !turn_end_.empty() || !flush_.empty(); }
  bool drain_inbox();  // false: it was empty
  void sleep();
  void arm_wake();
  void arm();
  void on_alarm();
  int64_t tick_of(Mono when) const;  // rounded up

  std::string const name_;
  std::chrono::steady_clock::time_point const epoch_;
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer alarm_;
  std::optional<int64_t> armed_tick_;
  TimerWheel wheel_;
  std::vector<Task> turn_end_;
  std::vector<Task> turn_end_running_;
  std::vector<Task> flush_;
  std::vector<Task> flush_running_;

  std::mutex inbox_mutex_;
  std::vector<Task> inbox_;  // guarded by inbox_mutex_
  std::vector<Task> inbox_running_;
  std::atomic<bool> is_sleeping_{false};
  boost::asio::posix::stream_descriptor wake_;  // an eventfd

  std::atomic<bool> stopping_{false};
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> has_ended_{false};
  std::thread thread_;
};

}  // namespace millrace::env_os
