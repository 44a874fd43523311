// Configuration: what may be set for which resource. Order of checks and messages are Kafka's.
#include <algorithm>
#include <charconv>

#include "millrace/metadata/controller.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/resource_config.h"
#include "millrace/metadata/topic_name.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

constexpr std::string_view kMinIsr = "min.insync.replicas";
// Strings of a record have a length of 16 bits.
constexpr size_t kConfigValueBytesMax = 32767;

// What the controller must know of a key to change a part of its value.
struct KnownKey {
  bool is_list = false;
  std::optional<std::string_view> default_text;
};

std::optional<KnownKey> known_key(TopicSetting const* setting) {
  if (setting == nullptr) return std::nullopt;
  return KnownKey{setting->type == SettingType::list, setting->default_text};
}

std::optional<KnownKey> find_key(BrokerSettings const& settings, ConfigResourceType type, std::string_view key) {
  switch (type) {
    case ConfigResourceType::topic: return known_key(find_topic_setting(key));
    case ConfigResourceType::group: return known_key(find_group_setting(key));
    case ConfigResourceType::client_metrics: return known_key(find_client_metrics_setting(key));
    case ConfigResourceType::broker: {
      auto const* setting = settings.find(key);
      if (setting == nullptr) return std::nullopt;
      return KnownKey{setting->type == SettingType::list, setting->default_text};
    }
    case ConfigResourceType::broker_logger:
    case ConfigResourceType::unknown: return std::nullopt;
  }
  return std::nullopt;
}

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> out;
  for (auto item : split_list(text)) {
    if (!item.empty()) out.emplace_back(item);
  }
  return out;
}

