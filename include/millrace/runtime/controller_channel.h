// The way from this node to the active controller, wherever it is: connections to whoever leads the quorum, one call at
// a time on each. A call that meets another node, or whose connection ends, is made again until its deadline, so that a
// change of controller is a delay; what was asked may then have been done twice, as with Kafka's own brokers.
//
// Lives on the control reactor.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "millrace/client/connection.h"
#include "millrace/env/env.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::runtime {

// What is asked. Exactly one of answered() with true, run_here() and fail() ends it.
class ControllerCall {
 public:
  explicit ControllerCall(Mono at) : deadline(at) {}
  virtual ~ControllerCall() = default;
  // The whole frame for a peer with these versions. unsupported: it does not serve this.
  virtual Result<SharedBytes> encode(client::Connection const& peer, int32_t correlation_id) = 0;
  // The frame of the answer. False: whoever answered is not the active controller, or it is no answer: ask again.
  virtual bool answered(SharedBytes frame) = 0;
  // The active controller is this process.
  virtual void run_here() = 0;
  virtual void fail(ErrorCode error) = 0;

  Mono const deadline;
};
using ControllerCallPtr = std::unique_ptr<ControllerCall>;

struct ControllerChannelOptions {
  BrokerId self;
  Duration request_timeout = 2s;  // controller.quorum.request.timeout.ms: of one try
};

class ControllerChannel {
 public:
  static constexpr Duration kRetryPause = 20ms;
  static constexpr size_t kQueuedMax = 4096;  // on each line
  // Calls of one line are made in order. What keeps this node alive must not wait behind a client's request.
  enum class Line : uint8_t { lifecycle, partitions, forwarded, created };
  static constexpr size_t kLines = 4;

  // `active` says who leads the quorum and where; none: nobody that is known.
  ControllerChannel(env::Env& env, ControllerChannelOptions options, std::function<std::optional<RaftAddress>()> active);
  ~ControllerChannel();

  void send(Line line, ControllerCallPtr call);
  // Somebody else leads, or nobody.
  void on_leader_changed();
  // Drops what waits, unanswered.
  void stop();

 private:
  struct Lane {
    std::deque<ControllerCallPtr> queue;
    std::shared_ptr<client::Connection> connection;
    RaftAddress peer;
    bool is_busy = false;     // the first of the queue is under way
    uint64_t generation = 0;  // of what is under way; what comes back for another is dropped
    env::TimerId retry_timer = env::kNoTimer;
    env::TimerId deadline_timer = env::kNoTimer;
    Mono deadline_armed = Mono::never();
  };

  void pump(size_t lane);
  void open(size_t lane, RaftAddress const& peer);
  void call(size_t lane);
  void on_answer(size_t lane, Result<SharedBytes> answer);
  void retry(size_t lane);
  void arm_deadline(size_t lane, Mono at);
  void expire(size_t lane);

  env::Env& env_;
  env::Reactor& reactor_;
  ControllerChannelOptions const options_;
  std::function<std::optional<RaftAddress>()> active_;
  std::array<Lane, kLines> lanes_;
  uint64_t generations_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::runtime
