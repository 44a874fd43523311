#include "request_order.h"

#include "millrace/base/assert.h"

namespace millrace::net {

void RequestOrder::on_frame(SharedBytes frame, Mono arrived, bool is_produce) {
  auto const bytes = static_cast<int64_t>(frame.size());
  bytes_ += bytes;
  requests_.push_back({.frame = std::move(frame), .bytes = bytes, .arrived = arrived, .is_produce = is_produce,
                       .is_handed_over = false, .answer = std::nullopt});
}

RequestOrder::Entry* RequestOrder::find(uint64_t number) {
  auto const index = number - first_number_;
  return number >= first_number_ && index < started_count_ ? &requests_[index] : nullptr;
}

void RequestOrder::on_handed_over(uint64_t number) {
  if (auto* const entry = find(number)) entry->is_handed_over = true;
}

void RequestOrder::on_answered(uint64_t number, Leaving answer, Duration throttle, Mono now) {
  auto* const entry = find(number);
  MR_ASSERT(entry != nullptr);
  MR_ASSERT(!entry->answer);
  if (answer.how == Answered::by_closing) may_start_more_ = false;
  if (throttle > Duration::zero()) throttled_until_ = std::max(throttled_until_, now + throttle);
  entry->answer = std::move(answer);
}

bool RequestOrder::has_startable(Mono now) const {
  if (!may_start_more_ || started_count_ == requests_.size() || now < throttled_until_) return false;
  if (started_count_ == 0) return true;
  if (!requests_[started_count_].is_produce) return false;
  for (size_t i = 0; i < started_count_; ++i) {
    if (!requests_[i].is_produce || (!requests_[i].is_handed_over && !requests_[i].answer)) return false;
  }
  return true;
}

RequestOrder::Started RequestOrder::start_next() {
  MR_ASSERT(started_count_ < requests_.size());
  auto& entry = requests_[started_count_];
  auto const number = first_number_ + started_count_++;
  return {number, std::move(entry.frame), entry.arrived};
}

std::optional<RequestOrder::Leaving> RequestOrder::take_leaving() {
  if (started_count_ == 0 || !requests_.front().answer) return std::nullopt;
  auto leaving = std::move(*requests_.front().answer);
  bytes_ -= requests_.front().bytes;
  requests_.pop_front();
  ++first_number_;
  --started_count_;
  return leaving;
}

void RequestOrder::check_invariants() const {
  MR_ASSERT(started_count_ <= requests_.size());
  int64_t bytes = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    bytes += requests_[i].bytes;
    MR_ASSERT(i < started_count_ || !requests_[i].answer);
    // Whatever runs beside another is a Produce, and all but the last of them have been handed over or answered.
    MR_ASSERT(i >= started_count_ || started_count_ == 1 || requests_[i].is_produce);
    MR_ASSERT(i + 1 >= started_count_ || requests_[i].is_handed_over || requests_[i].answer);
  }
  MR_ASSERT(bytes == bytes_);
}

}  // namespace millrace::net
