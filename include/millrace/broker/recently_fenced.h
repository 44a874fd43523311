// Brokers that were taken for dead a moment ago. Metadata goes on naming their addresses for as long: a client that is told
// of a partition's new leader and, in the same answer, that the old one does not exist, takes both apart at once, and
// librdkafka then finds the partition again only when it next looks, a second later. Nothing else counts them.
#pragma once
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/time.h"

namespace millrace::metadata {
struct Publication;
}

namespace millrace::broker {

class RecentlyFenced {
 public:
  static constexpr Duration kNamedFor = 2s;  // two looks of librdkafka

  // On the control reactor. Who had said that it would stop is named no longer than Kafka names it.
  void on_publication(metadata::Publication const& publication, Mono now);
  // Any thread.
  bool is_named(BrokerId broker, Mono now) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<BrokerId, Mono>> until_;  // mutex_; at most one a broker
  std::atomic<bool> is_empty_{true};
};

}  // namespace millrace::broker
