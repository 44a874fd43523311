// What any thread asks of a partition without its driver: marks, checks, and waiting for more.
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

using storage::LogMark;
using storage::Marks;

// ---- Any thread

std::shared_ptr<storage::LeaderEpochs const> PartitionDriver::epochs() const {
  std::lock_guard lock(published_mutex_);
  return epochs_;
}

TopicConfigPtr PartitionDriver::config() const {
  std::lock_guard lock(published_mutex_);
  return config_;
}

LogMark PartitionDriver::read_limit(ReadLimit limit, Marks const& marks) {
  if (MR_MUTANT(hooks(), "consumer_reads_to_end")) return marks.end;
  switch (limit) {
    case ReadLimit::high_watermark: return marks.high_watermark;
    case ReadLimit::last_stable: return marks.last_stable;
    case ReadLimit::end: return marks.end;
  }
  return marks.high_watermark;
}

ErrorCode PartitionDriver::check_leader(LeaderEpoch request_epoch) const {
  auto const error = check_replica(request_epoch);
  if (error != ErrorCode::none) return error;
  return status() == PartitionStatus::leader ? ErrorCode::none : ErrorCode::not_leader_or_follower;
}

ErrorCode PartitionDriver::check_replica(LeaderEpoch request_epoch) const {
  switch (status()) {
    case PartitionStatus::opening: return ErrorCode::not_leader_or_follower;
    case PartitionStatus::offline: return ErrorCode::kafka_storage_error;
    case PartitionStatus::deleted: return ErrorCode::unknown_topic_or_partition;
    case PartitionStatus::leader:
    case PartitionStatus::follower: break;
  }
  if (request_epoch != kNoLeaderEpoch && !MR_MUTANT(env_.hooks(), "no_epoch_fencing")) {
    auto const epoch = marks_.read().epoch;
    if (request_epoch < epoch) return ErrorCode::fenced_leader_epoch;
    if (request_epoch > epoch) return ErrorCode::unknown_leader_epoch;
  }
  return ErrorCode::none;
}

bool PartitionDriver::may_be_superseded(Mono now) const {
  auto const* standing = standing_.load(std::memory_order_relaxed);
  if (standing == nullptr || standing->is_sure(now) || MR_MUTANT(env_.hooks(), "serves_when_doubtful")) return false;
  // Nobody else can lead what has no other replica.
  return replica_count_.load(std::memory_order_relaxed) > 1 && status() == PartitionStatus::leader;
}

ReplicationFigures PartitionDriver::replication_figures() const {
  if (status() != PartitionStatus::leader) return {};
  return {std::max(replica_count_.load(std::memory_order_relaxed), 1), std::max(in_sync_count_.load(std::memory_order_relaxed), 1),
          is_under_min_in_sync_.load(std::memory_order_relaxed), follower_lag_.load(std::memory_order_relaxed)};
}

std::vector<replication::FollowerView> PartitionDriver::followers() const {
  std::lock_guard lock(published_mutex_);
  return followers_;
}

void PartitionDriver::when_open(env::Reactor& reactor, Task task) {
  {
    std::lock_guard lock(published_mutex_);
    if (status() == PartitionStatus::opening) {
      when_open_.emplace_back(&reactor, std::move(task));
      return;
    }
  }
  std::move(task)();
}

// ---- Waiting fetches

void PartitionDriver::register_wait(WaitRegistration& registration) {
  std::lock_guard lock(waiters_mutex_);
  registration.previous = nullptr;
  registration.next = first_waiter_;
  if (first_waiter_ != nullptr) first_waiter_->previous = &registration;
  first_waiter_ = &registration;
  registration.is_linked = true;
  // What was published between the read and now counts at once.
  evaluate(registration, marks_.read());
}

void PartitionDriver::unregister_wait(WaitRegistration& registration) {
  std::lock_guard lock(waiters_mutex_);
  if (!registration.is_linked) return;
  if (registration.previous != nullptr) registration.previous->next = registration.next;
  else first_waiter_ = registration.next;
  if (registration.next != nullptr) registration.next->previous = registration.previous;
  registration.is_linked = false;
}

void PartitionDriver::evaluate(WaitRegistration& registration, Marks const& marks) {
  auto const& what = registration.what;
  auto const limit = read_limit(what.limit, marks);
  auto const was_reached = what.from.offset <= read_limit(what.limit, what.seen).offset;
  auto const now_is = status();
  bool const is_read = now_is == PartitionStatus::leader || now_is == PartitionStatus::follower;
  bool const must_answer = !is_read || marks.epoch != what.seen.epoch ||
                           marks.log_start > what.from.offset || (was_reached && limit.offset < what.from.offset);
  if (must_answer) return registration.wait->wake();
  if (limit.offset <= what.from.offset) return;
  auto const bytes = std::clamp<int64_t>(limit.position - what.from.position, 0, what.bytes_max);
  if (bytes == registration.contributed_bytes) return;
  auto const difference = bytes - registration.contributed_bytes;
  registration.contributed_bytes = bytes;
  registration.wait->contribute(difference);
}

void PartitionDriver::notify_waiters(Marks const& marks) {
  std::lock_guard lock(waiters_mutex_);
  for (auto* waiter = first_waiter_; waiter != nullptr; waiter = waiter->next) evaluate(*waiter, marks);
}

void PartitionDriver::wake_all_waiters() {
  std::lock_guard lock(waiters_mutex_);
  for (auto* waiter = first_waiter_; waiter != nullptr; waiter = waiter->next) waiter->wait->wake();
}

}  // namespace millrace::runtime
