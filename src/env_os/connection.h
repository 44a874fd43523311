// One TCP connection on its reactor.
#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "millrace/env/network.h"
#include "reactor.h"

namespace millrace::env_os {

class OsPools;

// The socket behind an OsConnection. Handlers of the event loop and revoked leases keep it alive; `events_` is null
// once the connection object is gone. All members belong to the reactor's thread, but for the guarded ones.
class Socket final : public std::enable_shared_from_this<Socket> {
 public:
  Socket(OsReactor& reactor, OsPools& pools, int descriptor, env::SocketAddress local, env::SocketAddress peer);
  ~Socket();

  env::SocketAddress const local;
  env::SocketAddress const peer;
  OsReactor& reactor;

  void start(env::ConnectionEvents& events) { events_ = &events; }
  void set_reading(bool on);
  env::ReadOutcome read_some(MutableByteView into);
  void set_read_low_water(size_t bytes);
  env::Unread unread();
  void send(env::Response response);
  int64_t unsent_bytes() const { return unsent_bytes_; }
  void close_after_sent();
  void reset();
  void detach();  // the connection object goes

 private:
  // Regions below this are read and leave with the header in one call.
  static constexpr int64_t kSendfileBytesMin = 64 << 10;
  // After so much handed to the kernel, with the piece that passes it, other connections get their turn.
  static constexpr int64_t kSendBytesPerTurnMax = 1 << 20;
  static constexpr int64_t kSendfilePieceBytesMax = 1 << 20;
  static constexpr int64_t kColdReadBytesMax = 1 << 20;
  static constexpr size_t kVectorsPerCallMax = 64;
  // After close_after_sent() the peer has this long to take the bytes; who has taken them, and sends nothing, so long to
  // close its side: many clients look at a connection only when they use it.
  static constexpr auto kLingerMax = 2s;
  static constexpr auto kLingerQuietMax = 100ms;
  static constexpr auto kAcknowledgementCheckFirst = 50ms;
  static constexpr auto kAcknowledgementCheckMax = 1s;

  // A lease registered under the address of this object, so that one lease may stand in several responses.
  struct HeldLease {
    std::shared_ptr<env::RegionLease> lease;
    HeldLease() = default;
    HeldLease(HeldLease const&) = delete;
    HeldLease& operator=(HeldLease const&) = delete;
    ~HeldLease() {
      if (lease) lease->unregister_sender(this);
    }
  };
  struct Outgoing {
    SharedBytes bytes;                 // when `held` is null
    std::unique_ptr<HeldLease> held;   // a region of its file
    int64_t position{};                // of what is left, in `bytes` or in the file
    int64_t left{};
  };
  struct Unacknowledged {
    std::unique_ptr<HeldLease> held;
    int64_t stream_end{};  // bytes written to the socket up to the region's end
  };

  enum class Progress { more, kernel_full, waiting_for_disk, dead };

  void arm_read();
  void schedule_flush();
  void flush();
  Progress write_some(int64_t& budget);
  Progress write_vectors(int64_t& budget);
  Progress write_region(int64_t& budget);
  bool load_small_region(Outgoing& item);  // false: not in the page cache, or failed
  void start_cold_read();
  void on_cold_read(SharedBytes bytes, Result<size_t> const& count);
  void wait_until_writable();
  void take_written(int64_t count);
  int64_t kernel_queue_bytes();  // sent, not yet acknowledged by the peer's kernel
  void release_acknowledged();
  void schedule_acknowledgement_check();
  void begin_linger();
  void arm_linger();
  void on_linger_readable();
  void fail(std::string reason);
  void close_descriptor(bool with_reset);
  void disconnect_from_any_thread();

  OsPools& pools_;
  boost::asio::posix::stream_descriptor descriptor_;
  env::ConnectionEvents* events_ = nullptr;
  bool is_reading_ = false;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
  bool is_flush_scheduled_ = false;
  bool is_reading_disk_ = false;
  bool is_closing_after_sent_ = false;
  bool is_lingering_ = false;
  bool has_linger_input_ = false;  // since linger_timer_ was armed
  bool is_dead_ = false;
  size_t read_low_water_ = 1;

  std::vector<Outgoing> outgoing_;  // from outgoing_first_ on
  size_t outgoing_first_ = 0;
  int64_t unsent_bytes_ = 0;
  int64_t written_bytes_ = 0;
  std::vector<Unacknowledged> unacknowledged_;
  env::TimerId acknowledgement_timer_ = env::kNoTimer;
  env::TimerId linger_timer_ = env::kNoTimer;
  Mono linger_until_;
  Duration acknowledgement_delay_ = kAcknowledgementCheckFirst;

  std::mutex disconnect_mutex_;
  bool is_descriptor_open_ = true;  // guarded by disconnect_mutex_; closing happens under it too
};

class OsConnection final : public env::Connection {
 public:
  explicit OsConnection(std::shared_ptr<Socket> socket) : socket_(std::move(socket)) {}
  ~OsConnection() override { socket_->detach(); }

  env::SocketAddress const& local() const override { return socket_->local; }
  env::SocketAddress const& peer() const override { return socket_->peer; }
  env::Reactor& reactor() override { return socket_->reactor; }
  void start(env::ConnectionEvents& events) override { socket_->start(events); }
  void set_reading(bool on) override { socket_->set_reading(on); }
  env::ReadOutcome read_some(MutableByteView into) override { return socket_->read_some(into); }
  void set_read_low_water(size_t bytes) override { socket_->set_read_low_water(bytes); }
  env::Unread unread() override { return socket_->unread(); }
  void send(env::Response response) override { socket_->send(std::move(response)); }
  int64_t unsent_bytes() const override { return socket_->unsent_bytes(); }
  void close_after_sent() override { socket_->close_after_sent(); }
  void reset() override { socket_->reset(); }

 private:
  std::shared_ptr<Socket> socket_;
};

}  // namespace millrace::env_os
