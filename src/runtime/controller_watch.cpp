// What the active controller does on its own: it fences who is silent or proved to be gone, elects leaders that are
// missing and gives leaderships back.
#include "millrace/runtime/controller_driver.h"

namespace millrace::runtime {
namespace {

constexpr Duration kSessionCheckInterval = std::chrono::milliseconds(500);
constexpr Duration kElectionInterval = 5s;
constexpr Duration kProbeTimeout = 1s;

}  // namespace

void ControllerDriver::begin_watch() {
  next_election_ = reactor_.now() + kElectionInterval;
  next_balance_ = reactor_.now() + options_.balance_interval;
  // Whose leadership of the quorum ended may be gone altogether.
  auto const* before = tip_.image().find_broker(std::exchange(leader_before_, kNoBroker));
  if (before != nullptr && !before->is_fenced) {
    on_fencing_event(metadata::fencing::HeartbeatConnectionEnded{before->id, before->epoch, before->is_in_controlled_shutdown});
  }
  // Who takes over may have nothing to append, and watches all the same.
  arm_session_check();
  run_probes();
}

// While another node leads.
void ControllerDriver::observe_brokers(metadata::Image const& image) {
  if (!options_.is_controller || leading_ || is_closed_ || is_alone_) return;
  controller_.observe_brokers(image, reactor_.now());
  run_probes();
}

void ControllerDriver::arm_session_check() {
  // Only other brokers have sessions: a node alone has nothing to watch, and sleeps.
  if (is_session_check_armed_ || tip_.image().brokers.size() < 2) return;
  is_session_check_armed_ = true;
  reactor_.call_at(reactor_.now() + kSessionCheckInterval, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    is_session_check_armed_ = false;
    if (!leading_ || is_closed_ || tip_.image().brokers.size() < 2) return;
    watch_brokers();
    arm_session_check();
  });
}

void ControllerDriver::watch_brokers() {
  auto const now = reactor_.now();
  auto const fenced = controller_.fence_stale_brokers(tip_.image(), now);
  if (!fenced.empty()) env_.log().info("controller", "a broker is gone or was silent for its session: {} records fence it", fenced.size());
  if (!append_in_batches(fenced)) return;
  if (now >= next_election_) {
    next_election_ = now + kElectionInterval;
    if (!append_in_batches(controller_.elect_missing_leaders(tip_.image(), metadata::kElectionsPerPassMax))) return;
  }
  if (!options_.balances_leaders || now < next_balance_) return;
  auto const records = controller_.balance_leaders(tip_.image(), metadata::kElectionsPerPassMax);
  // More than one pass takes: the rest comes with the next check.
  if (records.size() < metadata::kElectionsPerPassMax) next_balance_ = now + options_.balance_interval;
  append_in_batches(records);
}

// ---- listeners of brokers

void ControllerDriver::heartbeat_connection_ended(metadata::fencing::HeartbeatConnectionEnded ended) {
  reactor_.post([this, alive = std::weak_ptr(alive_), ended] {
    if (!alive.expired()) on_fencing_event(ended);
  });
}

void ControllerDriver::on_fencing_event(metadata::fencing::Event const& event) {
  bool const is_probe = std::holds_alternative<metadata::fencing::Probed>(event);
  if (is_closed_ || (!leading_ && !is_probe)) return;
  auto const records = controller_.on_fencing_event(tip_.image(), event, reactor_.now());
  if (auto const* ended = std::get_if<metadata::fencing::HeartbeatConnectionEnded>(&event)) {
    env_.log().info("controller", "broker {} ended the connection of its heartbeats{}", ended->broker,
                    ended->in_controlled_shutdown ? ", shutting down" : "");
  } else if (leading_ && !records.empty()) {
    env_.log().info("controller", "broker {} is gone, its listener refuses: {} records fence it",
                    std::get<metadata::fencing::Probed>(event).broker, records.size());
  }
  append_in_batches(records);  // none while another node leads
  run_probes();
}

void ControllerDriver::run_probes() {
  for (auto const& probe : controller_.take_probes()) {
    reactor_.call_at(std::max(probe.at, reactor_.now()), [this, alive = std::weak_ptr(alive_), probe] {
      if (!alive.expired() && !is_closed_) start_probe(probe);
    });
  }
}

void ControllerDriver::start_probe(metadata::fencing::Probe const& probe) {
  using metadata::fencing::Probed, metadata::fencing::ProbeResult;
  auto const* broker = tip_.image().find_broker(probe.broker);
  if (broker == nullptr || broker->endpoints.empty()) return on_fencing_event(Probed{probe.broker, probe.epoch, ProbeResult::unknown});
  auto const* named = broker->find_endpoint(options_.inter_broker_listener);
  auto const& endpoint = named != nullptr ? *named : broker->endpoints.front();
  env_.network().connect(reactor_, endpoint.host, endpoint.port, reactor_.now() + kProbeTimeout,
                         [this, alive = std::weak_ptr(alive_), probe](Result<std::unique_ptr<env::Connection>> connected) {
                           if (alive.expired()) return;
                           auto result = ProbeResult::unknown;
                           if (connected.ok()) result = ProbeResult::reached;
                           else if (connected.error().kind == ErrorKind::not_found) result = ProbeResult::refused;
                           on_fencing_event(Probed{probe.broker, probe.epoch, result});
                         });
}

}  // namespace millrace::runtime
