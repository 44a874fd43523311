#include "partition_rules.h"

namespace millrace::metadata {

TopicRules topic_rules(Image const& tip, ControllerConfig const& config, TopicImage const& topic) {
  TopicConfigView const configs(tip, config.node_id, config.statics, topic.name);
  TopicRules rules;
  rules.min_isr = static_cast<int32_t>(configs.number("min.insync.replicas"));
  if (auto const* first = topic.find_partition(0)) rules.min_isr = std::min(rules.min_isr, static_cast<int32_t>(first->replicas.size()));
  rules.allows_unclean = configs.boolean("unclean.leader.election.enable");
  return rules;
}

bool is_current_broker(Image const& tip, BrokerId id, int64_t epoch) {
  auto const* broker = tip.find_broker(id);
  return broker != nullptr && broker->epoch == epoch;
}

bool may_lead(Image const& tip, PartitionImage const& partition, BrokerId id) {
  auto const* broker = tip.find_broker(id);
  return broker != nullptr && broker->is_active() && broker->has_online_directory(partition.directory_of(id));
}

}  // namespace millrace::metadata
