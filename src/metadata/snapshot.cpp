#include "millrace/metadata/snapshot.h"

#include "millrace/metadata/features.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

using namespace protocol;  // record structs

std::vector<int32_t> numbers(std::vector<BrokerId> const& ids) {
  std::vector<int32_t> out;
  for (auto id : ids) out.push_back(id.value);
  return out;
}

template <class Wire, class From>
std::vector<Wire> endpoints(From const& from) {
  std::vector<Wire> out;
  for (auto const& e : from) {
    auto& wire = out.emplace_back();
    wire.name = e.listener;
    wire.host = e.host;
    wire.port = e.port;
    wire.security_protocol = e.security_protocol;
  }
  return out;
}

template <class Wire, class From>
std::vector<Wire> features(From const& from) {
  std::vector<Wire> out;
  for (auto const& f : from) {
    auto& wire = out.emplace_back();
    wire.name = f.name;
    wire.min_supported_version = f.level_min;
    wire.max_supported_version = f.level_max;
  }
  return out;
}

}  // namespace

void add_broker_record(RecordList& out, BrokerImage const& broker, int16_t metadata_version) {
  auto const version = register_broker_record_version(metadata_version);
  auto wire_endpoints = endpoints<RegisterBrokerRecord::BrokerEndpoint>(broker.endpoints);
  auto wire_features = features<RegisterBrokerRecord::BrokerFeature>(broker.features);
  auto directories = broker.directories;
  auto cordoned = broker.cordoned_directories.value_or(std::vector<DirectoryId>{});
  RegisterBrokerRecord r;
  r.broker_id = broker.id.value;
  r.incarnation_id = broker.incarnation_id;
  r.broker_epoch = broker.epoch;
  r.end_points = wire_endpoints;
  r.features = wire_features;
  r.rack = broker.rack ? std::optional<Str>(*broker.rack) : std::nullopt;
  r.fenced = broker.is_fenced;
  r.in_controlled_shutdown = broker.is_in_controlled_shutdown;
  if (version >= 3) r.log_dirs = directories;
  if (version >= 4 && broker.cordoned_directories) r.cordoned_log_dirs = cordoned;
  out.add(r, version);
}

void add_controller_record(RecordList& out, ControllerImage const& controller) {
  auto wire_endpoints = endpoints<RegisterControllerRecord::ControllerEndpoint>(controller.endpoints);
  auto wire_features = features<RegisterControllerRecord::ControllerFeature>(controller.features);
  RegisterControllerRecord r;
  r.controller_id = controller.id;
  r.incarnation_id = controller.incarnation_id;
  r.zk_migration_ready = controller.is_zk_migration_ready;
  r.end_points = wire_endpoints;
  r.features = wire_features;
  out.add(r, 0);
}

void add_partition_record(RecordList& out, TopicId const& topic, int32_t index, PartitionImage const& p, int16_t metadata_version) {
  auto const version = partition_record_version(metadata_version);
  auto replicas = numbers(p.replicas), isr = numbers(p.isr), removing = numbers(p.removing_replicas),
       adding = numbers(p.adding_replicas), elr = numbers(p.elr), last_known = numbers(p.last_known_elr);
  auto directories = p.directories;
  PartitionRecord r;
  r.partition_id = index;
  r.topic_id = topic;
  r.replicas = replicas;
  r.isr = isr;
  r.removing_replicas = removing;
  r.adding_replicas = adding;
  r.leader = p.leader.value;
  r.leader_recovery_state = static_cast<int8_t>(p.recovery_state);
  r.leader_epoch = p.leader_epoch.value;
  r.partition_epoch = p.partition_epoch;
  if (version >= 1) r.directories = directories;
  // An empty list is written as null, as Kafka does.
  if (version >= 2 && !elr.empty()) r.eligible_leader_replicas = elr;
  if (version >= 2 && !last_known.empty()) r.last_known_elr = last_known;
  out.add(r, version);
}

