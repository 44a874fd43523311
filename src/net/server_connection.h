// One accepted connection: reads frames, starts requests, sends answers. On its reactor's thread only.
#pragma once
#include <memory>
#include <string>

#include "frame_reader.h"
#include "millrace/base/counter.h"
#include "millrace/env/env.h"
#include "millrace/net/handler.h"
#include "request_order.h"

namespace millrace::net {

// Of one reactor's connections; raised by its thread.
struct Counters {
  Counter requests;
  Counter bytes_in;
  Counter bytes_out;
};

class ServerConnection final : public env::ConnectionEvents {
 public:
  // While more than this waits to be sent, no further request starts.
  static constexpr int64_t kUnsentBytesMax = 1 << 20;
  // Requests started before other connections get their turn.
  static constexpr size_t kStartsPerTurnMax = 32;
  // How long what runs may still be answered once the peer has closed its side.
  static constexpr auto kHalfClosedMax = 5s;
  // One that waits for memory and has sent at least so much more meanwhile waits for us; with less it is its peer that
  // does not go on.
  static constexpr size_t kUnreadOfWaitingMin = 16_KiB;

  struct Settings {
    Duration idle_max{};
  };
  class Owner {
   public:
    virtual ~Owner() = default;
    // The connection is finished; destroy it, but not from inside this call.
    virtual void on_finished(ServerConnection& connection) = 0;
    // It reads nothing until get_memory() succeeds, which is to be tried.
    virtual void on_memory_wanted(ServerConnection& connection) = 0;
    // It is reading a large frame: see that it makes progress while others want the memory.
    virtual void on_large_frame(ServerConnection& connection) = 0;
  };

  ServerConnection(std::unique_ptr<env::Connection> connection, std::shared_ptr<ConnectionInfo> info, Handler& handler,
                   Owner& owner, Logger& log, Settings settings, std::shared_ptr<BufferPool> const& pool,
                   Counters& counters);
  ~ServerConnection() override;

  void start();
  // Starts nothing more; finishes once everything that runs is answered and sent.
  void drain();
  // Finishes now.
  void finish(std::string_view reason);

  ConnectionInfo const& info() const { return *info_; }

  // While memory is short. get_memory(): true once reading goes on.
  bool get_memory();
  bool is_waiting_for_memory() const { return memory_ticket_.has_value(); }
  // Ends the wait of one whose peer has gone.
  void look_for_end_while_waiting();
  // The frame that is being read, as far as the memory that it holds goes.
  struct LargeFrame {
    size_t held_bytes{};
    size_t received_bytes{};
    size_t frame_bytes{};
    uint64_t progress{};    // bytes that have come on this connection, also into the kernel while we do not read
    bool is_ours{};         // we hold it up, not the peer
  };
  std::optional<LargeFrame> large_frame() const;
  bool is_watched = false;  // the owner's note

  void on_readable() override;
  void on_sent() override;
  void on_closed(std::string const& reason) override;

 private:
  class PendingAnswer;
  // Shared with answers that are on their way; `connection` is null once it is finished.
  struct Link {
    env::Reactor& reactor;
    ServerConnection* connection;
  };

  void on_answered(uint64_t number, RequestOrder::Leaving answer, Duration throttle);
  void on_handed_over(uint64_t number);
  void on_end();
  void take_frames();
  void schedule_pump();
  Task scheduled_pump();
  void pump();
  void start_one();
  void send(env::Response response);
  void close_after_sent(std::string_view reason);
  void update_reading();
  Mono throttle_now() const;
  void arm_throttle_timer();
  void arm_idle_timer(Mono at);
  void on_idle_timer();
  void wait_for_memory();
  void end_wait_for_memory();

  std::unique_ptr<env::Connection> connection_;
  std::shared_ptr<ConnectionInfo> info_;
  Handler& handler_;
  Owner& owner_;
  Logger& log_;
  Settings const settings_;
  Counters& counters_;
  std::shared_ptr<Link> link_;
  RequestMemory& memory_;
  FrameReader reader_;
  RequestOrder order_;
  Mono last_active_{};
  env::TimerId idle_timer_ = env::kNoTimer;
  env::TimerId throttle_timer_ = env::kNoTimer;
  env::TimerId half_closed_timer_ = env::kNoTimer;
  std::optional<RequestMemory::Ticket> memory_ticket_;  // while it waits
  uint64_t read_bytes_ = 0;
  bool is_pumping_ = false;
  bool is_pump_scheduled_ = false;
  bool is_reading_ = false;
  bool is_awaiting_sent_ = false;  // for more than may be unsent to leave, before another request starts
  bool is_draining_ = false;
  bool is_half_closed_ = false;
  bool is_closing_ = false;   // what was answered is still being sent
  bool is_finished_ = false;
};

}  // namespace millrace::net
