#include "millrace/runtime/pause_watch.h"

#include "millrace/base/assert.h"

namespace millrace::runtime {

using namespace pauses;

void PauseWatch::on_event(Event const& event, Mono now, Effects& out) {
  // Whatever comes first after a pause finds it, and says nothing of the time since.
  if (now >= runs_until_) {
    out.push_back(effect::Noticed{now - ran_at_});
    doubt_since_ = now;
    committed_end_.reset();
    is_alive_ = false;
    ran_at_ = now;
    runs_until_ = now + pause_max_;
  }
  std::visit([&](auto const& e) { on(e, now); }, event);
  bool const has_caught_up = committed_end_ && published_end_ >= *committed_end_ && is_alive_ && is_serving_;
  bool const is_over = doubt_since_ && now - *doubt_since_ >= doubt_max();
  if (!doubt_since_ || !(has_caught_up || is_over)) return;
  out.push_back(effect::Ended{now - *doubt_since_, has_caught_up});
  doubt_since_.reset();
}

void PauseWatch::on(event::Started const&, Mono now) {
  ran_at_ = now;
  runs_until_ = now + pause_max_;
}

void PauseWatch::on(event::Tick const&, Mono now) {
  if (runs_until_ == Mono::never()) return;
  ran_at_ = now;
  runs_until_ = now + pause_max_;
}

void PauseWatch::on(event::QuorumAnswered const& e, Mono) {
  // The first one is reached first.
  if (doubt_since_ && e.asked_at >= *doubt_since_ && !committed_end_) committed_end_ = e.committed_end;
}

void PauseWatch::on(event::HeartbeatAnswered const& e, Mono) {
  if (doubt_since_ && e.asked_at >= *doubt_since_) is_alive_ = true;
}

void PauseWatch::on(event::Published const& e, Mono) {
  published_end_ = e.end;
  is_serving_ = e.is_serving;
}

std::string PauseWatch::text() const {
  auto out = fmt::format("published {}{}", published_end_, is_serving_ ? " serving" : "");
  if (!doubt_since_) return out + " sure";
  out += fmt::format(" in doubt since {}", to_ms(doubt_since_->since_start));
  if (committed_end_) out += fmt::format(" committed {}", *committed_end_);
  if (is_alive_) out += " alive";
  return out;
}

void PauseWatch::check_invariants() const {
  if (doubt_since_) MR_ASSERT(ran_at_ >= *doubt_since_);
  if (!doubt_since_) return;
  MR_ASSERT(!committed_end_ || !is_alive_ || !is_serving_ || published_end_ < *committed_end_);
}

}  // namespace millrace::runtime
