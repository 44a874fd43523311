#include "millrace/runtime/fetch_wait.h"

#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

std::shared_ptr<FetchWait> FetchWait::park(env::Reactor& reactor, int64_t bytes_min, Mono deadline,
                                           std::vector<WaitFor> partitions, Task woken) {
  std::shared_ptr<FetchWait> wait(new FetchWait(reactor, bytes_min, std::move(woken)));
  wait->registrations_.resize(partitions.size());
  for (size_t i = 0; i < partitions.size(); ++i) {
    auto& registration = wait->registrations_[i];
    registration.wait = wait.get();
    registration.what = std::move(partitions[i]);
  }
  wait->timer_ = reactor.call_at(deadline, [wait] { wait->finish(); });
  for (auto& registration : wait->registrations_) {
    registration.what.partition->register_wait(registration);
    if (wait->is_woken_.load(std::memory_order_relaxed)) break;
  }
  return wait;
}

FetchWait::~FetchWait() { unregister(); }

void FetchWait::contribute(int64_t difference_bytes) {
  auto const before = bytes_.fetch_add(difference_bytes, std::memory_order_acq_rel);
  if (before + difference_bytes >= bytes_min_) wake();
}

void FetchWait::wake() {
  if (is_woken_.exchange(true, std::memory_order_acq_rel)) return;
  // Null only while the last owner is destroying us: then nobody is left to be woken.
  auto self = weak_from_this().lock();
  if (self == nullptr) return;
  reactor_.post([self = std::move(self)] { self->finish(); });
}

void FetchWait::finish() {
  if (!woken_) return;
  is_woken_.store(true, std::memory_order_relaxed);
  auto const keep = shared_from_this();  // cancelling the timer may drop the last other owner
  unregister();
  reactor_.cancel(std::exchange(timer_, env::kNoTimer));
  std::move(woken_)();
}

void FetchWait::cancel() {
  auto const keep = shared_from_this();
  is_woken_.store(true, std::memory_order_relaxed);
  unregister();
  reactor_.cancel(std::exchange(timer_, env::kNoTimer));
  auto const dropped = std::move(woken_);
}

void FetchWait::unregister() {
  for (auto& registration : registrations_) {
    if (registration.what.partition != nullptr) registration.what.partition->unregister_wait(registration);
  }
  registrations_.clear();
}

}  // namespace millrace::runtime
