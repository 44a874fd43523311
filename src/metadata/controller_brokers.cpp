// Brokers: registration, heartbeats, fencing, and what they do to partitions.
#include <algorithm>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/protocol/records/metadata.h"
#include "partition_rules.h"

namespace millrace::metadata {
namespace {

enum class Move {
  leaves,           // fenced, shutting down, or restarted after a clean stop
  lost_unsynced,    // restarted, and what it had not synced may be gone
  comes,            // unfenced: leaderless partitions may take it
};

bool has(std::vector<BrokerId> const& list, BrokerId broker) { return std::find(list.begin(), list.end(), broker) != list.end(); }

// Whether the broker may have the replica no more: it lay in none of the directories that the broker comes back with,
// or in none when it was last looked for. Where nobody has told yet where it lies, any that is missing may have had it.
bool is_lost(PartitionImage const& p, BrokerImage const& before, std::vector<DirectoryId> const& directories) {
  auto const directory = p.directory_of(before.id);
  if (directory == kDirectoryLost) return true;
  if (directories.empty()) return false;
  if (directory == kDirectoryUnassigned || directory == kDirectoryMigrating) {
    return !std::includes(directories.begin(), directories.end(), before.directories.begin(), before.directories.end());
  }
  return !std::binary_search(directories.begin(), directories.end(), directory);
}

bool is_touched(PartitionImage const& p, BrokerId broker, Move move) {
  switch (move) {
    case Move::leaves: return has(p.isr, broker);
    case Move::lost_unsynced: return has(p.isr, broker) || has(p.elr, broker);
    case Move::comes: return p.leader == kNoBroker;
  }
  return false;
}

// Each record alone leaves its partition in order: a decision of these may be cut anywhere. `directories`, sorted, are
// those of a new registration.
void move_partitions(Image const& tip, ControllerConfig const& config, BrokerId broker, Move whole, RecordList& out,
                     std::vector<DirectoryId> const* directories = nullptr) {
  bool const has_elr = tip.feature_level(kElrFeature) > 0;
  auto const* before = tip.find_broker(broker);
  auto const change_topic = [&](TopicImage const& topic) {
    std::optional<TopicRules> rules;
    topic.partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      bool const is_gone = has_elr && directories != nullptr && (before == nullptr || is_lost(*partition, *before, *directories));
      auto const move = is_gone ? Move::lost_unsynced : whole;
      if (!is_touched(*partition, broker, move)) return;
      if (!rules) rules = topic_rules(tip, config, topic);
      std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId candidate) {
        if (candidate != broker) return may_lead(tip, *partition, candidate);
        return whole == Move::comes && tip.find_broker(broker)->has_online_directory(partition->directory_of(broker));
      };
      PartitionChange change{.topic_id = topic.id,
                             .index = index,
                             .partition = *partition,
                             .min_isr = rules->min_isr,
                             .elr_enabled = has_elr,
                             .election = rules->allows_unclean ? Election::unclean : Election::online,
                             .may_lead = is_acceptable,
                             .hooks = *config.hooks};
      if (move != Move::comes) std::erase(change.target_isr, broker);
      if (move == Move::lost_unsynced) change.unclean_shutdown = {broker};
      add_partition_change(out, change, tip.metadata_version());
    });
  };
  if (whole == Move::comes) {
    tip.leaderless_counts.for_each([&](TopicId const& id, int32_t) { change_topic(*tip.find_topic(id)); });
  } else {
    for_each_topic_on(tip, broker, [&](TopicImage const& topic) {
      change_topic(topic);
      return true;
    });
  }
}

// Replicas of `broker` in `gone` directories lead nothing and leave their sets.
void leave_directories(Image const& tip, ControllerConfig const& config, BrokerImage const& broker,
                       std::vector<DirectoryId> const& gone, RecordList& out) {
  for_each_topic_on(tip, broker.id, [&](TopicImage const& topic) {
    std::optional<TopicRules> rules;
    topic.partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      auto const directory = partition->directory_of(broker.id);
      if (std::find(gone.begin(), gone.end(), directory) == gone.end() || !partition->has_replica(broker.id)) return;
      if (!rules) rules = topic_rules(tip, config, topic);
      add_replica_removal(out, tip, config, *rules, topic, index, *partition, broker.id, std::nullopt);
    });
    return true;
  });
}

