// Which brokers are taken to be alive. A broker is heard of by its heartbeats; who is silent for a session is fenced.
// Fenced sooner is only who is proved to be gone: the peer ended the connection of its heartbeats, not while shutting
// down in order; this controller had reached the broker's listener under the same registration; and the listener
// refuses twice, a moment apart. While it does not refuse it is tried again, until the broker is heard of or its session
// is over. One broker a session at most, so that no fault of this node's own network can fence many. A wrong guess costs
// availability until the broker's next heartbeat, never data.
//
// A controller that takes over for one that is gone has no connection that could end: there the end of the leader's
// part in the quorum counts as it. So controllers that do not lead reach for brokers too, and remember whom they saw
// being fenced: the limit of one a session is the cluster's, not one controller's.
//
// A machine: event, now → effects. Soft: a new controller begins with every broker just heard of.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "millrace/base/hooks.h"
#include "millrace/base/ids.h"
#include "millrace/base/time.h"

namespace millrace::metadata {

namespace fencing {

enum class ProbeResult : uint8_t { reached, refused, unknown };  // unknown: no answer, no address, no route

// Every event names the broker epoch that it is about; what is about another than the present one is dropped.
struct HeartbeatConnectionEnded {
  BrokerId broker;
  int64_t epoch{};
  bool in_controlled_shutdown = false;
};
struct Probed {
  BrokerId broker;
  int64_t epoch{};
  ProbeResult result = ProbeResult::unknown;
};
using Event = std::variant<HeartbeatConnectionEnded, Probed>;

// Connect to the broker's listener for other brokers at `at`, close again, and report it as Probed.
struct Probe {
  BrokerId broker;
  int64_t epoch{};
  Mono at;
};
struct Fence {
  BrokerId broker;
  int64_t epoch{};
};
using Effect = std::variant<Probe, Fence>;
using Effects = std::vector<Effect>;

}  // namespace fencing

class Fencing {
 public:
  static constexpr auto kBetweenProbes = std::chrono::milliseconds(50);

  Fencing(Duration session, Hooks& hooks) : session_(session), hooks_(&hooks) {}

  // Registered, or heard of under `epoch`. A broker that is not fenced is reached for once a registration.
  void on_heard(BrokerId broker, int64_t epoch, bool is_fenced, Mono now, fencing::Effects& out);
  // While another controller leads, or did until now: what its decisions say. Counts as heard.
  void on_seen(BrokerId broker, int64_t epoch, bool is_fenced, bool in_controlled_shutdown, Mono now, fencing::Effects& out);
  void on_event(fencing::Event const& event, Mono now, fencing::Effects& out);
  void forget(BrokerId broker) { brokers_.erase(broker); }
  template <class F>
  void forget_if(F is_gone) {
    std::erase_if(brokers_, [&](auto const& one) { return is_gone(one.first); });
  }

  bool has_session(BrokerId broker, int64_t epoch, Mono now) const;
  size_t size() const { return brokers_.size(); }
  void check_invariants() const;

 private:
  enum class Stage : uint8_t { calm, first_probe, second_probe };
  struct Broker {
    int64_t epoch{};
    Mono heard{};
    bool is_fenced = true;
    bool is_asked = false;    // a probe to reach it is out
    bool is_reached = false;  // its listener has answered in this registration
    Stage stage = Stage::calm;
    // When it was fenced early, or by another controller, perhaps early. Outlives its registration.
    std::optional<Mono> taken_for_dead{};
  };

  void on(fencing::HeartbeatConnectionEnded const& event, Mono now, fencing::Effects& out);
  void on(fencing::Probed const& event, Mono now, fencing::Effects& out);
  bool may_fence_early(BrokerId broker, Mono now) const;

  Duration session_;
  [[maybe_unused]] Hooks* hooks_;
  std::map<BrokerId, Broker> brokers_;
};

}  // namespace millrace::metadata