std::string changed_list(std::string_view before, ConfigChange const& change) {
  auto items = items_of(before);
  for (auto& item : items_of(change.value)) {
    auto const found = std::ranges::find(items, item);
    if (change.operation == ConfigOperation::append && found == items.end()) items.push_back(std::move(item));
    if (change.operation == ConfigOperation::subtract && found != items.end()) items.erase(found);
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::optional<int32_t> broker_id_of(std::string_view name) {
  int32_t id = 0;
  auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return id;
}

// Rules on keys that keep the in-sync sets of all brokers judged by one number.
ApiError check_key(Image const& tip, ConfigResource const& resource, std::string_view key, bool is_removal) {
  bool const is_elr_on = tip.feature_level(kElrFeature) > 0;
  if (!is_elr_on || resource.type != ConfigResourceType::broker || key != kMinIsr) return {};
  if (!resource.name.empty()) {
    return {ErrorCode::invalid_config, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."};
  }
  if (is_removal) {
    return {ErrorCode::invalid_config, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."};
  }
  return {};
}

ApiError check_broker(Image const& tip, ConfigResource const& resource) {
  if (resource.name.empty()) return {};
  auto const id = broker_id_of(resource.name);
  if (!id) return {ErrorCode::invalid_request, "Unable to parse broker name as a base 10 number."};
  if (*id < 0) return {ErrorCode::invalid_request, "Invalid negative broker ID."};
  if (tip.find_broker(BrokerId(*id)) == nullptr && tip.controllers.find(*id) == nullptr) {
    return {ErrorCode::broker_id_not_registered, fmt::format("No node with id {} found.", *id)};
  }
  return {};
}

ApiError check_topic(Image const& tip, ConfigResource const& resource,
                     std::map<std::string, std::string> const& configs) {
  if (resource.name.empty()) return {ErrorCode::invalid_request, "Default topic resources are not allowed."};
  if (auto problem = check_topic_name(resource.name)) return {ErrorCode::invalid_topic_exception, *std::move(problem)};
  if (auto problem = check_topic_configs(configs)) return {ErrorCode::invalid_config, *std::move(problem)};
  if (tip.find_topic(resource.name) == nullptr) {
    return {ErrorCode::unknown_topic_or_partition, fmt::format("The topic '{}' does not exist.", resource.name)};
  }
  return {};
}

ApiError from_problem(std::optional<ConfigProblem> problem) {
  return problem ? ApiError{problem->code, std::move(problem->message)} : ApiError{};
}

ApiError check_resource(Image const& tip, ControllerConfig const& config, ConfigResource const& resource,
                        std::map<std::string, std::string> const& configs) {
  switch (resource.type) {
    case ConfigResourceType::topic: return check_topic(tip, resource, configs);
    case ConfigResourceType::broker: return check_broker(tip, resource);
    case ConfigResourceType::client_metrics:
      if (resource.name.empty()) return {ErrorCode::invalid_request, "Subscription name can't be empty"};
      return from_problem(check_client_metrics_configs(configs));
    case ConfigResourceType::group:
      if (resource.name.empty()) return {ErrorCode::invalid_request, "Default group resources are not allowed."};
      return from_problem(check_group_configs(configs, [&](std::string const& key) -> std::optional<std::string> {
        if (auto const found = config.statics.find(key); found != config.statics.end()) return found->second;
        auto const* setting = config.settings->find(key);
        if (setting == nullptr || !setting->default_text) return std::nullopt;
        return std::string(*setting->default_text);
      }));
    case ConfigResourceType::broker_logger:
    case ConfigResourceType::unknown: break;
  }
  return {ErrorCode::invalid_request, fmt::format("Unknown resource type {}", static_cast<int>(resource.type))};
}

void add_record(RecordList& out, ConfigResource const& resource, std::string_view key,
                std::optional<std::string> const& value) {
  protocol::ConfigRecord record;
  record.resource_type = static_cast<int8_t>(resource.type);
  record.resource_name = resource.name;
  record.name = key;
  record.value = value ? std::optional<Str>(*value) : std::nullopt;
  out.add(record, 0);
}

// Who is eligible, or was the last leader, in a partition without a leader stays so.
void add_kept_elr(Image const& tip, RecordList& out, TopicImage const& topic) {
  topic.partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
    if (partition->leader != kNoBroker || !partition->isr.empty()) return;
    if (partition->elr.empty() && partition->last_known_elr.empty()) return;
    std::vector<int32_t> elr, last_known;
    for (auto id : partition->elr) elr.push_back(id.value);
    for (auto id : partition->last_known_elr) last_known.push_back(id.value);
    protocol::PartitionChangeRecord record;
    record.topic_id = topic.id;
    record.partition_id = index;
    if (!elr.empty()) record.eligible_leader_replicas = elr;
    if (!last_known.empty()) record.last_known_elr = last_known;
    out.add(record, partition_change_record_version(tip.metadata_version()));
  });
}

// As in Kafka, which leaves it at that: a partition without a leader could never have one again but for an unclean
// election, though all its replicas are well. There nothing was committed meanwhile, and whoever is to lead reads of the
// new number before of its election, so those that were eligible are.
void add_clear_elr(Image const& tip, RecordList& out, ConfigResource const& resource) {
  if (tip.feature_level(kElrFeature) == 0) return;
  bool const is_of_topic = resource.type == ConfigResourceType::topic;
  protocol::ClearElrRecord clear;
  if (is_of_topic) clear.topic_name = resource.name;
  out.add(clear, 0);
  tip.leaderless_counts.for_each([&](TopicId const& id, int32_t) {
    auto const& topic = *tip.find_topic(id);
    if (!is_of_topic || topic.name == resource.name) add_kept_elr(tip, out, topic);
  });
}

}  // namespace

ApiError Controller::alter_configs(Image const& tip, AlterConfigs const& request, ConfigResourceChange const& change,
                                   RecordList& out) const {
  auto const& resource = change.resource;
  std::map<std::string, std::string> before;
  if (auto const* configs = tip.find_configs(resource.type, resource.name)) {
    configs->for_each([&](std::string const& key, std::string const& value) { before.emplace(key, value); });
  }
  auto after = before;
  std::map<std::string, std::optional<std::string>> altered;
  for (auto const& one : change.changes) {
    std::optional<std::string> value = one.value;
    if (one.operation == ConfigOperation::remove) {
      value.reset();
    } else if (one.operation != ConfigOperation::set) {
      auto const known = find_key(*config_.settings, resource.type, one.key);
      if (!known || !known->is_list) {
        return {ErrorCode::invalid_config,
                fmt::format("Can't {} to key {} because its type is not LIST.",
                            one.operation == ConfigOperation::append ? "APPEND" : "SUBTRACT", one.key)};
      }
      auto const found = before.find(one.key);
      auto const present = found != before.end() ? std::string_view(found->second) : known->default_text.value_or("");
      value = changed_list(present, one);
    }
    altered[one.key] = std::move(value);
  }
  if (request.replaces_all) {
    for (auto const& [key, value] : before) altered.try_emplace(key, std::nullopt);
  }

  RecordList records;
  bool has_min_isr = false;
  for (auto const& [key, value] : altered) {
    auto const found = before.find(key);
    bool const is_same = found == before.end() ? !value : value && *value == found->second;
    // A broker reads its files anew when told so, though nothing changed.
    if (is_same && resource.type != ConfigResourceType::broker) continue;
    if (auto problem = check_key(tip, resource, key, !value); !problem.ok()) return problem;
    if (value && value->size() > kConfigValueBytesMax) {
      return {ErrorCode::invalid_config,
              fmt::format("The configuration value cannot be added because it exceeds the maximum "
                          "value size of {} bytes.",
                          kConfigValueBytesMax)};
    }
    if (value)
      after[key] = *value;
    else
      after.erase(key);
    add_record(records, resource, key, value);
    has_min_isr |=
        key == kMinIsr && (resource.type == ConfigResourceType::topic || resource.type == ConfigResourceType::broker);
  }
  if (auto problem = check_resource(tip, config_, resource, after); !problem.ok()) return problem;
  if (has_min_isr) add_clear_elr(tip, records, resource);
  out.append(records);
  return {};
}

Decision Controller::decide(Image const& tip, AlterConfigs const& request, Mono) {
  Decision decision;
  AlterConfigsAnswer answer;
  RecordList records;
  for (auto const& change : request.resources) {
    answer.resources.emplace_back(change.resource, alter_configs(tip, request, change, records));
  }
  if (!request.validate_only) decision.records = std::move(records);
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