bool has_leaderships(Image const& tip, BrokerId broker) {
  return !for_each_topic_on(tip, broker, [&](TopicImage const& topic) {
    return topic.partitions.for_each([&](int32_t, PartitionImagePtr const& p) { return p->leader != broker; });
  });
}

// Each kind of change is its own record, in the lowest version that has the field, as Kafka writes them.
void add_fencing(RecordList& out, BrokerImage const& broker, bool fence) {
  protocol::BrokerRegistrationChangeRecord r;
  r.broker_id = broker.id.value;
  r.broker_epoch = broker.epoch;
  r.fenced = fence ? int8_t{1} : int8_t{-1};
  out.add(r, 0);
}

void add_controlled_shutdown(RecordList& out, BrokerImage const& broker) {
  protocol::BrokerRegistrationChangeRecord r;
  r.broker_id = broker.id.value;
  r.broker_epoch = broker.epoch;
  r.in_controlled_shutdown = 1;
  out.add(r, 1);
}

void add_cordoned(RecordList& out, BrokerImage const& broker, std::vector<DirectoryId> directories) {
  protocol::BrokerRegistrationChangeRecord r;
  r.broker_id = broker.id.value;
  r.broker_epoch = broker.epoch;
  r.cordoned_log_dirs = directories;
  out.add(r, 3);
}

// Of the broker's directories those that it reports as failed.
std::vector<DirectoryId> directories_gone(BrokerImage const& broker, BrokerHeartbeat const& request) {
  std::vector<DirectoryId> gone;
  if (!request.offline_directories) return gone;
  for (auto const& directory : *request.offline_directories) {
    if (std::binary_search(broker.directories.begin(), broker.directories.end(), directory)) gone.push_back(directory);
  }
  return gone;
}

void add_directories_left(RecordList& out, BrokerImage const& broker, std::vector<DirectoryId> const& gone) {
  std::vector<DirectoryId> left;
  for (auto const& directory : broker.directories) {
    if (std::find(gone.begin(), gone.end(), directory) == gone.end()) left.push_back(directory);
  }
  protocol::BrokerRegistrationChangeRecord r;
  r.broker_id = broker.id.value;
  r.broker_epoch = broker.epoch;
  r.log_dirs = left;
  out.add(r, 2);
}

ApiError check_directories(Image const& tip, RegisterBroker const& request) {
  auto const fail = [](std::string message) { return ApiError{ErrorCode::invalid_registration, std::move(message)}; };
  if (tip.metadata_version() < kMetadataVersion37Iv2) return {};
  if (request.directories.empty()) return fail("No directories specified in request");
  auto sorted = request.directories;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return fail("Duplicate directory ID in request");
  for (auto const& directory : sorted) {
    if (directory == kDirectoryMigrating || directory == kDirectoryUnassigned || directory == kDirectoryLost) {
      return fail(fmt::format("Reserved directory ID in request: {}", directory));
    }
  }
  ApiError problem;
  tip.brokers.for_each([&](BrokerId id, auto const& broker) {
    if (id == request.id) return true;
    for (auto const& directory : broker->directories) {
      if (!std::binary_search(sorted.begin(), sorted.end(), directory)) continue;
      problem = fail(fmt::format("Broker {} is already registered with directory {}", id, directory));
      return false;
    }
    return true;
  });
  return problem;
}

ApiError check_features(Image const& tip, RegisterBroker const& request) {
  ApiError problem;
  tip.features.for_each([&](std::string const& name, int16_t level) {
    auto const found = std::find_if(request.features.begin(), request.features.end(),
                                    [&](SupportedFeature const& f) { return f.name == name; });
    bool const supports = found == request.features.end() ? level == 0 : level >= found->level_min && level <= found->level_max;
    // Older brokers name metadata.version only; what else they do not know they do not need.
    if (supports || (found == request.features.end() && name != kMetadataVersionFeature)) return true;
    problem = {ErrorCode::unsupported_version,
               fmt::format("Unable to register because the broker does not support finalized version {} of {}. The broker wants a "
                           "version between {} and {}, inclusive.", level, name, found == request.features.end() ? 0 : found->level_min,
                           found == request.features.end() ? 0 : found->level_max)};
    return false;
  });
  return problem;
}

