// Client quotas: the limit that holds for a user and a client id, and with whom they share it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/time.h"
#include "millrace/metadata/image.h"

namespace millrace::metadata {

inline constexpr std::string_view kUserEntity = "user";
inline constexpr std::string_view kClientIdEntity = "client-id";
inline constexpr std::string_view kIpEntity = "ip";

inline constexpr std::string_view kProducerByteRate = "producer_byte_rate";
inline constexpr std::string_view kConsumerByteRate = "consumer_byte_rate";
inline constexpr std::string_view kControllerMutationRate = "controller_mutation_rate";

// What a rate is taken over.
struct QuotaWindows {
  int32_t count = 11;  // quota.window.num
  Duration size = 1s;  // quota.window.size.seconds
};

struct QuotaLimit {
  double bound{};
  // Who counts together: all of a user (no client id), all of a client id (no user), or a client of a user.
  std::string user, client_id;
};

// The limit of `key` for a client; none: it is not limited. The most special entity that has one counts.
std::optional<QuotaLimit> find_quota(Image const& image, std::string_view user, std::string_view client_id,
                                     std::string_view key);

}  // namespace millrace::metadata
