#include "millrace/runtime/broker_lifecycle.h"

#include "millrace/base/assert.h"

namespace millrace::runtime {

using namespace lifecycle;

namespace {

constexpr std::string_view kStateNames[] = {"stopped", "starting", "registering", "fenced",
                                            "running", "shutting down", "ended"};

// What another try would not change.
bool is_final(ErrorCode error) {
  return error == ErrorCode::inconsistent_cluster_id || error == ErrorCode::unsupported_version ||
         error == ErrorCode::invalid_registration;
}

}  // namespace

void BrokerLifecycle::on_event(Event const& event, Mono now, Effects& out) {
  if (state_ == State::ended) return;
  std::visit([&](auto const& e) { on(e, now, out); }, event);
}

void BrokerLifecycle::on(event::Started const&, Mono now, Effects& out) {
  MR_ASSERT(state_ == State::stopped);
  state_ = State::starting;
  give_up_at_ = now + config_.registration_timeout;
  set_timer(give_up_at_, out);
}

// After a kill the first image tells which registration was the one before: without it, this one would count as unclean.
void BrokerLifecycle::on(event::Published const& e, Mono now, Effects& out) {
  has_image_ = true;
  image_offset_ = e.offset;
  image_epoch_ = e.registered_epoch;
  is_fenced_in_image_ = e.is_fenced;
  if (state_ == State::starting) {
    state_ = State::registering;
    return send(now, out);
  }
  bool const is_own = epoch_ >= 0 && image_epoch_ == epoch_;
  if (!is_own || (state_ != State::fenced && state_ != State::running)) return;
  if (is_fenced_in_image_) {
    state_ = State::fenced;
    return send_soon(now, out);  // a heartbeat now unfences it
  }
  state_ = State::running;
  if (!std::exchange(has_unfenced_, true)) out.push_back(effect::Unfenced{});
  if (e.is_awaited) send_awaited(now, out);
}

void BrokerLifecycle::on(event::RegistrationAnswered const& e, Mono now, Effects& out) {
  MR_ASSERT(is_asking_);
  is_asking_ = false;
  bool const was_hurried = std::exchange(is_hurried_, false);
  bool const is_stopping = state_ == State::shutting_down;
  if (e.error != ErrorCode::none) {
    if (is_stopping) return send_at(now + kShutdownInterval, out);
    if (epoch_ >= 0 || (!is_final(e.error) && now < give_up_at_)) return retry_later(now, out);
    return end(effect::Failed{e.message.empty() ? std::string(error_name(e.error)) : e.message}, out);
  }
  epoch_ = e.epoch;
  out.push_back(effect::Registered{epoch_});
  if (is_stopping) {
    wait_on_for_shutdown(now);
    return send(now, out);
  }
  give_up_at_ = Mono::never();
  retry_ = {};
  state_ = State::fenced;
  // It is caught up with its own registration only when that has come back to it.
  if (image_epoch_ == epoch_ || was_hurried) return send(now, out);
  send_at(now + config_.heartbeat_interval, out);
}

void BrokerLifecycle::on(event::HeartbeatAnswered const& e, Mono now, Effects& out) {
  MR_ASSERT(is_asking_);
  is_asking_ = false;
  bool const was_hurried = std::exchange(is_hurried_, false);
  bool const was_awaited = std::exchange(is_awaited_, false);
  if (e.error == ErrorCode::stale_broker_epoch || e.error == ErrorCode::broker_id_not_registered) {
    if (state_ == State::shutting_down) return end(effect::ShutDown{}, out);
    // Its session was given to somebody else, or somebody took it off the list.
    state_ = State::registering;
    return retry_later(now, out);
  }
  if (e.error != ErrorCode::none) {
    if (state_ != State::shutting_down) return retry_later(now, out);
    // One that was asked before the stop was, has said nothing of it yet.
    if (e.error == ErrorCode::request_timed_out && !was_hurried) return end(effect::ShutDown{}, out);
    return was_hurried ? send(now, out) : send_at(now + kShutdownInterval, out);
  }
  retry_ = {};
  if (state_ == State::shutting_down) {
    if (e.should_shut_down) return end(effect::ShutDown{}, out);
    wait_on_for_shutdown(now);
    return was_hurried ? send(now, out) : send_at(now + kShutdownInterval, out);
  }
  if (was_hurried) return send(now, out);
  if (was_awaited) return send_awaited(now, out);
  send_at(now + config_.heartbeat_interval, out);
}

void BrokerLifecycle::on(event::TimerFired const&, Mono now, Effects& out) {
  if (now >= give_up_at_) {
    if (state_ == State::shutting_down) return end(effect::ShutDown{}, out);
    return end(effect::Failed{fmt::format("no controller answered within {} s: are a majority of the controllers up, and are "
                                          "their addresses right?",
                                          to_ms(config_.registration_timeout) / 1000)},
               out);
  }
  if (now >= ask_at_) return send(now, out);
  set_timer(std::min(ask_at_, give_up_at_), out);
}

void BrokerLifecycle::on(event::NewsToTell const&, Mono now, Effects& out) {
  if (epoch_ >= 0 && (state_ == State::fenced || state_ == State::running)) send_soon(now, out);
}

void BrokerLifecycle::on(event::ShutdownRequested const&, Mono now, Effects& out) {
  if (state_ == State::shutting_down) return;
  if (epoch_ < 0) return end(effect::ShutDown{}, out);
  state_ = State::shutting_down;
  shut_down_by_ = now + config_.shutdown_timeout;
  wait_on_for_shutdown(now);
  if (!is_asking_) return send(now, out);
  is_hurried_ = true;
  set_timer(give_up_at_, out);
}

void BrokerLifecycle::wait_on_for_shutdown(Mono now) { give_up_at_ = std::min(now + kShutdownSilenceMax, shut_down_by_); }

void BrokerLifecycle::send(Mono now, Effects& out) {
  MR_ASSERT(!is_asking_);
  is_asking_ = true;
  is_hurried_ = is_awaited_ = false;
  asked_at_ = now;
  ask_at_ = Mono::never();
  auto const deadline = state_ == State::shutting_down ? give_up_at_ : std::min(now + config_.session_timeout / 2, give_up_at_);
  if (state_ == State::registering) {
    // Whatever the data lacked, the first registration of this life has told.
    auto const previous = epoch_ >= 0 ? epoch_ : config_.previous_epoch.value_or(image_epoch_);
    out.push_back(effect::Register{previous, deadline});
  } else {
    out.push_back(effect::Heartbeat{epoch_, image_offset_, state_ == State::shutting_down, deadline});
  }
  if (give_up_at_ == Mono::never()) {
    out.push_back(effect::CancelTimer{});
  } else {
    set_timer(give_up_at_, out);
  }
}

void BrokerLifecycle::send_soon(Mono now, Effects& out) {
  if (is_asking_) {
    is_hurried_ = true;
    return;
  }
  if (retry_ == Duration::zero()) send(now, out);  // a controller that fails is not asked more often for it
}

void BrokerLifecycle::send_at(Mono when, Effects& out) {
  ask_at_ = when;
  set_timer(std::min(ask_at_, give_up_at_), out);
}

void BrokerLifecycle::send_awaited(Mono now, Effects& out) {
  if (is_asking_) {
    is_awaited_ = true;
    return;
  }
  if (retry_ != Duration::zero()) return;
  auto const at = asked_at_ + kAwaitedInterval;
  if (at <= now) return send(now, out);
  send_at(std::min(at, ask_at_), out);
}

void BrokerLifecycle::retry_later(Mono now, Effects& out) {
  retry_ = retry_ == Duration::zero() ? kRetryMin : std::min(retry_ * 2, config_.heartbeat_interval);
  send_at(now + retry_, out);
}

void BrokerLifecycle::end(Effect last, Effects& out) {
  state_ = State::ended;
  ask_at_ = give_up_at_ = Mono::never();
  out.push_back(effect::CancelTimer{});
  out.push_back(std::move(last));
}

void BrokerLifecycle::set_timer(Mono at, Effects& out) { out.push_back(effect::SetTimer{at}); }

std::string BrokerLifecycle::text() const {
  auto out = fmt::format("{} epoch {}", kStateNames[static_cast<size_t>(state_)], epoch_);
  if (has_image_) {
    out += fmt::format(" image {} epoch {}{}", image_offset_, image_epoch_, is_fenced_in_image_ ? " fenced" : "");
  }
  if (is_asking_) out += " asking";
  if (is_hurried_) out += " hurried";
  if (is_awaited_) out += " awaited";
  return out;
}

void BrokerLifecycle::check_invariants() const {
  if (state_ == State::fenced || state_ == State::running || state_ == State::shutting_down) MR_ASSERT(epoch_ >= 0);
  if (state_ == State::running) MR_ASSERT(has_unfenced_);
  if (state_ == State::ended) MR_ASSERT(ask_at_ == Mono::never());
  if (is_hurried_ || is_awaited_) MR_ASSERT(is_asking_);
}

}  // namespace millrace::runtime