// A broker that was killed before it heard how it had been registered names a registration before that one. Of one that
// was unregistered nobody knows any more how it had been registered.
bool is_clean_start(BrokerImage const* existing, RegisterBroker const& request) {
  auto const named = request.previous_broker_epoch;
  return existing != nullptr && existing->unused_since <= named && named <= existing->epoch;
}

}  // namespace

// Its process may still serve.
bool Controller::is_alive(BrokerImage const& broker, Mono now) const {
  if (broker.id == config_.node_id) return broker.incarnation_id == config_.incarnation_id;
  return fencing_.has_session(broker.id, broker.epoch, now);
}

Decision Controller::decide(Image const& tip, RegisterBroker const& request, Mono now) {
  Decision decision;
  decision.is_atomic = false;
  RegisterBrokerAnswer answer;
  auto const fail = [&](ApiError error) {
    answer.error = std::move(error);
    decision.answer = std::move(answer);
    return std::move(decision);
  };
  if (request.cluster_id != config_.cluster_id) {
    return fail({ErrorCode::inconsistent_cluster_id,
                 fmt::format("Expected cluster ID {}, but got cluster ID {}", config_.cluster_id, request.cluster_id)});
  }
  auto sorted_directories = request.directories;
  std::sort(sorted_directories.begin(), sorted_directories.end());
  auto const* existing = tip.find_broker(request.id);
  bool const is_same_process = existing != nullptr && existing->incarnation_id == request.incarnation_id;
  if (existing != nullptr && !is_same_process) {
    // Who holds a directory of the broker's holds its lock: the process before it is gone, whatever its session says.
    auto const is_held = [&](DirectoryId const& id) {
      return std::binary_search(existing->directories.begin(), existing->directories.end(), id);
    };
    bool const has_directory = std::any_of(sorted_directories.begin(), sorted_directories.end(), is_held);
    if (!has_directory && is_alive(*existing, now) && existing->is_active()) {
      return fail({ErrorCode::duplicate_broker_registration,
                   "Another broker is registered with that broker id. If the broker was recently restarted this should "
                   "self-resolve once the heartbeat manager expires the broker's session."});
    }
  }
  if (request.is_migrating_zk_broker) {
    return fail({ErrorCode::broker_id_not_registered, "Controller does not support registering ZK brokers."});
  }
  if (auto problem = check_directories(tip, request); !problem.ok()) return fail(std::move(problem));
  if (request.endpoints.empty()) return fail({ErrorCode::invalid_registration, "No listeners specified in request"});
  if (auto problem = check_features(tip, request); !problem.ok()) return fail(std::move(problem));

  BrokerImage broker;
  broker.id = request.id;
  broker.incarnation_id = request.incarnation_id;
  broker.endpoints = request.endpoints;
  broker.features = request.features;
  broker.rack = request.rack;
  broker.directories = sorted_directories;
  broker.cordoned_directories = request.cordoned_directories;
  if (is_same_process) {  // the answer to the first request was lost, or its listeners changed
    broker.epoch = existing->epoch;
    broker.is_fenced = existing->is_fenced;
    broker.is_in_controlled_shutdown = existing->is_in_controlled_shutdown;
  } else {
    bool const is_unclean_move = !is_clean_start(existing, request) && tip.feature_level(kElrFeature) > 0;
    // The process before it goes first, then it is registered: cut between the two, it is not registered and asks again.
    move_partitions(tip, config_, request.id, is_unclean_move ? Move::lost_unsynced : Move::leaves, decision.records,
                    &sorted_directories);
    broker.epoch = tip.offset.value + 1 + static_cast<int64_t>(decision.records.size());  // the offset of its record
    heartbeats_.erase(request.id);
  }
  add_broker_record(decision.records, broker, tip.metadata_version());
  fencing_.on_heard(request.id, broker.epoch, broker.is_fenced, now, fencing_effects_);
  answer.broker_epoch = broker.epoch;
  decision.answer = std::move(answer);
  return decision;
}

