#include "millrace/broker/recently_fenced.h"

#include <algorithm>

#include "millrace/metadata/delta.h"

namespace millrace::broker {

void RecentlyFenced::on_publication(metadata::Publication const& publication, Mono now) {
  if (publication.delta.brokers.empty()) return;
  std::lock_guard lock(mutex_);
  std::erase_if(until_, [&](auto const& one) { return one.second <= now || publication.delta.brokers.contains(one.first); });
  for (auto const id : publication.delta.brokers) {
    auto const* before = publication.before->find_broker(id);
    auto const* after = publication.after->find_broker(id);
    if (before == nullptr || after == nullptr || before->epoch != after->epoch) continue;
    if (before->is_active() && after->is_fenced) until_.emplace_back(id, now + kNamedFor);
  }
  is_empty_.store(until_.empty(), std::memory_order_relaxed);
}

bool RecentlyFenced::is_named(BrokerId broker, Mono now) const {
  if (is_empty_.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(mutex_);
  return std::any_of(until_.begin(), until_.end(), [&](auto const& one) { return one.first == broker && now < one.second; });
}

}  // namespace millrace::broker
