// Threads that may block, started when there is work and never more than asked for.
#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "millrace/env/reactor.h"

namespace millrace::env_os {

class OsPool final : public env::Pool {
 public:
  OsPool(std::string name, size_t threads_max, std::chrono::steady_clock::time_point epoch);
  ~OsPool() override;  // stop() must have been called

  void run(env::Reactor& back, Task job, Task done) override;
  void run_short(env::Reactor& back, Task job, Task done) override;

  // Waits for the jobs that run; queued ones stay queued.
  void stop();
  // After stop(): destroys what is queued, without running it. False: there was nothing.
  bool drop_queued();

 private:
  // Two short jobs in a row that took longer than the first send the following ones to the pool for the second. One
  // alone may have been a thread that had to wait for a processor.
  static constexpr auto kShortJobMax = 20ms;
  static constexpr int kSlowJobsInRow = 2;
  static constexpr auto kSlowFor = 2s;

  struct Job {
    env::Reactor* back;
    Task job;
    Task done;
  };
  void work();
  void enqueue(Job job);
  Duration now() const { return std::chrono::steady_clock::now() - epoch_; }
  void note_short_job(Duration start);

  std::string const name_;
  size_t const threads_max_;
  std::chrono::steady_clock::time_point const epoch_;
  std::atomic<int64_t> slow_until_{0};  // nanoseconds since the epoch
  std::atomic<int> slow_jobs_in_row_{0};

  std::mutex mutex_;  // guards all below
  std::condition_variable wake_;
  std::deque<Job> queue_;
  size_t idle_count_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace millrace::env_os