// Where the slowest of those who may lead is in the metadata log.
int64_t Controller::lowest_active_offset(Image const& tip) const {
  auto lowest = std::numeric_limits<int64_t>::max();
  tip.brokers.for_each([&](BrokerId id, auto const& broker) {
    if (!broker->is_active()) return;
    auto const found = heartbeats_.find(id);
    lowest = std::min(lowest, found == heartbeats_.end() ? int64_t{-1} : found->second.metadata_offset);
  });
  return lowest;
}

Controller::BrokerState Controller::next_state(Image const& tip, BrokerImage const& broker, BrokerHeartbeat const& request) const {
  if (broker.is_fenced) {
    if (request.want_shut_down) return BrokerState::may_stop;
    return !request.want_fence && request.metadata_offset >= broker.epoch ? BrokerState::unfenced : BrokerState::fenced;
  }
  if (!broker.is_in_controlled_shutdown) {
    if (request.want_fence) return request.want_shut_down ? BrokerState::may_stop : BrokerState::fenced;
    if (!request.want_shut_down) return BrokerState::unfenced;
    return has_leaderships(tip, broker.id) ? BrokerState::shutting_down : BrokerState::may_stop;
  }
  if (has_leaderships(tip, broker.id)) return BrokerState::shutting_down;
  // The others must have heard who leads now, or they would go on asking one that is gone.
  auto const since = heartbeats_.find(broker.id);
  auto const offset = since == heartbeats_.end() ? int64_t{-1} : since->second.shutdown_offset;
  return offset <= lowest_active_offset(tip) ? BrokerState::may_stop : BrokerState::shutting_down;
}

Decision Controller::decide(Image const& tip, BrokerHeartbeat const& request, Mono now) {
  Decision decision;
  decision.is_atomic = false;
  BrokerHeartbeatAnswer answer;
  auto const* broker = tip.find_broker(request.id);
  if (broker == nullptr || broker->epoch != request.epoch) {
    answer.error = {ErrorCode::stale_broker_epoch, std::nullopt};
    decision.answer = std::move(answer);
    return decision;
  }
  auto& out = decision.records;
  bool const has_directories = tip.metadata_version() >= kMetadataVersion37Iv2;
  auto const gone = has_directories ? directories_gone(*broker, request) : std::vector<DirectoryId>();
  auto next = next_state(tip, *broker, request);
  // What lies in directories that fail just now must not be led first: it comes back with the next heartbeat.
  if (broker->is_fenced && next == BrokerState::unfenced && !gone.empty()) next = BrokerState::fenced;
  if (!broker->is_fenced && (next == BrokerState::fenced || next == BrokerState::may_stop)) {
    add_fence(tip, *broker, out);
  } else if (broker->is_fenced && next == BrokerState::unfenced) {
    add_fencing(out, *broker, false);
    move_partitions(tip, config_, request.id, Move::comes, out);
  } else if (next == BrokerState::shutting_down && !broker->is_in_controlled_shutdown) {
    add_controlled_shutdown(out, *broker);
    move_partitions(tip, config_, request.id, Move::leaves, out);
  }
  bool const stays_fenced = next == BrokerState::fenced || next == BrokerState::may_stop;
  auto& heard = heartbeats_[request.id];
  heard.metadata_offset = request.metadata_offset;
  if (stays_fenced) heard.shutdown_offset = -1;
  if (next == BrokerState::shutting_down && heard.shutdown_offset < 0) {
    heard.shutdown_offset = tip.offset.value + static_cast<int64_t>(out.size());
  }
  fencing_.on_heard(request.id, broker->epoch, stays_fenced, now, fencing_effects_);
  if (!gone.empty()) {
    leave_directories(tip, config_, *broker, gone, out);
    add_directories_left(out, *broker, gone);
  }
  if (request.cordoned_directories && tip.metadata_version() >= kMetadataVersion43) {
    auto cordoned = *request.cordoned_directories;
    std::sort(cordoned.begin(), cordoned.end());
    if (broker->cordoned_directories != cordoned) add_cordoned(out, *broker, std::move(cordoned));
  }
  answer.is_caught_up = request.metadata_offset >= broker->epoch;
  answer.is_fenced = stays_fenced;
  answer.should_shut_down = next == BrokerState::may_stop;
  decision.answer = std::move(answer);
  return decision;
}

