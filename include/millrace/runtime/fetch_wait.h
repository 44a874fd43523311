// A Fetch that waits for bytes: registered with each of its partitions, woken once when enough has come, when something
// about a partition changed that it must answer, or when its time is over.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "millrace/base/task.h"
#include "millrace/base/time.h"
#include "millrace/env/reactor.h"
#include "millrace/storage/read_view.h"

namespace millrace::runtime {

class PartitionDriver;
class FetchWait;

// Up to where a reader may see.
enum class ReadLimit : uint8_t { high_watermark, last_stable, end };  // consumer, read_committed, follower

struct WaitFor {
  std::shared_ptr<PartitionDriver> partition;
  ReadLimit limit = ReadLimit::high_watermark;
  storage::LogMark from;      // what is asked for, and where it lies
  int64_t bytes_max{};        // this partition counts for no more
  storage::Marks seen;        // the marks when it was found that there is too little
};

// One partition's part of a waiting fetch. The partition's waiters mutex guards everything but `what`.
struct WaitRegistration {
  FetchWait* wait{};
  WaitFor what;
  int64_t contributed_bytes = 0;
  WaitRegistration* previous = nullptr;
  WaitRegistration* next = nullptr;
  bool is_linked = false;
};

class FetchWait : public std::enable_shared_from_this<FetchWait> {
 public:
  // On `reactor`'s thread. `woken` runs there once, later, unless cancelled. It is kept alive by its timer.
  static std::shared_ptr<FetchWait> park(env::Reactor& reactor, int64_t bytes_min, Mono deadline,
                                         std::vector<WaitFor> partitions, Task woken);
  ~FetchWait();
  FetchWait(FetchWait const&) = delete;
  FetchWait& operator=(FetchWait const&) = delete;

  // On the reactor's thread: forgets everything; `woken` is destroyed and does not run.
  void cancel();

  // By a partition that holds its waiters mutex.
  void contribute(int64_t difference_bytes);
  void wake();

 private:
  FetchWait(env::Reactor& reactor, int64_t bytes_min, Task woken)
      : reactor_(reactor), bytes_min_(bytes_min), woken_(std::move(woken)) {}
  void finish();
  void unregister();

  env::Reactor& reactor_;
  int64_t const bytes_min_;
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> is_woken_{false};
  Task woken_;
  env::TimerId timer_ = env::kNoTimer;
  std::vector<WaitRegistration> registrations_;  // never resized once registered
};

}  // namespace millrace::runtime
