#include "partition_rules.h"

#include "millrace/metadata/features.h"

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

void add_replica_removal(RecordList& out, Image const& tip, ControllerConfig const& config, TopicRules const& rules,
                         TopicImage const& topic, int32_t index, PartitionImage const& partition, BrokerId broker,
                         std::optional<DirectoryId> directory) {
  std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId id) { return id != broker && may_lead(tip, partition, id); };
  PartitionChange change{.topic_id = topic.id,
                         .index = index,
                         .partition = partition,
                         .min_isr = rules.min_isr,
                         .elr_enabled = tip.feature_level(kElrFeature) > 0,
                         .election = rules.allows_unclean ? Election::unclean : Election::online,
                         .may_lead = is_acceptable,
                         .hooks = *config.hooks};
  std::erase(change.target_isr, broker);
  if (directory) change.directory = {broker, *directory};
  add_partition_change(out, change, tip.metadata_version());
}

}  // namespace millrace::metadata
