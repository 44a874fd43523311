#include "millrace/metadata/mutation_quotas.h"

#include <cmath>

namespace millrace::metadata {
namespace {

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

MutationQuotas::Bucket& MutationQuotas::filled_bucket(QuotaLimit const& limit, Mono now) {
  auto const full = limit.bound * seconds(windows_.size * windows_.count);
  Name name(limit.user, limit.client_id);
  if (auto const found = buckets_.find(name); found != buckets_.end()) {
    auto& bucket = found->second;
    bucket.tokens = std::min(full, bucket.tokens + limit.bound * seconds(now - bucket.filled));
    bucket.filled = now;
    return bucket;
  }
  if (buckets_.size() >= kBucketsMax) {
    auto const filled = [](auto const& entry) { return entry.second.filled; };
    buckets_.erase(std::ranges::min_element(buckets_, {}, filled));
  }
  return buckets_.emplace(std::move(name), Bucket{full, now}).first->second;
}

MutationQuotas::Request::Request(MutationQuotas& quotas, Image const& tip, std::optional<MutationAsker> const& asker,
                                 Mono now)
    : quotas_(quotas), now_(now) {
  if (!asker) return;
  limit_ = find_quota(tip, asker->user, asker->client_id, kControllerMutationRate);
  is_strict_ = asker->is_strict;
}

ApiError MutationQuotas::Request::take(size_t partition_count) {
  if (!limit_) return {};
  auto& bucket = quotas_.filled_bucket(*limit_, now_);
  auto const note_debt = [&] {
    if (bucket.tokens < 0) throttle_ = from_ms(std::llround(-bucket.tokens / limit_->bound * 1000));
  };
  if (is_strict_ && bucket.tokens < 0) {
    note_debt();
    return {ErrorCode::throttling_quota_exceeded, std::nullopt};
  }
  bucket.tokens -= static_cast<double>(partition_count);
  if (!is_strict_) note_debt();
  return {};
}

}  // namespace millrace::metadata