RecordList snapshot_records(Image const& image) {
  RecordList out;
  auto const metadata_version = image.metadata_version();
  auto const add_feature = [&](std::string const& name, int16_t level) {
    FeatureLevelRecord r;
    r.name = name;
    r.feature_level = level;
    out.add(r, 0);
  };
  // metadata.version comes first: it decides how to read what follows.
  if (metadata_version != 0) add_feature(std::string(kMetadataVersionFeature), metadata_version);
  image.features.for_each([&](std::string const& name, int16_t level) {
    if (name != kMetadataVersionFeature) add_feature(name, level);
  });
  image.brokers.for_each([&](BrokerId, auto const& broker) { add_broker_record(out, *broker, metadata_version); });
  image.controllers.for_each([&](int32_t, auto const& controller) { add_controller_record(out, *controller); });
  image.topics.for_each([&](std::string const& name, TopicImagePtr const& topic) {
    TopicRecord r;
    r.name = name;
    r.topic_id = topic->id;
    out.add(r, 0);
    topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& partition) {
      add_partition_record(out, topic->id, index, *partition, metadata_version);
    });
  });
  image.configs.for_each([&](ConfigResource const& resource, ConfigMap const& set) {
    set.for_each([&](std::string const& name, std::string const& value) {
      ConfigRecord r;
      r.resource_type = static_cast<int8_t>(resource.type);
      r.resource_name = resource.name;
      r.name = name;
      r.value = value;
      out.add(r, 0);
    });
  });
  image.quotas.for_each([&](QuotaEntityKey const& key, QuotaMap const& quotas) {
    quotas.for_each([&](std::string const& name, double value) {
      std::vector<ClientQuotaRecord::EntityData> entity;
      for (auto const& [type, entity_name] : key.entity) {
        auto& data = entity.emplace_back();
        data.entity_type = type;
        data.entity_name = entity_name ? std::optional<Str>(*entity_name) : std::nullopt;
      }
      ClientQuotaRecord r;
      r.entity = entity;
      r.key = name;
      r.value = value;
      out.add(r, 0);
    });
  });
  if (image.next_producer_id.value > 0) {
    ProducerIdsRecord r;
    r.broker_id = -1;
    r.next_producer_id = image.next_producer_id.value;
    out.add(r, 0);
  }
  image.acls.for_each([&](Uuid const& id, AclImage const& acl) {
    AccessControlEntryRecord r;
    r.id = id;
    r.resource_type = acl.resource_type;
    r.resource_name = acl.resource_name;
    r.pattern_type = acl.pattern_type;
    r.principal = acl.principal;
    r.host = acl.host;
    r.operation = acl.operation;
    r.permission_type = acl.permission;
    out.add(r, 0);
  });
  image.scram.for_each([&](ScramKey const& key, ScramImage const& scram) {
    UserScramCredentialRecord r;
    r.name = key.user;
    r.mechanism = key.mechanism;
    r.salt = as_bytes(scram.salt);
    r.stored_key = as_bytes(scram.stored_key);
    r.server_key = as_bytes(scram.server_key);
    r.iterations = scram.iterations;
    out.add(r, 0);
  });
  image.delegation_tokens.for_each([&](std::string const& id, DelegationTokenImage const& token) {
    std::vector<Str> renewers(token.renewers.begin(), token.renewers.end());
    DelegationTokenRecord r;
    r.owner = token.owner;
    r.requester = token.requester;
    r.renewers = renewers;
    r.issue_timestamp = token.issued_ms;
    r.max_timestamp = token.max_ms;
    r.expiration_timestamp = token.expires_ms;
    r.token_id = id;
    out.add(r, 0);
  });
  return out;
}

uint64_t fingerprint(Image const& image) {
  // FNV-1a over the snapshot: canonical, because the maps are sorted and the encoding has one form.
  uint64_t hash = 0xcbf29ce484222325U;
  auto const records = snapshot_records(image);
  for (auto const& value : records.values()) {
    for (auto byte : value.view()) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3U;
    hash = mix_priority(hash);
  }
  return hash;
}

}  // namespace millrace::metadata
