// Topics: creation, deletion, growth. Order of checks and messages are Kafka's.
#include <algorithm>
#include <set>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/topic_name.h"
#include "millrace/protocol/records/metadata.h"
#include "placement.h"

namespace millrace::metadata {
namespace {

std::vector<BrokerId> only_active(Image const& tip, std::vector<BrokerId> const& replicas) {
  std::vector<BrokerId> out;
  for (auto id : replicas) {
    auto const* broker = tip.find_broker(id);
    if (broker != nullptr && broker->is_active()) out.push_back(id);
  }
  return out;
}

PartitionImage new_partition(Image const& tip, std::vector<BrokerId> replicas, std::vector<BrokerId> isr) {
  PartitionImage p;
  for (auto id : replicas) p.directories.push_back(default_directory(tip, id));
  p.replicas = std::move(replicas);
  p.leader = isr.front();
  p.isr = std::move(isr);
  return p;
}

// The same for the same topic and place in it, and different from topic to topic.
Random placement_random(TopicId const& topic, int32_t first) {
  uint64_t seed = static_cast<uint64_t>(first);
  for (auto byte : topic.bytes) seed = mix_priority(seed * 31 + byte);
  return Random(seed);
}

std::optional<std::string> check_manual_assignment(Image const& tip, std::vector<BrokerId> const& replicas,
                                                   std::optional<size_t> replication_factor) {
  if (replicas.empty()) return "The manual partition assignment includes an empty replica list.";
  auto sorted = replicas;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (tip.find_broker(sorted[i]) == nullptr) {
      return fmt::format("The manual partition assignment includes broker {}, but no such broker is registered.", sorted[i]);
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      return fmt::format("The manual partition assignment includes the broker {} more than once.", sorted[i]);
    }
  }
  if (replication_factor && *replication_factor != replicas.size()) {
    return fmt::format("The manual partition assignment includes a partition with {} replica(s), but this is not consistent with "
                       "previous partitions, which have {} replica(s).", replicas.size(), *replication_factor);
  }
  return std::nullopt;
}

constexpr std::string_view kAllFenced = "are fenced or in controlled shutdown.";

// Partitions by index, or what is wrong with the request.
struct Plan {
  ApiError error;
  std::map<int32_t, PartitionImage> partitions;
};

Plan plan_manual(Image const& tip, TopicCreation const& topic) {
  auto const fail = [](ErrorCode code, std::string message) { return Plan{{code, std::move(message)}, {}}; };
  if (topic.replication_factor != -1) {
    return fail(ErrorCode::invalid_request,
                "A manual partition assignment was specified, but replication factor was not set to -1.");
  }
  if (topic.partition_count != -1) {
    return fail(ErrorCode::invalid_request,
                "A manual partition assignment was specified, but numPartitions was not set to -1.");
  }
  Plan plan;
  std::optional<size_t> replication_factor;
  for (auto const& assignment : topic.assignments) {
    if (plan.partitions.contains(assignment.partition)) {
      return fail(ErrorCode::invalid_replica_assignment,
                  fmt::format("Found multiple manual partition assignments for partition {}", assignment.partition));
    }
    if (auto problem = check_manual_assignment(tip, assignment.replicas, replication_factor)) {
      return fail(ErrorCode::invalid_replica_assignment, *problem);
    }
    replication_factor = assignment.replicas.size();
    auto isr = only_active(tip, assignment.replicas);
    if (isr.empty()) {
      return fail(ErrorCode::invalid_replica_assignment,
                  fmt::format("All brokers specified in the manual partition assignment for partition {} {}", assignment.partition,
                              kAllFenced));
    }
    plan.partitions.emplace(assignment.partition, new_partition(tip, assignment.replicas, std::move(isr)));
  }
  int32_t expected = 0;
  for (auto const& [index, partition] : plan.partitions) {
    if (index != expected++) {
      return fail(ErrorCode::invalid_replica_assignment, "partitions should be a consecutive 0-based integer sequence");
    }
  }
  return plan;
}

Plan plan_automatic(Image const& tip, TopicCreation const& topic, TopicId const& id, ControllerConfig const& config) {
  if (topic.replication_factor < -1 || topic.replication_factor == 0) {
    return {{ErrorCode::invalid_replication_factor,
             "Replication factor must be larger than 0, or -1 to use the default value."}, {}};
  }
  if (topic.partition_count < -1 || topic.partition_count == 0) {
    return {{ErrorCode::invalid_partitions, "Number of partitions was set to an invalid non-positive value."}, {}};
  }
  auto const count = topic.partition_count == -1 ? config.default_partition_count : topic.partition_count;
  auto const replication_factor = topic.replication_factor == -1 ? config.default_replication_factor : topic.replication_factor;
  auto placed = place_replicas(tip, count, replication_factor, placement_random(id, 0));
  if (!placed) return {{ErrorCode::invalid_replication_factor, placed.error().message}, {}};
  Plan plan;
  for (int32_t i = 0; i < count; ++i) {
    auto& replicas = (*placed)[static_cast<size_t>(i)];
    auto isr = only_active(tip, replicas);
    plan.partitions.emplace(i, new_partition(tip, std::move(replicas), std::move(isr)));
  }
  return plan;
}

// Names, then configuration: what is wrong with the topic before its partitions are looked at.
ApiError check_topic(Image const& tip, TopicCreation const& topic) {
  // Whoever asks: as a topic it would share its directory with the log of the quorum.
  if (topic.name == kMetadataTopicName) {
    return {ErrorCode::invalid_request, fmt::format("Creation of internal topic {} is prohibited.", kMetadataTopicName)};
  }
  if (tip.find_topic(topic.name) != nullptr) {
    return {ErrorCode::topic_already_exists, fmt::format("Topic '{}' already exists.", topic.name)};
  }
  if (auto problem = check_topic_name(topic.name)) return {ErrorCode::invalid_topic_exception, *problem};
  if (has_collision_chars(topic.name)) {
    ApiError collision;
    tip.topics.for_each([&](std::string const& other, TopicImagePtr const&) {
      if (!topic_names_collide(topic.name, other)) return true;
      collision = {ErrorCode::invalid_topic_exception,
                   fmt::format("Topic '{}' collides with existing topic: {}", topic.name, other)};
      return false;
    });
    if (!collision.ok()) return collision;
  }
  std::map<std::string, std::string> configs;
  std::string nulls;
  for (auto const& [name, value] : topic.configs) {
    if (value) configs[name] = *value;
    else nulls += (nulls.empty() ? "" : ",") + name;
  }
  if (!nulls.empty()) return {ErrorCode::invalid_config, "Null value not supported for topic configs: " + nulls};
  if (auto problem = check_topic_configs(configs)) return {ErrorCode::invalid_config, *problem};
  return {};
}

int64_t requested_partitions(CreateTopics const& request, int32_t default_count) {
  int64_t total = 0;
  for (auto const& topic : request.topics) {
    if (!topic.assignments.empty()) total += static_cast<int64_t>(topic.assignments.size());
    else if (topic.partition_count == -1) total += default_count;
    else total += std::max(topic.partition_count, 0);
  }
  return total;
}

constexpr std::string_view kTooManyPartitions = "Excessively large number of partitions per request.";

}  // namespace

