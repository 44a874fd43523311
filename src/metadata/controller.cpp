#include "millrace/metadata/controller.h"

#include "millrace/metadata/features.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {

ControllerAnswer error_answer(ControllerRequest const& request, ApiError error) {
  return std::visit(
      [&]<class R>(R const&) -> ControllerAnswer {
        auto const with_error = [&](auto answer) {
          answer.error = std::move(error);
          return ControllerAnswer(std::move(answer));
        };
        if constexpr (std::is_same_v<R, CreateTopics>) return with_error(CreateTopicsAnswer{});
        else if constexpr (std::is_same_v<R, DeleteTopics>) return with_error(DeleteTopicsAnswer{});
        else if constexpr (std::is_same_v<R, CreatePartitions>) return with_error(CreatePartitionsAnswer{});
        else if constexpr (std::is_same_v<R, RegisterBroker>) return with_error(RegisterBrokerAnswer{});
        else if constexpr (std::is_same_v<R, BrokerHeartbeat>) return with_error(BrokerHeartbeatAnswer{});
        else if constexpr (std::is_same_v<R, UnregisterBroker>) return with_error(UnregisterBrokerAnswer{});
        else if constexpr (std::is_same_v<R, RegisterController>) return with_error(RegisterControllerAnswer{});
        else if constexpr (std::is_same_v<R, UnregisterController>) return with_error(UnregisterControllerAnswer{});
        else if constexpr (std::is_same_v<R, AllocateProducerIds>) return with_error(AllocateProducerIdsAnswer{});
        else if constexpr (std::is_same_v<R, CreateInternalTopic>) return with_error(CreateInternalTopicAnswer{});
        else if constexpr (std::is_same_v<R, AlterConfigs>) return with_error(AlterConfigsAnswer{});
        else if constexpr (std::is_same_v<R, AlterClientQuotas>) return with_error(AlterClientQuotasAnswer{});
        else if constexpr (std::is_same_v<R, AlterUserScramCredentials>) return with_error(AlterUserScramCredentialsAnswer{});
        else if constexpr (std::is_same_v<R, AlterPartition>) return with_error(AlterPartitionAnswer{});
        else if constexpr (std::is_same_v<R, ElectLeaders>) return with_error(ElectLeadersAnswer{});
        else if constexpr (std::is_same_v<R, AssignReplicasToDirectories>) return with_error(AssignReplicasToDirectoriesAnswer{});
        else return with_error(UpdateFeaturesAnswer{});
      },
      request);
}

ApiError const& error_of(ControllerAnswer const& answer) {
  return std::visit([](auto const& a) -> ApiError const& { return a.error; }, answer);
}

Controller::Controller(ControllerConfig config, std::function<Uuid()> make_uuid)
    : config_(std::move(config)),
      make_uuid_(std::move(make_uuid)),
      fencing_(config_.broker_session, *config_.hooks),
      mutation_quotas_(config_.mutation_windows) {}

RecordList Controller::default_feature_records() {
  RecordList out;
  auto const add_level = [&](FeatureInfo const& feature) {
    protocol::FeatureLevelRecord r;
    r.name = feature.name;
    r.feature_level = feature.level_of_new_cluster;
    out.add(r, 0);
  };
  add_level(*find_feature(kMetadataVersionFeature));
  for (auto const& feature : known_features()) {
    if (feature.name != kMetadataVersionFeature && feature.level_of_new_cluster > 0) add_level(feature);
  }
  return out;
}

RecordList Controller::bootstrap_records(RecordList const& formatted) const {
  RecordList out;
  protocol::BeginTransactionRecord begin;
  begin.name = "Bootstrap records";
  out.add(begin, 0);
  out.append(formatted.empty() ? default_feature_records() : formatted);
  // With ELR the cluster's own min.insync.replicas must be known to every controller.
  auto const min_isr = fmt::format("{}", config_.min_isr);
  protocol::ConfigRecord config;
  config.resource_type = static_cast<int8_t>(ConfigResourceType::broker);
  config.resource_name = "";
  config.name = "min.insync.replicas";
  config.value = min_isr;
  out.add(config, 0);
  out.add(protocol::EndTransactionRecord{}, 0);
  return out;
}

Decision Controller::decide(Image const& tip, ControllerRequest const& request, Mono now) {
  return std::visit([&](auto const& r) { return decide(tip, r, now); }, request);
}

Decision Controller::decide(Image const& tip, AllocateProducerIds const& request, Mono) {
  Decision decision;
  AllocateProducerIdsAnswer answer;
  auto const* broker = tip.find_broker(request.broker);
  if (broker == nullptr || broker->epoch != request.broker_epoch) {
    answer.error = {ErrorCode::stale_broker_epoch, std::nullopt};
  } else if (tip.next_producer_id.value > std::numeric_limits<int64_t>::max() - kProducerIdBlockCount) {
    answer.error = {ErrorCode::unknown_server_error, "Exhausted all producer IDs as the next block's end producer ID has exceeded the int64 type limit"};
  } else {
    answer.first = tip.next_producer_id;
    answer.count = kProducerIdBlockCount;
    protocol::ProducerIdsRecord r;
    r.broker_id = request.broker.value;
    r.broker_epoch = request.broker_epoch;
    r.next_producer_id = tip.next_producer_id.value + kProducerIdBlockCount;
    decision.records.add(r, 0);
  }
  decision.answer = std::move(answer);
  return decision;
}

