// Whether what this node leads may have been given to others while its process did not run: it was stopped, frozen or
// swapped out. A broker that runs and reaches nobody goes on serving, as in Kafka. One that did not run for half its
// session may have been fenced meanwhile, with the news of it still in its sockets: it is in doubt from the moment
// that any of its threads runs again, until all of this is so:
//   - the leader of the metadata quorum has answered a Fetch that was sent since, and what it knew as committed is
//     published here;
//   - the active controller has answered a heartbeat that was sent since;
//   - by what is published this broker is registered, and not fenced;
// or a whole session is over: then it runs and reaches nobody, like others.
//
// A machine: event, now → effects. Its clock is the monotonic one, which goes on while a process is stopped, but not
// while a whole machine sleeps: that is not found.
#pragma once
#include <atomic>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"

namespace millrace::runtime {

// Until when what this node leads counts as led by it still. The control loop moves it on; any thread reads it, and
// finds it in the past as soon as it runs again, whether or not the control loop does. For ever, unless it is set.
class LeaderStanding {
 public:
  bool is_sure(Mono now) const { return now.since_start.count() < sure_until_.load(std::memory_order_acquire); }
  void set(Mono sure_until) { sure_until_.store(sure_until.since_start.count(), std::memory_order_release); }

 private:
  std::atomic<Duration::rep> sure_until_{Mono::never().since_start.count()};
};

namespace pauses {

namespace event {
struct Started {};
struct Tick {};  // at least every PauseWatch::interval()
// The leader of the quorum has answered what it was asked at `asked_at`, and knew what lies below `committed_end` as
// committed; that includes all that was committed before it was asked.
struct QuorumAnswered {
  Mono asked_at;
  Offset committed_end;
};
// The active controller takes this broker for alive, by the heartbeat of `asked_at`.
struct HeartbeatAnswered {
  Mono asked_at;
};
// All threads have the image of the records below `end`. `is_serving`: it has this broker as registered now, unfenced.
struct Published {
  Offset end;
  bool is_serving = false;
};
}  // namespace event
using Event =
    std::variant<event::Started, event::Tick, event::QuorumAnswered, event::HeartbeatAnswered, event::Published>;

namespace effect {
// Doubt begins, or begins anew: ask the controller now. Who leads the quorum resigns; it would answer itself.
struct Noticed {
  Duration silence;  // since the process is known to have run
};
struct Ended {  // the doubt
  Duration doubt;
  bool has_heard = true;  // false: its time is over
};
}  // namespace effect
using Effect = std::variant<effect::Noticed, effect::Ended>;
using Effects = std::vector<Effect>;

}  // namespace pauses

class PauseWatch {
 public:
  explicit PauseWatch(Duration session) : pause_max_(session / 2) {}

  void on_event(pauses::Event const& event, Mono now, pauses::Effects& out);

  Duration interval() const { return pause_max_ / 4; }
  Duration doubt_max() const { return pause_max_ * 2; }
  // From then on, unless a Tick comes before, this process did not run.
  Mono runs_until() const { return runs_until_; }
  // For LeaderStanding.
  Mono sure_until() const { return doubt_since_ ? Mono{Duration::min()} : runs_until_; }
  std::string text() const;
  void check_invariants() const;

 private:
  void on(pauses::event::Started const&, Mono now);
  void on(pauses::event::Tick const&, Mono now);
  void on(pauses::event::QuorumAnswered const& e, Mono now);
  void on(pauses::event::HeartbeatAnswered const& e, Mono now);
  void on(pauses::event::Published const& e, Mono now);

  Duration const pause_max_;
  Mono ran_at_{};
  Mono runs_until_ = Mono::never();
  std::optional<Mono> doubt_since_;
  std::optional<Offset> committed_end_;  // heard of since
  bool is_alive_ = false;                // likewise
  Offset published_end_{0};
  bool is_serving_ = false;
};

}  // namespace millrace::runtime
