#include "millrace/broker/client_quotas.h"

#include <cmath>

namespace millrace::broker {

void WindowedRate::drop_old(Mono now) {
  auto const age_max = windows_.size * windows_.count;
  for (auto& sample : samples_) {
    if (sample.is_used && now - sample.start >= age_max) sample = {};
  }
}

void WindowedRate::record(double value, Mono now) {
  last_used_ = std::max(last_used_, now);
  if (!samples_[current_].is_used) {
    samples_[current_] = {now, 0, true};
  } else if (now - samples_[current_].start >= windows_.size) {
    current_ = (current_ + 1) % samples_.size();
    samples_[current_] = {now, 0, true};
  }
  samples_[current_].sum += value;
}

Duration WindowedRate::span(Mono now) {
  drop_old(now);
  auto oldest = now;
  for (auto const& sample : samples_) {
    if (sample.is_used) oldest = std::min(oldest, sample.start);
  }
  auto elapsed = now - oldest;
  auto const full_count = elapsed / windows_.size;
  if (full_count < windows_.count - 1) elapsed += windows_.size * (windows_.count - 1 - full_count);
  return std::max<Duration>(elapsed, 1ms);
}

double WindowedRate::per_second(Mono now) {
  auto const over = std::chrono::duration<double>(span(now)).count();
  double total = 0;
  for (auto const& sample : samples_) total += sample.sum;
  return total / over;
}

WindowedRate& ClientQuotas::rate_of(std::string_view key, metadata::QuotaLimit const& limit) {
  Name name(key, limit.user, limit.client_id);
  if (auto const found = by_name_.find(name); found != by_name_.end()) {
    rates_.splice(rates_.begin(), rates_, found->second);
    return rates_.front().rate;
  }
  if (rates_.size() >= kRatesMax) {
    by_name_.erase(rates_.back().name);
    rates_.pop_back();
  }
  rates_.push_front({name, WindowedRate(windows_)});
  by_name_.emplace(std::move(name), rates_.begin());
  return rates_.front().rate;
}

Duration ClientQuotas::record(metadata::Image const& image, std::string_view user, std::string_view client_id,
                              std::string_view key, int64_t bytes, Mono now) {
  auto const limit = metadata::find_quota(image, user, client_id, key);
  if (!limit) return Duration::zero();
  std::lock_guard lock(mutex_);
  auto& rate = rate_of(key, *limit);
  rate.record(static_cast<double>(bytes), now);
  auto const above = rate.per_second(now) - limit->bound;
  if (above <= 0) return Duration::zero();
  // As long as it takes until the rate over the same span is the limit.
  auto const span_ms = std::chrono::duration<double, std::milli>(rate.span(now)).count();
  constexpr double kThrottleMsMax = 1e9;
  return from_ms(std::llround(std::min(above / limit->bound * span_ms, kThrottleMsMax)));
}

void ClientQuotas::unrecord(metadata::Image const& image, std::string_view user, std::string_view client_id,
                            std::string_view key, int64_t bytes, Mono now) {
  auto const limit = metadata::find_quota(image, user, client_id, key);
  if (!limit) return;
  std::lock_guard lock(mutex_);
  rate_of(key, *limit).unrecord(static_cast<double>(bytes), now);
}

int64_t ClientQuotas::bytes_max(metadata::Image const& image, std::string_view user, std::string_view client_id,
                                std::string_view key) const {
  auto const limit = metadata::find_quota(image, user, client_id, key);
  if (!limit) return INT64_MAX;
  auto const seconds = std::chrono::duration<double>(windows_.size * (windows_.count - 1)).count();
  auto const bytes = limit->bound * seconds;
  return bytes >= static_cast<double>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(bytes);
}

size_t ClientQuotas::rate_count() const {
  std::lock_guard lock(mutex_);
  return rates_.size();
}

}  // namespace millrace::broker
