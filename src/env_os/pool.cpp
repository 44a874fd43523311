#include "pool.h"

#include <pthread.h>

#include "millrace/base/assert.h"

namespace millrace::env_os {

OsPool::OsPool(std::string name, size_t threads_max, std::chrono::steady_clock::time_point epoch)
    : name_(std::move(name)), threads_max_(threads_max), epoch_(epoch) {}

OsPool::~OsPool() { MR_ASSERT(threads_.empty()); }

void OsPool::run(env::Reactor& back, Task job, Task done) { enqueue({&back, std::move(job), std::move(done)}); }

void OsPool::run_short(env::Reactor& back, Task job, Task done) {
  auto const start = now();
  if (start.count() < slow_until_.load(std::memory_order_relaxed)) {
    // Timed on the pool too, so that the directory is taken as slow for as long as it is.
    auto timed = [this, job = std::move(job)]() mutable {
      auto const begun = now();
      std::move(job)();
      note_short_job(begun);
    };
    return enqueue({&back, std::move(timed), std::move(done)});
  }
  std::move(job)();
  note_short_job(start);
  if (done) std::move(done)();
}

void OsPool::note_short_job(Duration start) {
  auto const end = now();
  if (end - start <= kShortJobMax) {
    if (slow_jobs_in_row_.load(std::memory_order_relaxed) != 0) slow_jobs_in_row_ = 0;
  } else if (++slow_jobs_in_row_ >= kSlowJobsInRow) {
    slow_until_ = (end + kSlowFor).count();
  }
}

void OsPool::enqueue(Job job) {
  {
    std::lock_guard const lock(mutex_);
    queue_.push_back(std::move(job));
    if (stopping_) return;
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
  {
    std::lock_guard const lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
}

bool OsPool::drop_queued() {
  std::deque<Job> dropped;
  {
    std::lock_guard const lock(mutex_);
    dropped.swap(queue_);
  }
  return !dropped.empty();
}

}  // namespace millrace::env_os