TopicCreated Controller::create_topic(Image const& tip, TopicCreation const& topic, MutationQuotas::Request& quota,
                                      RecordList& out) {
  TopicCreated created;
  created.name = topic.name;
  created.error = check_topic(tip, topic);
  if (!created.error.ok()) return created;
  auto const id = make_uuid_();
  auto plan = topic.assignments.empty() ? plan_automatic(tip, topic, id, config_) : plan_manual(tip, topic);
  created.error = std::move(plan.error);
  if (created.error.ok()) created.error = quota.take(plan.partitions.size());
  if (!created.error.ok()) return created;

  created.id = id;
  created.partition_count = static_cast<int32_t>(plan.partitions.size());
  created.replication_factor = static_cast<int16_t>(plan.partitions.begin()->second.replicas.size());
  protocol::TopicRecord record;
  record.name = topic.name;
  record.topic_id = created.id;
  out.add(record, 0);
  ConfigMap configs;
  for (auto const& [name, value] : topic.configs) configs.set(name, *value);
  configs.for_each([&](std::string const& name, std::string const& value) {
    protocol::ConfigRecord config;
    config.resource_type = static_cast<int8_t>(ConfigResourceType::topic);
    config.resource_name = topic.name;
    config.name = name;
    config.value = value;
    out.add(config, 0);
  });
  if (configs.contains(std::string_view("min.insync.replicas")) && tip.feature_level(kElrFeature) > 0) {
    protocol::ClearElrRecord clear;
    clear.topic_name = topic.name;
    out.add(clear, 0);
  }
  for (auto const& [index, partition] : plan.partitions) {
    add_partition_record(out, created.id, index, partition, tip.metadata_version());
  }
  for (auto const& setting : topic_settings()) {
    if (setting.is_internal) continue;
    created.configs.push_back(
        {setting.name, effective_topic_config(tip, config_.node_id, config_.statics, topic.name, setting, &configs)});
  }
  return created;
}

