// The driver of one group coordinator: runs the machine over one partition of __consumer_offsets. Loads it from the log
// when the partition is led here, appends what it decides through the partition's driver, one decision at a time, and
// lets answers go once the log is committed as far as they saw it.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "millrace/coordinator/group_coordinator.h"
#include "millrace/runtime/driver.h"
#include "millrace/runtime/group_figures.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

struct CoordinatorOptions {
  coordinator::GroupConfig groups;
  Duration commit_timeout = 5s;  // offsets.commit.timeout.ms: how long an answer waits for the mark
};

class CoordinatorDriver final : public Driver {
 public:
  static constexpr size_t kQueuedRequestsMax = 100'000;
  static constexpr size_t kTakenMax = 64;         // requests of one turn
  static constexpr int64_t kReadBytes = 1 << 20;  // of one read while loading
  static constexpr Duration kLeadRetry = 10ms;    // until the partition has taken its role
  static constexpr Duration kLoadRetry = 1s;      // after a load that failed
  static constexpr Duration kMarkPoll = 20ms;     // while answers wait for a mark that no append of ours moves

  CoordinatorDriver(env::Env& env, RunLists& run_lists, std::shared_ptr<PartitionDriver> partition,
                    CoordinatorOptions options);
  ~CoordinatorDriver() override;

  // `done` runs on `back`, once. Any thread; `here` is the calling thread's list.
  void submit(coordinator::Event request, env::Reactor& back, Callback<void(coordinator::Answer)> done, RunList& here);

  // ---- By the group coordinators, in the order of publications

  void lead(LeaderEpoch epoch, RunList& here);
  void resign(RunList& here);
  void topics_deleted(std::vector<std::pair<std::string, Uuid>> topics, RunList& here);
  // `done` runs where the driver does.
  void figures(FiguresRequest request, Callback<void(CoordinatorFigures)> done, RunList& here);
  // The node is gone and nothing runs any more: forgets everybody who waits, and what it would have told itself.
  void abandon();

 protected:
  bool take_requests_locked() override;
  size_t run_requests() override;
  void finish_round() override;

 private:
  class Append;  // one decision's batch on its way
  struct Loading;
  struct Waiter {
    env::Reactor* back{};
    Callback<void(coordinator::Answer)> done;
  };
  struct Queued {
    coordinator::Event request;
    Waiter waiter;
  };
  struct Uncommitted {  // a decided answer that waits for the mark
    Offset after_offset;
    Mono deadline;
    coordinator::Ticket ticket{};
    coordinator::Answer answer;
  };

  void tell(coordinator::Event event);
  void perform();
  void append(std::vector<coordinator::Record> const& records);
  void on_written(uint64_t era, Offset end);
  void on_append_answer(uint64_t era, bool was_written, ErrorCode error, Offset end);
  void on_timer(Mono when);
  void send(coordinator::Ticket ticket, coordinator::Answer answer);
  void release();
  void refuse_waiting(ErrorCode error);
  void start_load();
  void load(uint64_t era);
  void on_loaded(std::shared_ptr<Loading> const& loading);
  void after(Duration wait, uint64_t era, void (CoordinatorDriver::*what)(uint64_t era));
  void retry_load(uint64_t era);
  void arm();
  RunList& list_here();
  coordinator::Now now() { return {here().reactor().now(), env_.wall_now()}; }
  std::shared_ptr<CoordinatorDriver> self() { return std::static_pointer_cast<CoordinatorDriver>(shared_from_this()); }

  env::Env& env_;
  RunLists& run_lists_;
  std::shared_ptr<PartitionDriver> const partition_;
  CoordinatorOptions const options_;

  std::deque<Queued> queued_;  // mutex_
  std::atomic<bool> is_deciding_{false};

  // The runner's.
  std::deque<Queued> taken_;
  std::unique_ptr<coordinator::GroupCoordinator> machine_;
  coordinator::Effects effects_;
  uint64_t era_ = 0;  // of what the machine knows; completions of an earlier one are nothing
  bool is_leading_ = false;
  LeaderEpoch epoch_ = kNoLeaderEpoch;
  coordinator::Ticket next_ticket_ = 1;
  std::unordered_map<coordinator::Ticket, Waiter> waiters_;
  std::deque<Uncommitted> uncommitted_;
  Offset committed_{0};
  int64_t rebalance_count_ = 0;  // of machines that were replaced
  size_t unwritten_ = 0;  // appends handed over of which it is not known yet whether the log has them; of any era
  std::vector<std::pair<std::string, Uuid>> deleted_topics_;  // heard of while loading
  Mono armed_ = Mono::never();
};

}  // namespace millrace::runtime
