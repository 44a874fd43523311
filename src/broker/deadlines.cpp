#include "millrace/broker/deadlines.h"

#include <utility>

namespace millrace::broker {

Deadline::~Deadline() { Deadlines::remove(*this); }

Deadlines::~Deadlines() {
  while (first_ != nullptr) remove(*first_);
}

void Deadlines::add(Deadline& deadline, Mono at) {
  deadline.list_ = this;
  deadline.at_ = at;
  deadline.previous_ = nullptr;
  deadline.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &deadline;
  first_ = &deadline;
  arm();
}

void Deadlines::remove(Deadline& deadline) {
  if (deadline.list_ == nullptr) return;
  if (deadline.previous_ != nullptr) deadline.previous_->next_ = deadline.next_;
  else deadline.list_->first_ = deadline.next_;
  if (deadline.next_ != nullptr) deadline.next_->previous_ = deadline.previous_;
  deadline.list_ = nullptr;
}

void Deadlines::arm() {
  if (std::exchange(is_armed_, true)) return;
  reactor_.call_at(reactor_.now() + kTick, [this] { tick(); });
}

void Deadlines::tick() {
  is_armed_ = false;
  auto const now = reactor_.now();
  // What a deadline does may change the list, so each expired one is looked for from the start.
  for (auto* deadline = first_; deadline != nullptr;) {
    if (deadline->at_ > now) {
      deadline = deadline->next_;
      continue;
    }
    remove(*deadline);
    deadline->on_deadline();
    deadline = first_;
  }
  if (first_ != nullptr) arm();
}

}  // namespace millrace::broker
