// /hot: where the load is. Rates of each partition since a moment up to half a minute ago, how unevenly a topic's
// partitions are used, and the keys that most of a busy partition's latest records have.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>

#include "millrace/base/time.h"
#include "millrace/broker/local_node.h"

namespace millrace::admin {

class HotPartitions {
 public:
  static constexpr Duration kSpanMin = 5s;       // rates over less say little
  static constexpr size_t kKeyedDefault = 5;     // partitions whose keys are looked at when none was named
  static constexpr size_t kKeyedMax = 50;

  explicit HotPartitions(Mono begun) : newer_{begun, {}}, older_{begun, {}} {}

  // Now and then, so that there is something to compare with.
  void sample(broker::LocalNode::Figures const& figures, Mono now);
  // `topic`, `partition`: nothing else is shown, and keys are looked at in all of it.
  std::string json(broker::LocalNode::Figures const& figures, BrokerId node_id, Mono now,
                   std::optional<std::string> const& topic, std::optional<int32_t> partition) const;

 private:
  struct Counts {
    int64_t bytes_in = 0, records_in = 0, bytes_out = 0;
  };
  struct Moment {
    Mono at;
    std::unordered_map<TopicIdPartition, Counts> counts;  // since the partitions were opened
  };
  static std::optional<Counts> counts_of(runtime::PartitionDriver const& partition);

  Moment newer_, older_;
};

}  // namespace millrace::admin
