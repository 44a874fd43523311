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

bool is_touched(PartitionImage const& p, BrokerId broker, Move move) {
  auto const has = [&](std::vector<BrokerId> const& list) { return std::find(list.begin(), list.end(), broker) != list.end(); };
  switch (move) {
    case Move::leaves: return has(p.isr);
    case Move::lost_unsynced: return has(p.isr) || has(p.elr);
    case Move::comes: return p.leader == kNoBroker;
  }
  return false;
}

void move_partitions(Image const& tip, ControllerConfig const& config, BrokerId broker, Move move, RecordList& out) {
  bool const elr_enabled = tip.feature_level(kElrFeature) > 0;
  auto const metadata_version = tip.metadata_version();
  tip.topics_by_id.for_each([&](TopicId const& id, TopicImagePtr const& topic) {
    std::optional<TopicRules> rules;
    topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      if (!is_touched(*partition, broker, move)) return;
      if (!rules) rules = topic_rules(tip, config, *topic);
      std::function<bool(BrokerId)> const is_acceptable = [&](BrokerId candidate) {
        if (candidate != broker) return may_lead(tip, *partition, candidate);
        return move == Move::comes && tip.find_broker(broker)->has_online_directory(partition->directory_of(broker));
      };
      PartitionChange change{.topic_id = id,
                             .index = index,
                             .partition = *partition,
                             .min_isr = rules->min_isr,
                             .elr_enabled = elr_enabled,
                             .election = rules->allows_unclean ? Election::unclean : Election::online,
                             .may_lead = is_acceptable,
                             .hooks = *config.hooks};
      if (move != Move::comes) std::erase(change.target_isr, broker);
      if (move == Move::lost_unsynced) change.unclean_shutdown = {broker};
      add_partition_change(out, change, metadata_version);
    });
  });
}

bool has_leaderships(Image const& tip, BrokerId broker) {
  return !tip.topics.for_each([&](std::string const&, TopicImagePtr const& topic) {
    return topic->partitions.for_each([&](int32_t, PartitionImagePtr const& p) { return p->leader != broker; });
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

}  // namespace

Decision Controller::decide(Image const& tip, RegisterBroker const& request, Mono now) {
  Decision decision;
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
  if (existing != nullptr && existing->incarnation_id != request.incarnation_id) {
    // Who holds the same directories holds their locks: the process before it is gone, whatever its session says.
    bool const same_directories = !sorted_directories.empty() && sorted_directories == existing->directories;
    auto const heard = last_heard_.find(request.id);
    bool const has_session = request.id == config_.node_id ||
                             (heard != last_heard_.end() && now - heard->second < config_.broker_session);
    if (!same_directories && has_session && existing->is_active()) {
      return fail({ErrorCode::duplicate_broker_registration, "Another broker is registered with that broker id."});
    }
  }
  if (request.is_migrating_zk_broker) {
    return fail({ErrorCode::invalid_registration,
                 "Controller does not support registering ZK brokers."});
  }
  if (auto problem = check_directories(tip, request); !problem.ok()) return fail(std::move(problem));
  if (request.endpoints.empty()) return fail({ErrorCode::invalid_registration, "No listeners specified in request"});
  if (auto problem = check_features(tip, request); !problem.ok()) return fail(std::move(problem));

  BrokerImage broker;
  broker.id = request.id;
  broker.epoch = tip.offset.value + 1;  // the offset that the record will have
  broker.incarnation_id = request.incarnation_id;
  broker.endpoints = request.endpoints;
  broker.features = request.features;
  broker.rack = request.rack;
  broker.is_fenced = true;
  broker.directories = sorted_directories;
  broker.cordoned_directories = request.cordoned_directories;
  if (existing != nullptr && existing->incarnation_id == request.incarnation_id) {
    broker.is_fenced = existing->is_fenced;  // the answer to the first request was lost
    broker.is_in_controlled_shutdown = existing->is_in_controlled_shutdown;
  } else if (existing != nullptr) {
    bool const is_clean = request.previous_broker_epoch == existing->epoch;
    RecordList moves;
    move_partitions(tip, config_, request.id, is_clean ? Move::leaves : Move::lost_unsynced, moves);
    add_broker_record(decision.records, broker, tip.metadata_version());
    decision.records.append(moves);
  }
  if (decision.records.empty()) add_broker_record(decision.records, broker, tip.metadata_version());
  last_heard_[request.id] = now;
  answer.broker_epoch = broker.epoch;
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const& tip, BrokerHeartbeat const& request, Mono now) {
  Decision decision;
  BrokerHeartbeatAnswer answer;
  auto const* broker = tip.find_broker(request.id);
  if (broker == nullptr || broker->epoch != request.epoch) {
    answer.error = {ErrorCode::stale_broker_epoch, std::nullopt};
    decision.answer = std::move(answer);
    return decision;
  }
  last_heard_[request.id] = now;
  answer.is_caught_up = request.metadata_offset >= broker->epoch;
  answer.is_fenced = broker->is_fenced;
  auto& out = decision.records;
  auto const fence = [&] {
    add_fencing(out, *broker, true);
    move_partitions(tip, config_, request.id, Move::leaves, out);
    answer.is_fenced = true;
  };
  if (broker->is_fenced) {
    if (request.want_shut_down) {
      answer.should_shut_down = true;
    } else if (!request.want_fence && answer.is_caught_up) {
      add_fencing(out, *broker, false);
      if (request.cordoned_directories && tip.metadata_version() >= kMetadataVersion43 &&
          broker->cordoned_directories != request.cordoned_directories) {
        add_cordoned(out, *broker, *request.cordoned_directories);
      }
      move_partitions(tip, config_, request.id, Move::comes, out);
      answer.is_fenced = false;
    }
  } else if (request.want_shut_down) {
    if (!request.want_fence && has_leaderships(tip, request.id)) {
      if (!broker->is_in_controlled_shutdown) {
        add_controlled_shutdown(out, *broker);
        move_partitions(tip, config_, request.id, Move::leaves, out);
      }
    } else {
      fence();
      answer.should_shut_down = true;
    }
  } else if (request.want_fence) {
    fence();
  }
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const& tip, UnregisterBroker const& request, Mono) {
  Decision decision;
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
    last_heard_.erase(request.id);
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
  tip.brokers.for_each([&](BrokerId id, auto const& broker) {
    if (id == config_.node_id || broker->is_fenced) return true;
    auto const heard = last_heard_.find(id);
    if (heard != last_heard_.end() && now - heard->second < config_.broker_session) return true;
    add_fencing(out, *broker, true);
    move_partitions(tip, config_, id, Move::leaves, out);
    return false;  // the next one is decided on the image that this one makes
  });
  return out;
}

void Controller::reset_sessions(Image const& tip, Mono now) {
  last_heard_.clear();
  tip.brokers.for_each([&](BrokerId id, auto const&) { last_heard_[id] = now; });
}

}  // namespace millrace::metadata
