#include "pool.h"

#include <pthread.h>

#include "millrace/base/assert.h"

namespace millrace::env_os {

OsPool::OsPool(std::string name, size_t threads_max, std::chrono::steady_clock::time_point epoch)
    : name_(std::move(name)), threads_max_(threads_max), epoch_(epoch) {}

OsPool::~OsPool() { MR_ASSERT(threads_.empty()); }

void OsPool::run(env::Reactor& back, Task job, Task done) { enqueue({&back, std::move(job), std::move(done)}); }

void OsPool::run_short(env::Reactor& back, Task job, Task done) {
  auto const before = Mono{std::chrono::steady_clock::now() - epoch_};
  if (is_slow(before)) {
    // Timed on the pool too, so that the directory is taken as slow for as long as it is.
    auto timed = [this, job = std::move(job)]() mutable {
      auto const start = std::chrono::steady_clock::now();
      std::move(job)();
      auto const end = std::chrono::steady_clock::now();
      if (end - start > kShortJobMax) slow_until_ = Duration(end - epoch_ + kSlowFor).count();
    };
    return enqueue({&back, std::move(timed), std::move(done)});
  }
  std::move(job)();
  auto const after = Mono{std::chrono::steady_clock::now() - epoch_};
  if (after - before > kShortJobMax) slow_until_ = Duration(after.since_start + kSlowFor).count();
  if (done) std::move(done)();
}

void OsPool::enqueue(Job job) {
  {
    std::lock_guard const lock(mutex_);
    if (stopping_) return;  // the node stops: dropped with what it holds
    queue_.push_back(std::move(job));
    if (idle_count_ < queue_.size() && threads_.size() < threads_max_) {
      threads_.emplace_back([this] { work(); });
      return;
    }
  }
  wake_.notify_one();
}

void OsPool::work() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_count_;
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    --idle_count_;
    if (stopping_) return;
    auto job = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    std::move(job.job)();
    if (job.done) job.back->post(std::move(job.done));
    job = {};
    lock.lock();
  }
}

void OsPool::stop() {
  std::deque<Job> dropped;
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace millrace::env_os
