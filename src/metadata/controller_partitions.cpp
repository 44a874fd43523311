// Partitions: what their leaders say of the in-sync sets. Order of checks and errors are Kafka's.
#include <algorithm>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "partition_rules.h"

namespace millrace::metadata {
namespace {

// Whoever is in sync could lead: it must be up, stay up, and be the one that fetched.
bool is_eligible(Image const& tip, Hooks& hooks, IsrMember const& member) {
  auto const* broker = tip.find_broker(member.id);
  if (broker == nullptr || !broker->is_active()) return false;
  if (member.broker_epoch == -1 || member.broker_epoch == broker->epoch) return true;
  MR_PROBE(hooks, "controller.replica_of_an_earlier_life");
  return MR_MUTANT(hooks, "metadata.stale_broker_epoch");
}

// No member twice, and replicas only.
bool is_valid_isr(PartitionImage const& partition, std::vector<IsrMember> const& isr) {
  std::vector<BrokerId> sorted;
  for (auto const& member : isr) sorted.push_back(member.id);
  std::sort(sorted.begin(), sorted.end());
  return !sorted.empty() && std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() &&
         std::all_of(sorted.begin(), sorted.end(), [&](BrokerId id) { return partition.has_replica(id); });
}

ErrorCode check_isr_change(Image const& tip, Hooks& hooks, BrokerId broker, PartitionImage const* partition,
                           PartitionIsrChange const& change) {
  if (partition == nullptr) return ErrorCode::unknown_topic_or_partition;
  // Who knows of a later epoch than this controller heard from a later controller.
  if (change.leader_epoch > partition->leader_epoch) return ErrorCode::not_controller;
  if (change.partition_epoch > partition->partition_epoch) return ErrorCode::not_controller;
  if (change.leader_epoch < partition->leader_epoch) return ErrorCode::fenced_leader_epoch;
  if (broker != partition->leader) return ErrorCode::invalid_request;
  bool const is_stale = change.partition_epoch < partition->partition_epoch;
  if (is_stale) {
    MR_PROBE(hooks, "controller.stale_isr_change");
    if (!MR_MUTANT(hooks, "metadata.stale_partition_epoch")) return ErrorCode::invalid_update_version;
  }
  if (!is_valid_isr(*partition, change.isr)) return ErrorCode::invalid_request;
  auto const is_leader = [&](IsrMember const& member) { return member.id == partition->leader; };
  if (std::none_of(change.isr.begin(), change.isr.end(), is_leader)) return ErrorCode::invalid_request;
  if (change.recovery_state == LeaderRecoveryState::recovering) {
    if (change.isr.size() > 1) return ErrorCode::invalid_request;
    if (partition->recovery_state == LeaderRecoveryState::recovered) return ErrorCode::invalid_request;
  }
  auto const is_good = [&](IsrMember const& member) { return is_eligible(tip, hooks, member); };
  bool const has_ineligible = !std::all_of(change.isr.begin(), change.isr.end(), is_good);
  if (has_ineligible) {
    MR_PROBE(hooks, "controller.ineligible_replica");
    if (!MR_MUTANT(hooks, "metadata.ineligible_in_isr")) return ErrorCode::ineligible_replica;
  }
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
  decision.is_atomic = false;
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

// ---- elections

namespace {

// One partition's election with the sets as they are. Whether anything changed.
bool add_election(RecordList& out, Image const& tip, ControllerConfig const& config, TopicImage const& topic, int32_t index,
                  Election election) {
  auto const& partition = *topic.find_partition(index);
  std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId id) { return may_lead(tip, partition, id); };
  PartitionChange const change{.topic_id = topic.id,
                               .index = index,
                               .partition = partition,
                               .min_isr = topic_rules(tip, config, topic).min_isr,
                               .elr_enabled = tip.feature_level(kElrFeature) > 0,
                               .election = election,
                               .may_lead = is_acceptable,
                               .hooks = *config.hooks};
  return add_partition_change(out, change, tip.metadata_version()).has_value();
}

}  // namespace

ApiError Controller::elect_leader(Image const& tip, TopicImage const* topic, std::string_view name, int32_t index, bool is_unclean,
                                  RecordList& out) const {
  if (topic == nullptr) return {ErrorCode::unknown_topic_or_partition, fmt::format("No such topic as {}", name)};
  auto const* partition = topic->find_partition(index);
  if (partition == nullptr) return {ErrorCode::unknown_topic_or_partition, fmt::format("No such partition as {}-{}", name, index)};
  bool const is_needed = is_unclean ? partition->leader == kNoBroker : partition->leader != partition->replicas.front();
  if (!is_needed) return {ErrorCode::election_not_needed, "Leader election not needed for topic partition."};
  if (add_election(out, tip, config_, *topic, index, is_unclean ? Election::unclean : Election::preferred)) return {};
  if (is_unclean) return {ErrorCode::eligible_leaders_not_available, "Eligible topic partition leaders are not available."};
  return {ErrorCode::preferred_leader_not_available, "The preferred leader was not available."};
}

Decision Controller::decide(Image const& tip, ElectLeaders const& request, Mono) {
  Decision decision;
  decision.is_atomic = false;
  ElectLeadersAnswer answer;
  auto const elect = [&](TopicImage const* topic, std::string const& name, int32_t index) {
    auto error = elect_leader(tip, topic, name, index, request.is_unclean, decision.records);
    if (!request.partitions && error.code == ErrorCode::election_not_needed) return;
    answer.partitions.push_back({name, index, std::move(error)});
  };
  if (request.partitions) {
    for (auto const& [name, indexes] : *request.partitions) {
      for (auto const index : indexes) elect(tip.find_topic(name), name, index);
    }
  } else {
    tip.topics.for_each([&](std::string const& name, TopicImagePtr const& topic) {
      topic->partitions.for_each([&](int32_t index, auto const&) { elect(topic.get(), name, index); });
    });
  }
  if (decision.records.size() > static_cast<size_t>(kPartitionsPerRequestMax)) {
    decision.records = {};
    answer = {{ErrorCode::policy_violation, "Unable to perform excessively large batch operation."}, {}};
  }
  decision.answer = std::move(answer);
  return decision;
}

RecordList Controller::balance_leaders(Image const& tip, size_t count_max) const {
  RecordList out;
  tip.topics_by_id.for_each([&](TopicId const&, TopicImagePtr const& topic) {
    return topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      if (partition->leader != partition->replicas.front()) add_election(out, tip, config_, *topic, index, Election::preferred);
      return out.size() < count_max;
    });
  });
  return out;
}