Decision Controller::decide(Image const& tip, CreateTopics const& request, Mono now) {
  Decision decision;
  MutationQuotas::Request quota(mutation_quotas_, tip, request.asker, now);
  CreateTopicsAnswer answer;
  bool const is_too_large = requested_partitions(request, config_.default_partition_count) > kPartitionsPerRequestMax;
  for (auto const& topic : request.topics) {
    if (is_too_large) {
      auto& refused = answer.topics.emplace_back();
      refused.name = topic.name;
      refused.error = {ErrorCode::policy_violation, std::string(kTooManyPartitions)};
      continue;
    }
    RecordList records;
    answer.topics.push_back(create_topic(tip, topic, quota, records));
    if (!request.validate_only) decision.records.append(records);
  }
  answer.throttled_until = now + quota.throttle();
  decision.answer = std::move(answer);
  return decision;
}

Decision Controller::decide(Image const& tip, DeleteTopics const& request, Mono now) {
  Decision decision;
  MutationQuotas::Request quota(mutation_quotas_, tip, request.asker, now);
  DeleteTopicsAnswer answer;
  for (auto const& id : request.ids) {
    auto const* topic = tip.find_topic(id);
    if (topic == nullptr) {
      answer.topics.emplace_back(id, ApiError{ErrorCode::unknown_topic_id, "This server does not host this topic ID."});
      continue;
    }
    auto refused = quota.take(topic->partitions.size());
    if (refused.ok()) {
      protocol::RemoveTopicRecord record;
      record.topic_id = id;
      decision.records.add(record, 0);
    }
    answer.topics.emplace_back(id, std::move(refused));
  }
  answer.throttled_until = now + quota.throttle();
  decision.answer = std::move(answer);
  return decision;
}

namespace {

ApiError grow_topic(Image const& tip, TopicGrowth const& growth, MutationQuotas::Request& quota, int32_t& partitions_left,
                    RecordList& out) {
  auto const* topic = tip.find_topic(growth.name);
  if (topic == nullptr) return {ErrorCode::unknown_topic_or_partition, std::nullopt};
  auto const present = topic->partition_count();
  if (growth.count == present) {
    return {ErrorCode::invalid_partitions, fmt::format("Topic already has {} partition(s).", present)};
  }
  if (growth.count < present) {
    return {ErrorCode::invalid_partitions, fmt::format("The topic {} currently has {} partition(s); {} would not be an increase.",
                                                       growth.name, present, growth.count)};
  }
  auto const additional = growth.count - present;
  if (growth.assignments && growth.assignments->size() != static_cast<size_t>(additional)) {
    return {ErrorCode::invalid_replica_assignment,
            fmt::format("Attempted to add {} additional partition(s), but only {} assignment(s) were specified.", additional,
                        growth.assignments->size())};
  }
  if (additional > partitions_left) return {ErrorCode::policy_violation, std::string(kTooManyPartitions)};
  if (auto refused = quota.take(static_cast<size_t>(additional)); !refused.ok()) return refused;
  auto const* first = topic->find_partition(0);
  if (first == nullptr) {
    return {ErrorCode::unknown_server_error, fmt::format("Invalid state: topic {} appears to have no partitions.", growth.name)};
  }
  auto const replication_factor = first->replicas.size();
  std::vector<std::vector<BrokerId>> placed;
  if (growth.assignments) {
    placed = *growth.assignments;
    for (auto const& replicas : placed) {
      if (auto problem = check_manual_assignment(tip, replicas, replication_factor)) {
        return {ErrorCode::invalid_replica_assignment, *problem};
      }
    }
  } else {
    auto made = place_replicas(tip, additional, static_cast<int16_t>(replication_factor), placement_random(topic->id, present));
    if (!made) return {ErrorCode::invalid_replication_factor, made.error().message};
    placed = *std::move(made);
  }
  RecordList records;
  for (int32_t i = 0; i < additional; ++i) {
    auto const& replicas = placed[static_cast<size_t>(i)];
    auto isr = only_active(tip, replicas);
    if (isr.empty()) {
      return {ErrorCode::invalid_replica_assignment,
              fmt::format("All brokers specified in the manual partition assignment for partition {} {}", present + i, kAllFenced)};
    }
    add_partition_record(records, topic->id, present + i, new_partition(tip, replicas, std::move(isr)), tip.metadata_version());
  }
  partitions_left -= additional;
  out.append(records);
  return {};
}

}  // namespace

Decision Controller::decide(Image const& tip, CreatePartitions const& request, Mono now) {
  Decision decision;
  MutationQuotas::Request quota(mutation_quotas_, tip, request.asker, now);
  CreatePartitionsAnswer answer;
  int32_t partitions_left = kPartitionsPerRequestMax;
  RecordList records;
  for (auto const& growth : request.topics) {
    answer.topics.emplace_back(growth.name, grow_topic(tip, growth, quota, partitions_left, records));
  }
  answer.throttled_until = now + quota.throttle();
  if (!request.validate_only) decision.records = std::move(records);
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
