// Partitions: what their leaders say of the in-sync sets. Order of checks and errors are Kafka's.
#include <algorithm>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "partition_rules.h"

namespace millrace::metadata {
namespace {

// Whoever is in sync could lead: it must be up, stay up, and be the one that fetched.
bool is_eligible(Image const& tip, IsrMember const& member) {
  auto const* broker = tip.find_broker(member.id);
  return broker != nullptr && broker->is_active() && (member.broker_epoch == -1 || member.broker_epoch == broker->epoch);
}

// No member twice, and replicas only.
bool is_valid_isr(PartitionImage const& partition, std::vector<IsrMember> const& isr) {
  std::vector<BrokerId> sorted;
  for (auto const& member : isr) sorted.push_back(member.id);
  std::sort(sorted.begin(), sorted.end());
  return !sorted.empty() && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(sorted.begin(), sorted.end(), [&](BrokerId id) { return partition.has_replica(id); });
}

ErrorCode check_isr_change(Image const& tip, [[maybe_unused]] Hooks& hooks, BrokerId broker, PartitionImage const* partition,
                           PartitionIsrChange const& change) {
  if (partition == nullptr) return ErrorCode::unknown_topic_or_partition;
  // Who knows of a later epoch than this controller heard from a later controller.
  if (change.leader_epoch > partition->leader_epoch) return ErrorCode::not_controller;
  if (change.partition_epoch > partition->partition_epoch) return ErrorCode::not_controller;
  if (change.leader_epoch < partition->leader_epoch) return ErrorCode::fenced_leader_epoch;
  if (broker != partition->leader) return ErrorCode::invalid_request;
  bool const is_stale = change.partition_epoch < partition->partition_epoch;
  if (is_stale && !MR_MUTANT(hooks, "metadata.stale_partition_epoch")) return ErrorCode::invalid_update_version;
  if (!is_valid_isr(*partition, change.isr)) return ErrorCode::invalid_request;
  auto const is_leader = [&](IsrMember const& member) { return member.id == partition->leader; };
  if (std::none_of(change.isr.begin(), change.isr.end(), is_leader)) return ErrorCode::invalid_request;
  if (change.recovery_state == LeaderRecoveryState::recovering) {
    if (change.isr.size() > 1) return ErrorCode::invalid_request;
    if (partition->recovery_state == LeaderRecoveryState::recovered) return ErrorCode::invalid_request;
  }
  auto const is_good = [&](IsrMember const& member) { return is_eligible(tip, member); };
  bool const has_ineligible = !std::all_of(change.isr.begin(), change.isr.end(), is_good);
  if (has_ineligible && !MR_MUTANT(hooks, "metadata.ineligible_in_isr")) return ErrorCode::ineligible_replica;
  return ErrorCode::none;
}

PartitionIsrChanged changed(PartitionIsrChange const& change, ErrorCode error) {
  PartitionIsrChanged out;
  out.topic = change.topic;
  out.partition = change.partition;
  out.error = error;
  return out;
}

PartitionIsrChanged changed(PartitionIsrChange const& change, PartitionImage const& partition) {
  auto out = changed(change, ErrorCode::none);
  out.leader = partition.leader;
  out.leader_epoch = partition.leader_epoch;
  out.isr = partition.isr;
  out.recovery_state = partition.recovery_state;
  out.partition_epoch = partition.partition_epoch;
  return out;
}

}  // namespace

PartitionIsrChanged Controller::change_isr(Image const& tip, BrokerId broker, PartitionIsrChange const& change,
                                           RecordList& out) const {
  auto const* topic = tip.find_topic(change.topic);
  if (topic == nullptr) return changed(change, ErrorCode::unknown_topic_id);
  auto const* partition = topic->find_partition(change.partition);
  auto const error = check_isr_change(tip, *config_.hooks, broker, partition, change);
  if (error != ErrorCode::none) return changed(change, error);

  auto const rules = topic_rules(tip, config_, *topic);
  std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId id) { return may_lead(tip, *partition, id); };
  std::vector<BrokerId> isr;
  for (auto const& member : change.isr) isr.push_back(member.id);
  auto const after = add_partition_change(out,
                                          {.topic_id = topic->id,
                                           .index = change.partition,
                                           .partition = *partition,
                                           .min_isr = rules.min_isr,
                                           .elr_enabled = tip.feature_level(kElrFeature) > 0,
                                           .election = rules.allows_unclean ? Election::unclean : Election::online,
                                           .may_lead = is_acceptable,
                                           .target_isr = std::move(isr),
                                           .recovery_state = change.recovery_state,
                                           .hooks = *config_.hooks},
                                          tip.metadata_version());
  if (!after) return changed(change, *partition);
  // The change completed a reassignment that takes the leader away, say.
  if (after->leader_epoch != partition->leader_epoch && after->leader != broker) {
    return changed(change, ErrorCode::new_leader_elected);
  }
  return changed(change, *after);
}

Decision Controller::decide(Image const& tip, AlterPartition const& request, Mono) {
  Decision decision;
  AlterPartitionAnswer answer;
  if (!is_current_broker(tip, request.broker, request.broker_epoch) && !MR_MUTANT(*config_.hooks, "metadata.stale_broker_epoch")) {
    answer.error = {ErrorCode::stale_broker_epoch, std::nullopt};
  } else {
    for (auto const& change : request.partitions) {
      answer.partitions.push_back(change_isr(tip, request.broker, change, decision.records));
    }
  }
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const&, ElectLeaders const&, Mono) {
  return {{}, ElectLeadersAnswer{{ErrorCode::unsupported_version, std::nullopt}, {}}};
}

Decision Controller::decide(Image const&, AssignReplicasToDirectories const&, Mono) {
  return {{}, AssignReplicasToDirectoriesAnswer{{ErrorCode::unsupported_version, std::nullopt}, {}}};
}

}  // namespace millrace::metadata