RecordList Controller::elect_missing_leaders(Image const& tip, size_t count_max) const {
  RecordList out;
  tip.leaderless_counts.for_each([&](TopicId const& id, int32_t) {
    auto const& topic = *tip.find_topic(id);
    auto const election = topic_rules(tip, config_, topic).allows_unclean ? Election::unclean : Election::online;
    return topic.partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      if (partition->leader == kNoBroker) add_election(out, tip, config_, topic, index, election);
      return out.size() < count_max;
    });
  });
  return out;
}

// ---- directories

namespace {

ErrorCode assign_directory(Image const& tip, ControllerConfig const& config, BrokerImage const& broker,
                           ReplicaDirectory const& replica, RecordList& out) {
  auto const* topic = tip.find_topic(replica.topic);
  if (topic == nullptr) return ErrorCode::unknown_topic_id;
  auto const* partition = topic->find_partition(replica.partition);
  if (partition == nullptr) return ErrorCode::unknown_topic_or_partition;
  if (!partition->has_replica(broker.id)) return ErrorCode::not_leader_or_follower;
  if (!broker.has_online_directory(replica.directory)) {
    add_replica_removal(out, tip, config, topic_rules(tip, config, *topic), *topic, replica.partition, *partition, broker.id,
                        replica.directory);
    return ErrorCode::none;
  }
  // It is in service there, wherever it was before.
  std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId id) {
    return id == broker.id ? broker.is_active() : may_lead(tip, *partition, id);
  };
  PartitionChange const change{.topic_id = topic->id,
                               .index = replica.partition,
                               .partition = *partition,
                               .min_isr = topic_rules(tip, config, *topic).min_isr,
                               .elr_enabled = tip.feature_level(kElrFeature) > 0,
                               .may_lead = is_acceptable,
                               .directory = {{broker.id, replica.directory}},
                               .hooks = *config.hooks};
  add_partition_change(out, change, tip.metadata_version());
  return ErrorCode::none;
}

}  // namespace

Decision Controller::decide(Image const& tip, AssignReplicasToDirectories const& request, Mono) {
  Decision decision;
  decision.is_atomic = false;
  AssignReplicasToDirectoriesAnswer answer;
  if (tip.metadata_version() < kMetadataVersion37Iv2) {
    answer.error = {ErrorCode::unsupported_version, "Directory assignment is not supported yet."};
  } else if (!is_current_broker(tip, request.broker, request.broker_epoch)) {
    answer.error = {ErrorCode::stale_broker_epoch, std::nullopt};
  } else {
    auto const& broker = *tip.find_broker(request.broker);
    for (auto const& replica : request.replicas) {
      answer.replicas.emplace_back(replica, assign_directory(tip, config_, broker, replica, decision.records));
    }
  }
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
