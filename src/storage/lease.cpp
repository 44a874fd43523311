#include "segment.h"

namespace millrace::storage {

Lease::Lease(FileCache& cache, std::shared_ptr<Segment> segment, std::shared_ptr<env::File> file, Position end)
    : cache_(cache), segment_(std::move(segment)), file_(std::move(file)), end_(end) {}

Lease::~Lease() { cache_.return_lease(); }

bool Lease::register_sender(void const* sender, Callback<void()> reset) {
  std::lock_guard lock(mutex_);
  if (is_revoked_) return false;
  senders_.emplace_back(sender, std::move(reset));
  return true;
}

void Lease::unregister_sender(void const* sender) {
  std::lock_guard lock(mutex_);
  std::erase_if(senders_, [&](auto const& item) { return item.first == sender; });
}

// The resets run under the lock, so that a sender that unregisters waits for a reset that has begun.
void Lease::revoke() {
  std::lock_guard lock(mutex_);
  is_revoked_ = true;
  for (auto& [sender, reset] : senders_) std::move(reset)();
  senders_.clear();
}

void Segment::revoke_leases_past(Position position) {
  std::vector<std::shared_ptr<Lease>> hit;
  {
    std::lock_guard lock(leases_mutex_);
    for (auto const& weak : leases_) {
      if (auto lease = weak.lock(); lease && lease->end() > position) hit.push_back(std::move(lease));
    }
    std::erase_if(leases_, [&](auto const& weak) { return weak.expired(); });
  }
  for (auto const& lease : hit) lease->revoke();
}

std::optional<size_t> SegmentList::find(Offset offset) const {
  auto const after = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                      [](Offset o, auto const& segment) { return o < segment->base(); });
  if (after == segments_.begin()) return std::nullopt;
  return static_cast<size_t>(after - segments_.begin()) - 1;
}

}  // namespace millrace::storage
