#include "millrace/metadata/fencing.h"

#include <algorithm>

#include "millrace/base/assert.h"

namespace millrace::metadata {

void Fencing::on_heard(BrokerId id, int64_t epoch, bool is_fenced, Mono now, fencing::Effects& out) {
  auto& broker = brokers_[id];
  if (broker.epoch != epoch) broker = {.taken_for_dead = broker.taken_for_dead};
  broker.epoch = epoch;
  broker.heard = now;
  broker.is_fenced = is_fenced;
  broker.stage = Stage::calm;
  if (is_fenced || broker.is_reached || broker.is_asked) return;
  broker.is_asked = true;
  out.push_back(fencing::Probe{id, epoch, now});
}

void Fencing::on_seen(BrokerId id, int64_t epoch, bool is_fenced, bool in_controlled_shutdown, Mono now,
                      fencing::Effects& out) {
  auto const known = brokers_.find(id);
  bool const was_serving = known != brokers_.end() && known->second.epoch == epoch && !known->second.is_fenced;
  if (was_serving && is_fenced && !in_controlled_shutdown) known->second.taken_for_dead = now;
  on_heard(id, epoch, is_fenced, now, out);
}

void Fencing::on_event(fencing::Event const& event, Mono now, fencing::Effects& out) {
  std::visit([&](auto const& e) { on(e, now, out); }, event);
}

void Fencing::on(fencing::HeartbeatConnectionEnded const& event, Mono now, fencing::Effects& out) {
  auto const found = brokers_.find(event.broker);
  if (found == brokers_.end() || found->second.epoch != event.epoch) return;
  if (event.in_controlled_shutdown || found->second.is_fenced || found->second.stage != Stage::calm) return;
  if (!found->second.is_reached && !MR_MUTANT(*hooks_, "metadata.fence_unreached")) return;
  if (!may_fence_early(event.broker, now)) return;
  found->second.stage = Stage::first_probe;
  out.push_back(fencing::Probe{event.broker, event.epoch, now});
}

void Fencing::on(fencing::Probed const& event, Mono now, fencing::Effects& out) {
  auto const found = brokers_.find(event.broker);
  if (found == brokers_.end()) return;
  auto& broker = found->second;
  if (broker.epoch != event.epoch && !MR_MUTANT(*hooks_, "metadata.fence_other_epoch")) return;
  broker.is_asked = false;
  if (event.result == fencing::ProbeResult::reached) broker.is_reached = true;
  auto const stage = std::exchange(broker.stage, Stage::calm);
  if (stage == Stage::calm) return;
  if (event.result != fencing::ProbeResult::refused) {
    // A process that ends gives back what it had open piece by piece, its listener perhaps last. One that lives is
    // heard of before long.
    if (now - broker.heard >= session_) return;
    broker.stage = Stage::first_probe;
    out.push_back(fencing::Probe{event.broker, event.epoch, now + kBetweenProbes});
    return;
  }
  bool const is_second = stage == Stage::second_probe || MR_MUTANT(*hooks_, "metadata.fence_at_first_refusal");
  if (!is_second) {
    broker.stage = Stage::second_probe;
    out.push_back(fencing::Probe{event.broker, event.epoch, now + kBetweenProbes});
    return;
  }
  if (!may_fence_early(event.broker, now)) return;
  MR_PROBE(*hooks_, "fencing.fenced_early");
  broker.is_fenced = true;
  broker.taken_for_dead = now;
  out.push_back(fencing::Fence{event.broker, event.epoch});
}

bool Fencing::may_fence_early(BrokerId broker, Mono now) const {
  return MR_MUTANT(*hooks_, "metadata.fence_many") || std::all_of(brokers_.begin(), brokers_.end(), [&](auto const& other) {
           auto const& at = other.second.taken_for_dead;
           return other.first == broker || !at || now - *at >= session_;
         });
}

bool Fencing::has_session(BrokerId broker, int64_t epoch, Mono now) const {
  auto const found = brokers_.find(broker);
  return found != brokers_.end() && found->second.epoch == epoch && now - found->second.heard < session_;
}

void Fencing::check_invariants() const {
  for (auto const& [id, broker] : brokers_) {
    MR_ASSERT_VALUES(broker.stage == Stage::calm || broker.is_reached, "broker {}", id);
  }
}

}  // namespace millrace::metadata
