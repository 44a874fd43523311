// What happens to one reactor's connections while the memory of requests is spent: who waits gets it in the order of
// asking, notices the end of its peer, and is not held up for ever by one that stopped in the middle of a request.
// On the reactor's thread only.
#pragma once
#include <memory>
#include <vector>

#include "buffer_pool.h"
#include "millrace/base/counter.h"
#include "millrace/base/log.h"
#include "millrace/env/reactor.h"
#include "server_connection.h"

namespace millrace::net {

class MemoryQueue {
 public:
  // How soon those that wait try again.
  static constexpr auto kRetry = 10ms;
  // How often peers and progress are looked at.
  static constexpr auto kLook = 250ms;
  // A large frame that has grown by less than this in this time has stalled.
  static constexpr size_t kProgressBytesMin = 16_KiB;
  static constexpr auto kStalledAfter = 2s;
  static constexpr auto kLogEvery = 10s;

  MemoryQueue(env::Reactor& reactor, std::shared_ptr<RequestMemory> memory, Logger& log)
      : link_(std::make_shared<Link>(Link{this})), reactor_(reactor), memory_(std::move(memory)), log_(log) {}
  ~MemoryQueue() { link_->queue = nullptr; }

  void wait(ServerConnection& connection);
  void watch(ServerConnection& connection);
  void forget(ServerConnection& connection);  // it is finished
  void clear() {
    waiting_.clear();
    watched_.clear();
  }
  int64_t closed_count() const { return closed_.value(); }  // any thread

 private:
  struct Link {
    MemoryQueue* queue;
  };
  struct Watched {
    ServerConnection* connection;
    uint64_t progress{};  // at `since`
    Mono since;
  };
  struct Stalled {
    ServerConnection* connection;
    ServerConnection::LargeFrame frame;
    Duration time{};
  };

  void arm(Duration delay);
  void on_timer();
  void give();
  void look();
  std::vector<Stalled> stalled();
  void close_stalled();

  std::shared_ptr<Link> link_;  // the timer's way back
  env::Reactor& reactor_;
  std::shared_ptr<RequestMemory> memory_;
  Logger& log_;
  std::vector<ServerConnection*> waiting_;  // the longest first
  std::vector<Watched> watched_;
  Mono armed_for_{};
  env::TimerId timer_ = env::kNoTimer;
  Mono next_look_{};
  Mono next_log_{};
  Counter closed_;
};

}  // namespace millrace::net
