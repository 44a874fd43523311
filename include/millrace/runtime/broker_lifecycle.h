// This node's life as a broker of its cluster, pure: it registers with the active controller, says every so often that
// it lives, is unfenced once it has seen its own registration, and leaves in order. As Kafka's BrokerLifecycleManager
// does it, but for this: it speaks up as soon as the image that it waited for is there, or one that a broker which wants
// to go waits for, and registers again when the controller does not know its epoch any more. One request is under way
// at a time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"
#include "millrace/protocol/errors.h"

namespace millrace::runtime {

struct BrokerLifecycleConfig {
  Duration heartbeat_interval = 2s;     // broker.heartbeat.interval.ms
  Duration session_timeout = 9s;        // broker.session.timeout.ms
  Duration registration_timeout = 60s;  // initial.broker.registration.timeout.ms
  Duration shutdown_timeout = 15s;      // for the controller to move what this broker leads
  // Of the registration that the data on the disk goes with, by which the controller tells whether it may lack what was
  // acknowledged; -1: it may. None: nothing is missing, and it goes with the last one that the metadata log knows.
  std::optional<int64_t> previous_epoch;
};

namespace lifecycle {

namespace event {
struct Started {};
// All threads have this image. `registered_epoch`: of this broker, -1 when it is not there.
struct Published {
  Offset offset;
  int64_t registered_epoch = -1;
  bool is_fenced = true;
  // Another broker is shutting down: the controller lets it go when all have said that they know who leads instead.
  bool is_awaited = false;
};
struct RegistrationAnswered {
  ErrorCode error{};
  int64_t epoch = -1;
  std::string message;  // of the error, if there is one
};
struct HeartbeatAnswered {
  ErrorCode error{};
  bool is_fenced = true;
  bool should_shut_down = false;
};
struct TimerFired {};
// What a heartbeat says has changed (a directory went out of service): say it now.
struct NewsToTell {};
struct ShutdownRequested {};
}  // namespace event
using Event = std::variant<event::Started, event::Published, event::RegistrationAnswered, event::HeartbeatAnswered,
                           event::TimerFired, event::NewsToTell, event::ShutdownRequested>;

namespace effect {
struct Register {  // then RegistrationAnswered, by `deadline` at the latest
  int64_t previous_epoch = -1;
  Mono deadline;
};
struct Heartbeat {  // then HeartbeatAnswered, by `deadline` at the latest
  int64_t epoch = -1;
  Offset metadata_offset;
  bool want_shut_down = false;
  Mono deadline;
};
struct SetTimer {  // in place of the one before
  Mono at;
};
struct CancelTimer {};
struct Registered {
  int64_t epoch = -1;
};
struct Unfenced {};  // the first time in this life: clients may come
struct ShutDown {};  // nothing is led here any more, or it took too long
struct Failed {      // the first registration
  std::string reason;
};
}  // namespace effect
using Effect = std::variant<effect::Register, effect::Heartbeat, effect::SetTimer, effect::CancelTimer,
                            effect::Registered, effect::Unfenced, effect::ShutDown, effect::Failed>;
using Effects = std::vector<Effect>;

}  // namespace lifecycle

class BrokerLifecycle {
 public:
  static constexpr Duration kRetryMin = 100ms;
  static constexpr Duration kShutdownInterval = 50ms;  // between heartbeats that ask whether it may go
  static constexpr Duration kAwaitedInterval = 50ms;   // between heartbeats that another broker waits for
  static constexpr Duration kShutdownSilenceMax = 3s;  // an election takes less: the whole cluster is stopping

  enum class State : uint8_t { stopped, starting, registering, fenced, running, shutting_down, ended };

  explicit BrokerLifecycle(BrokerLifecycleConfig config) : config_(config) {}

  void on_event(lifecycle::Event const& event, Mono now, lifecycle::Effects& out);

  State state() const { return state_; }
  int64_t epoch() const { return epoch_; }
  std::string text() const;
  void check_invariants() const;

 private:
  void on(lifecycle::event::Started const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::Published const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::RegistrationAnswered const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::HeartbeatAnswered const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::TimerFired const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::NewsToTell const&, Mono now, lifecycle::Effects& out);
  void on(lifecycle::event::ShutdownRequested const&, Mono now, lifecycle::Effects& out);

  void wait_on_for_shutdown(Mono now);
  void send(Mono now, lifecycle::Effects& out);
  void send_soon(Mono now, lifecycle::Effects& out);
  void send_at(Mono when, lifecycle::Effects& out);
  void send_awaited(Mono now, lifecycle::Effects& out);
  void retry_later(Mono now, lifecycle::Effects& out);
  void end(lifecycle::Effect last, lifecycle::Effects& out);
  void set_timer(Mono at, lifecycle::Effects& out);

  BrokerLifecycleConfig const config_;
  State state_ = State::stopped;
  int64_t epoch_ = -1;             // -1: not registered in this life
  int64_t image_epoch_ = -1;       // of this broker in the newest image
  bool is_fenced_in_image_ = true;
  Offset image_offset_{-1};
  bool has_image_ = false;
  bool has_unfenced_ = false;
  bool is_asking_ = false;         // a request is under way
  bool is_hurried_ = false;        // the next one goes out as soon as that one is answered
  bool is_awaited_ = false;        // likewise, but for kAwaitedInterval
  Mono asked_at_{};                // the last one
  Mono ask_at_ = Mono::never();    // the next one
  Mono give_up_at_ = Mono::never();
  Mono shut_down_by_ = Mono::never();
  Duration retry_{};               // the last pause after a failure; zero: none
};

}  // namespace millrace::runtime