void Controller::add_fence(Image const& tip, BrokerImage const& broker, RecordList& out) const {
  move_partitions(tip, config_, broker.id, Move::leaves, out);
  add_fencing(out, broker, true);
}

Decision Controller::decide(Image const& tip, UnregisterBroker const& request, Mono) {
  Decision decision;
  decision.is_atomic = false;
  UnregisterBrokerAnswer answer;
  auto const* broker = tip.find_broker(request.id);
  if (broker == nullptr) {
    answer.error = {ErrorCode::broker_id_not_registered, fmt::format("Broker ID {} is not currently registered", request.id)};
  } else {
    move_partitions(tip, config_, request.id, Move::leaves, decision.records);
    protocol::UnregisterBrokerRecord r;
    r.broker_id = request.id.value;
    r.broker_epoch = broker->epoch;
    decision.records.add(r, 0);
    fencing_.forget(request.id);
    heartbeats_.erase(request.id);
  }
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const& tip, UnregisterController const& request, Mono) {
  Decision decision;
  UnregisterControllerAnswer answer;
  if (tip.metadata_version() < kMetadataVersion44Iv2) {
    answer.error = {ErrorCode::unsupported_version, "The current MetadataVersion is too old to support controller unregistration."};
  } else if (tip.controllers.find(request.id) == nullptr) {
    answer.error = {ErrorCode::controller_id_not_registered,
                    fmt::format("Controller ID {} is not currently registered", request.id)};
  } else {
    protocol::UnregisterControllerRecord r;
    r.controller_id = request.id;
    decision.records.add(r, 0);
  }
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const& tip, RegisterController const& request, Mono) {
  Decision decision;
  RegisterControllerAnswer answer;
  auto const* existing = tip.controllers.find(request.controller.id);
  if (existing == nullptr || !(**existing == request.controller)) add_controller_record(decision.records, request.controller);
  decision.answer = std::move(answer);
  return decision;
}

RecordList Controller::fence_stale_brokers(Image const& tip, Mono now) {
  RecordList out;
  tip.brokers.for_each([&](BrokerId, auto const& broker) {
    if (broker->is_fenced || is_alive(*broker, now)) return true;
    add_fence(tip, *broker, out);
    return false;  // the next one is decided on the image that this one makes
  });
  return out;
}

RecordList Controller::on_fencing_event(Image const& tip, fencing::Event const& event, Mono now) {
  fencing::Effects effects;
  fencing_.on_event(event, now, effects);
  RecordList out;
  for (auto const& effect : effects) {
    auto const* fence = std::get_if<fencing::Fence>(&effect);
    if (fence == nullptr) {
      fencing_effects_.push_back(effect);
      continue;
    }
    auto const* broker = tip.find_broker(fence->broker);
    if (broker != nullptr && broker->epoch == fence->epoch && !broker->is_fenced) add_fence(tip, *broker, out);
  }
  return out;
}

std::vector<fencing::Probe> Controller::take_probes() {
  std::vector<fencing::Probe> out;
  for (auto const& effect : std::exchange(fencing_effects_, {})) {
    if (auto const* probe = std::get_if<fencing::Probe>(&effect); probe != nullptr && probe->broker != config_.node_id) {
      out.push_back(*probe);
    }
  }
  return out;
}

void Controller::observe_brokers(Image const& image, Mono now) {
  image.brokers.for_each([&](BrokerId id, auto const& broker) {
    // That this node itself was fenced, as every node that was killed reads in its log, is no sign that its network is bad.
    if (id == config_.node_id) return;
    fencing_.on_seen(id, broker->epoch, broker->is_fenced, broker->is_in_controlled_shutdown, now, fencing_effects_);
  });
  fencing_.forget_if([&](BrokerId id) { return image.find_broker(id) == nullptr; });
}

void Controller::reset_sessions(Image const& tip, Mono now) {
  heartbeats_.clear();
  observe_brokers(tip, now);
}

}  // namespace millrace::metadata
