// The quota controller_mutation_rate (KIP-599): how many partitions the clients of an entity may create and delete a second.
// A bucket of tokens an entity, as Kafka keeps it: it fills at the quota's rate up to what all windows hold, and one
// change may take more than there is; the next ones then wait until the bucket is out of debt. Soft state of the
// controller.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "millrace/base/time.h"
#include "millrace/metadata/client_quotas.h"
#include "millrace/metadata/controller_api.h"

namespace millrace::metadata {

class MutationQuotas {
 public:
  // Buckets that are kept at once; the one that was used longest ago goes first, and is full when it comes back.
  static constexpr size_t kBucketsMax = 10'000;

  explicit MutationQuotas(QuotaWindows windows) : windows_(windows) {}

  // The changes of one request. Both that are referred to outlive it.
  class Request {
   public:
    Request(MutationQuotas& quotas, Image const& tip, std::optional<MutationAsker> const& asker, Mono now);
    // Counts a change of `partition_count` partitions, or refuses it: it must not happen then.
    ApiError take(size_t partition_count);
    // How long the client is to wait; zero: it need not.
    Duration throttle() const { return throttle_; }

   private:
    MutationQuotas& quotas_;
    std::optional<QuotaLimit> limit_;
    bool is_strict_ = false;
    Mono now_;
    Duration throttle_{};
  };

  size_t bucket_count() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens{};
    Mono filled;
  };
  using Name = std::pair<std::string, std::string>;  // user, client id
  Bucket& filled_bucket(QuotaLimit const& limit, Mono now);

  QuotaWindows const windows_;
  std::map<Name, Bucket> buckets_;
};

}  // namespace millrace::metadata