namespace {

ApiError invalid_update(FeatureUpdate const& update, std::string_view why) {
  return {ErrorCode::invalid_update_version,
          fmt::format("Invalid update version {} for feature {}. {}", update.level, update.name, why)};
}

ApiError check_feature_update(Image const& tip, BrokerId node, FeatureUpdate const& update) {
  auto const* feature = find_feature(update.name);
  if (update.type == UpgradeType::unknown) {
    return invalid_update(update, "The controller does not support the given upgrade type.");
  }
  if (update.level < 0) return invalid_update(update, "A feature version cannot be less than 0.");
  if (feature == nullptr) return invalid_update(update, fmt::format("Local controller {} does not support this feature.", node));
  bool const is_off = update.level == 0 && update.name != kMetadataVersionFeature;
  if (!is_off && (update.level < feature->level_min || update.level > feature->level_max)) {
    return invalid_update(update, fmt::format("Local controller {} only supports versions {}-{}", node, feature->level_min,
                                              feature->level_max));
  }
  ApiError problem;
  tip.brokers.for_each([&](BrokerId id, auto const& broker) {
    for (auto const& supported : broker->features) {
      if (supported.name != update.name || is_off) continue;
      if (update.level >= supported.level_min && update.level <= supported.level_max) continue;
      problem = invalid_update(update, fmt::format("Broker {} only supports versions {}-{}", id, supported.level_min,
                                                   supported.level_max));
      return false;
    }
    return true;
  });
  if (!problem.ok()) return problem;
  if (update.name == kKraftVersionFeature) {
    return invalid_update(update, "The version of the metadata quorum can not be changed on this node.");
  }
  auto const current = tip.feature_level(update.name);
  if (update.level < current && update.type == UpgradeType::upgrade) {
    return invalid_update(update, "Can't downgrade the version of this feature without setting the upgrade type to either safe or "
                                  "unsafe downgrade.");
  }
  if (update.level > current && update.type != UpgradeType::upgrade) {
    return invalid_update(update, "Can't downgrade to a newer version.");
  }
  if (update.name == kMetadataVersionFeature && update.level < current) {
    if (metadata_changed_between(current, update.level)) {
      return invalid_update(update, update.type == UpgradeType::safe_downgrade
                                        ? "Refusing to perform the requested downgrade because it might delete metadata information."
                                        : "Unsafe metadata downgrade is not supported in this version.");
    }
    if (update.level < kMetadataVersion40Iv1 && tip.feature_level(kElrFeature) > 0) {
      return invalid_update(update, fmt::format("{} requires metadata.version {} or more.", kElrFeature, kMetadataVersion40Iv1));
    }
  }
  if (update.name == kElrFeature && update.level > 0 && tip.metadata_version() < kMetadataVersion40Iv1) {
    return invalid_update(update, fmt::format("{} could not be set to {} because it depends on metadata.version level {}", update.name,
                                              update.level, kMetadataVersion40Iv1));
  }
  return {};
}

}  // namespace

Decision Controller::decide(Image const& tip, UpdateFeatures const& request, Mono) {
  Decision decision;
  UpdateFeaturesAnswer answer;
  RecordList records;
  for (auto const& update : request.updates) {
    if (auto problem = check_feature_update(tip, config_.node_id, update); !problem.ok()) {
      answer.error = std::move(problem);  // all or nothing
      answer.features.clear();
      decision.answer = std::move(answer);
      return decision;
    }
    answer.features.emplace_back(update.name, ApiError{});
    auto const current = tip.feature_level(update.name);
    if (update.level == current) continue;
    protocol::FeatureLevelRecord r;
    r.name = update.name;
    r.feature_level = update.level;
    records.add(r, 0);
    if (update.name == kElrFeature && update.level == 0) records.add(protocol::ClearElrRecord{}, 0);
    if (update.name == kElrFeature && current == 0 &&
        tip.find_config(ConfigResourceType::broker, "", "min.insync.replicas") == nullptr) {
      auto const value = fmt::format("{}", config_.min_isr);
      protocol::ConfigRecord config;
      config.resource_type = static_cast<int8_t>(ConfigResourceType::broker);
      config.resource_name = "";
      config.name = "min.insync.replicas";
      config.value = value;
      records.add(config, 0);
    }
  }
  if (!request.validate_only) decision.records = std::move(records);
  decision.answer = std::move(answer);
  return decision;
}

}  // namespace millrace::metadata
