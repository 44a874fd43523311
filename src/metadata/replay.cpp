#include "millrace/metadata/replay.h"

#include <algorithm>

#include "millrace/bytes/cursor.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/records.h"
#include "millrace/protocol/message.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

using namespace protocol;  // record structs

// No record is larger than the log's largest batch; decoded arrays take a few times the bytes they came from.
constexpr size_t kRecordArenaBytesMax = 64 << 20;
constexpr size_t kRecordBytesMax = 8 << 20;

struct Target {
  Image& image;
  ImageDelta& delta;
  Offset offset;
};

template <class... Args>
Error misfit(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorKind::corrupt, "replay metadata: " + fmt::format(text, std::forward<Args>(args)...)};
}

std::vector<BrokerId> broker_ids(Array<int32_t> const& from) {
  std::vector<BrokerId> out;
  out.reserve(from.size());
  for (auto id : from) out.emplace_back(id);
  return out;
}

// Kafka keeps features in a hash map, so their order in a record means nothing.
template <class Wire>
std::vector<SupportedFeature> sorted_features(Array<Wire> const& from) {
  std::vector<SupportedFeature> out;
  for (auto const& f : from) out.push_back({std::string(f.name), f.min_supported_version, f.max_supported_version});
  std::sort(out.begin(), out.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
  return out;
}

std::vector<Uuid> uuids(Array<Uuid> const& from) { return {from.begin(), from.end()}; }

std::vector<Uuid> sorted_uuids(Array<Uuid> const& from) {
  auto out = uuids(from);
  std::sort(out.begin(), out.end());
  return out;
}

// ---- brokers and controllers

Result<std::shared_ptr<BrokerImage>> broker_for_change(Target t, int32_t id, int64_t epoch, std::string_view what) {
  auto const* broker = t.image.find_broker(BrokerId{id});
  if (broker == nullptr) return misfit("{} of broker {}, which is not registered", what, id);
  if (broker->epoch != epoch) return misfit("{} of broker {} in epoch {}, it is in {}", what, id, epoch, broker->epoch);
  return std::make_shared<BrokerImage>(*broker);
}

void put_broker(Target t, std::shared_ptr<BrokerImage const> broker) {
  auto const id = broker->id;
  t.image.brokers.set(id, std::move(broker));
  t.delta.brokers.insert(id);
}

void set_fenced(BrokerImage& broker, bool is_fenced) {
  broker.is_fenced = is_fenced;
  if (!is_fenced) broker.unused_since = broker.epoch;
}

Status apply(Target t, RegisterBrokerRecord const& r) {
  auto broker = std::make_shared<BrokerImage>();
  broker->id = BrokerId{r.broker_id};
  broker->epoch = r.broker_epoch;
  broker->incarnation_id = r.incarnation_id;
  for (auto const& e : r.end_points) {
    broker->endpoints.push_back({std::string(e.name), std::string(e.host), e.port, e.security_protocol});
  }
  broker->features = sorted_features(r.features);
  if (r.rack) broker->rack = std::string(*r.rack);
  auto const* before = t.image.find_broker(broker->id);
  broker->unused_since = before == nullptr ? r.broker_epoch : before->unused_since;
  set_fenced(*broker, r.fenced);
  broker->is_in_controlled_shutdown = r.in_controlled_shutdown;
  broker->directories = sorted_uuids(r.log_dirs);
  if (!r.cordoned_log_dirs.is_null()) broker->cordoned_directories = sorted_uuids(r.cordoned_log_dirs);
  put_broker(t, std::move(broker));
  return {};
}

Status apply(Target t, UnregisterBrokerRecord const& r) {
  MR_TRY(broker_for_change(t, r.broker_id, r.broker_epoch, "unregistration"));
  t.image.brokers.remove(BrokerId{r.broker_id});
  t.delta.brokers.insert(BrokerId{r.broker_id});
  return {};
}

Status change_fenced(Target t, int32_t id, int64_t epoch, bool fenced) {
  MR_TRY_ASSIGN(auto broker, broker_for_change(t, id, epoch, fenced ? "fencing" : "unfencing"));
  set_fenced(*broker, fenced);
  put_broker(t, std::move(broker));
  return {};
}
Status apply(Target t, FenceBrokerRecord const& r) { return change_fenced(t, r.id, r.epoch, true); }
Status apply(Target t, UnfenceBrokerRecord const& r) { return change_fenced(t, r.id, r.epoch, false); }

Status apply(Target t, BrokerRegistrationChangeRecord const& r) {
  MR_TRY_ASSIGN(auto broker, broker_for_change(t, r.broker_id, r.broker_epoch, "registration change"));
  if (r.fenced < -1 || r.fenced > 1) return misfit("fenced {} of broker {} is not -1, 0 or 1", r.fenced, r.broker_id);
  if (r.in_controlled_shutdown < 0 || r.in_controlled_shutdown > 1) {
    return misfit("in_controlled_shutdown {} of broker {} is not 0 or 1", r.in_controlled_shutdown, r.broker_id);
  }
  if (r.fenced != 0) set_fenced(*broker, r.fenced > 0);
  if (r.in_controlled_shutdown != 0) broker->is_in_controlled_shutdown = true;
  if (!r.log_dirs.empty()) broker->directories = sorted_uuids(r.log_dirs);
  if (!r.cordoned_log_dirs.is_null()) broker->cordoned_directories = sorted_uuids(r.cordoned_log_dirs);
  put_broker(t, std::move(broker));
  return {};
}

Status apply(Target t, RegisterControllerRecord const& r) {
  auto controller = std::make_shared<ControllerImage>();
  controller->id = r.controller_id;
  controller->incarnation_id = r.incarnation_id;
  controller->is_zk_migration_ready = r.zk_migration_ready;
  for (auto const& e : r.end_points) {
    controller->endpoints.push_back({std::string(e.name), std::string(e.host), e.port, e.security_protocol});
  }
  controller->features = sorted_features(r.features);
  t.image.controllers.set(r.controller_id, std::move(controller));
  t.delta.controllers.insert(r.controller_id);
  return {};
}

Status apply(Target t, UnregisterControllerRecord const& r) {
  t.image.controllers.remove(r.controller_id);
  t.delta.controllers.insert(r.controller_id);
  return {};
}

// ---- topics

void put_topic(Target t, std::shared_ptr<TopicImage const> topic) {
  auto const id = topic->id;
  t.image.topics.set(topic->name, topic);
  t.image.topics_by_id.set(id, std::move(topic));
}

void index_partition(Image& image, TopicImage const& topic, PartitionImage const* before, PartitionImage const& after) {
  if (before == nullptr || before->replicas != after.replicas) {
    for (auto broker : after.replicas) {
      auto const* found = image.topics_by_broker.find(broker);
      if (found != nullptr && found->contains(topic.id)) continue;
      image.topics_by_broker.set(broker, (found == nullptr ? PersistentMap<TopicId, bool>() : *found).with(topic.id, true));
    }
  }
  bool const was_leaderless = before != nullptr && before->leader == kNoBroker;
  bool const is_leaderless = after.leader == kNoBroker;
  if (was_leaderless == is_leaderless) return;
  auto const* count = image.leaderless_counts.find(topic.id);
  auto const now = (count == nullptr ? 0 : *count) + (is_leaderless ? 1 : -1);
  if (now > 0) image.leaderless_counts.set(topic.id, now);
  else image.leaderless_counts.remove(topic.id);
}

void unindex_topic(Image& image, TopicId const& id) {
  auto const all = image.topics_by_broker;
  all.for_each([&](BrokerId broker, PersistentMap<TopicId, bool> const& topics) {
    if (!topics.contains(id)) return;
    auto rest = topics.without(id);
    if (rest.empty()) image.topics_by_broker.remove(broker);
    else image.topics_by_broker.set(broker, std::move(rest));
  });
  image.leaderless_counts.remove(id);
}

void put_partition(Target t, TopicImage const& topic, int32_t index, PartitionImage partition) {
  index_partition(t.image, topic, topic.find_partition(index), partition);
  auto changed = std::make_shared<TopicImage>(topic);
  changed->partitions.set(index, std::make_shared<PartitionImage const>(std::move(partition)));
  auto& delta = t.delta.topics[topic.id];
  delta.name = topic.name;
  delta.partitions.insert(index);
  put_topic(t, std::move(changed));
}

Status apply(Target t, TopicRecord const& r) {
  if (t.image.find_topic(r.name) != nullptr) return misfit("topic {} is there already", r.name);
  if (t.image.find_topic(r.topic_id) != nullptr) return misfit("topic id {} of {} is taken", r.topic_id, r.name);
  auto topic = std::make_shared<TopicImage>();
  topic->id = r.topic_id;
  topic->name = std::string(r.name);
  auto& delta = t.delta.topics[r.topic_id];
  delta.name = topic->name;
  delta.is_created = true;
  put_topic(t, std::move(topic));
  return {};
}

Status check_partition(TopicImage const& topic, int32_t index, PartitionImage const& p) {
  if (p.directories.size() != p.replicas.size()) {
    return misfit("{}-{} has {} replicas and {} directories", topic.name, index, p.replicas.size(), p.directories.size());
  }
  for (auto broker : p.isr) {
    if (!p.has_replica(broker)) return misfit("{}-{}: {} is in sync but no replica", topic.name, index, broker);
  }
  return {};
}

Status apply(Target t, PartitionRecord const& r) {
  auto const* topic = t.image.find_topic(r.topic_id);
  if (topic == nullptr) return misfit("partition {} of topic id {}, which is not there", r.partition_id, r.topic_id);
  if (r.partition_id < 0) return misfit("partition {} of topic {}", r.partition_id, topic->name);
  if (r.leader_recovery_state < 0 || r.leader_recovery_state > 1) {
    return misfit("{}-{}: leader recovery state {}", topic->name, r.partition_id, r.leader_recovery_state);
  }
  PartitionImage p;
  p.replicas = broker_ids(r.replicas);
  p.isr = broker_ids(r.isr);
  p.removing_replicas = broker_ids(r.removing_replicas);
  p.adding_replicas = broker_ids(r.adding_replicas);
  p.elr = broker_ids(r.eligible_leader_replicas);
  p.last_known_elr = broker_ids(r.last_known_elr);
  p.directories = uuids(r.directories);
  if (p.directories.empty()) p.directories.assign(p.replicas.size(), kDirectoryMigrating);
  p.leader = BrokerId{r.leader};
  p.leader_epoch = LeaderEpoch{r.leader_epoch};
  p.partition_epoch = r.partition_epoch;
  p.recovery_state = static_cast<LeaderRecoveryState>(r.leader_recovery_state);
  MR_TRY(check_partition(*topic, r.partition_id, p));
  put_partition(t, *topic, r.partition_id, std::move(p));
  return {};
}

Status apply(Target t, PartitionChangeRecord const& r) {
  auto const* topic = t.image.find_topic(r.topic_id);
  if (topic == nullptr) return misfit("change of partition {} of topic id {}, which is not there", r.partition_id, r.topic_id);
  auto const* before = topic->find_partition(r.partition_id);
  if (before == nullptr) return misfit("change of {}-{}, which is not there", topic->name, r.partition_id);
  if (r.leader_recovery_state < -1 || r.leader_recovery_state > 1) {
    return misfit("{}-{}: leader recovery state {}", topic->name, r.partition_id, r.leader_recovery_state);
  }
  auto p = changed_partition(*before, r);
  MR_TRY(check_partition(*topic, r.partition_id, p));
  put_partition(t, *topic, r.partition_id, std::move(p));
  return {};
}

Status apply(Target t, RemoveTopicRecord const& r) {
  auto const* found = t.image.find_topic(r.topic_id);
  if (found == nullptr) return misfit("removal of topic id {}, which is not there", r.topic_id);
  auto const topic = *found;  // outlives the maps' entries
  auto& delta = t.delta.topics[topic.id];
  delta.name = topic.name;
  delta.is_deleted = true;
  topic.partitions.for_each([&](int32_t index, PartitionImagePtr const&) { delta.partitions.insert(index); });
  t.image.topics.remove(topic.name);
  t.image.topics_by_id.remove(topic.id);
  unindex_topic(t.image, topic.id);
  ConfigResource const resource{ConfigResourceType::topic, topic.name};
  if (t.image.configs.contains(resource)) {
    t.image.configs.remove(resource);
    t.delta.configs.insert(resource);
  }
  return {};
}

void clear_elr(Target t, TopicImagePtr topic) {
  std::vector<int32_t> touched;
  topic->partitions.for_each([&](int32_t index, PartitionImagePtr const& p) {
    if (!p->elr.empty() || !p->last_known_elr.empty()) touched.push_back(index);
  });
  for (auto index : touched) {
    auto const* now = t.image.find_topic(topic->id);
    auto p = *now->find_partition(index);
    p.elr.clear();
    p.last_known_elr.clear();
    p.partition_epoch += 1;
    put_partition(t, *now, index, std::move(p));
  }
}

Status apply(Target t, ClearElrRecord const& r) {
  if (r.topic_name.empty()) {
    auto const all = t.image.topics;
    all.for_each([&](std::string const&, TopicImagePtr const& topic) { clear_elr(t, topic); });
    return {};
  }
  auto const* topic = t.image.topics.find(r.topic_name);
  if (topic == nullptr) return misfit("clearing the ELR of topic {}, which is not there", r.topic_name);
  clear_elr(t, *topic);
  return {};
}

// ---- the rest

Status apply(Target t, ConfigRecord const& r) {
  ConfigResource const resource{static_cast<ConfigResourceType>(r.resource_type), std::string(r.resource_name)};
  auto const* found = t.image.configs.find(resource);
  auto set = found == nullptr ? ConfigMap() : *found;
  if (r.value) set.set(std::string(r.name), std::string(*r.value));
  else set.remove(std::string(r.name));
  if (set.empty()) t.image.configs.remove(resource);
  else t.image.configs.set(resource, std::move(set));
  t.delta.configs.insert(resource);
  return {};
}

Status apply(Target t, FeatureLevelRecord const& r) {
  if (r.name == kMetadataVersionFeature && (r.feature_level < kMetadataVersionMin || r.feature_level > kMetadataVersionLatest)) {
    return misfit("metadata.version {} is not in {} to {}", r.feature_level, kMetadataVersionMin, kMetadataVersionLatest);
  }
  auto const* known = find_feature(r.name);
  if (known == nullptr && r.feature_level != 0) return misfit("feature {} is not known here", r.name);
  if (known != nullptr && (r.feature_level < 0 || r.feature_level > known->level_max)) {
    return misfit("feature {} level {} is not in 0 to {}", r.name, r.feature_level, known->level_max);
  }
  if (r.feature_level == 0) t.image.features.remove(std::string(r.name));
  else t.image.features.set(std::string(r.name), r.feature_level);
  t.delta.features.insert(std::string(r.name));
  return {};
}

Status apply(Target t, ClientQuotaRecord const& r) {
  QuotaEntityKey key;
  for (auto const& e : r.entity) {
    key.entity.emplace_back(std::string(e.entity_type),
                            e.entity_name ? std::optional<std::string>(std::string(*e.entity_name)) : std::nullopt);
  }
  std::sort(key.entity.begin(), key.entity.end());
  auto const* found = t.image.quotas.find(key);
  auto quotas = found == nullptr ? QuotaMap() : *found;
  if (r.remove) quotas.remove(std::string(r.key));
  else quotas.set(std::string(r.key), r.value);
  if (quotas.empty()) t.image.quotas.remove(key);
  else t.image.quotas.set(std::move(key), std::move(quotas));
  t.delta.has_quotas = true;
  return {};
}

Status apply(Target t, ProducerIdsRecord const& r) {
  t.image.next_producer_id = ProducerId{r.next_producer_id};
  t.delta.has_producer_ids = true;
  return {};
}

Status apply(Target t, UserScramCredentialRecord const& r) {
  t.image.scram.set({std::string(r.name), r.mechanism}, {std::string(as_text(r.salt)), std::string(as_text(r.stored_key)),
                                                         std::string(as_text(r.server_key)), r.iterations});
  t.delta.has_scram = true;
  return {};
}

Status apply(Target t, RemoveUserScramCredentialRecord const& r) {
  t.image.scram.remove({std::string(r.name), r.mechanism});
  t.delta.has_scram = true;
  return {};
}

Status apply(Target t, AccessControlEntryRecord const& r) {
  t.image.acls.set(r.id, {r.resource_type, std::string(r.resource_name), r.pattern_type, std::string(r.principal),
                          std::string(r.host), r.operation, r.permission_type});
  t.delta.has_acls = true;
  return {};
}

Status apply(Target t, RemoveAccessControlEntryRecord const& r) {
  if (!t.image.acls.contains(r.id)) return misfit("removal of ACL {}, which is not there", r.id);
  t.image.acls.remove(r.id);
  t.delta.has_acls = true;
  return {};
}

Status apply(Target t, DelegationTokenRecord const& r) {
  DelegationTokenImage token{std::string(r.owner), std::string(r.requester), {}, r.issue_timestamp, r.max_timestamp,
                             r.expiration_timestamp};
  for (auto renewer : r.renewers) token.renewers.emplace_back(renewer);
  t.image.delegation_tokens.set(std::string(r.token_id), std::move(token));
  t.delta.has_delegation_tokens = true;
  return {};
}

Status apply(Target t, RemoveDelegationTokenRecord const& r) {
  t.image.delegation_tokens.remove(std::string(r.token_id));
  t.delta.has_delegation_tokens = true;
  return {};
}

// Without effect on the image: Replayer looks after transactions, and there is no ZooKeeper to migrate from.
Status apply(Target, NoOpRecord const&) { return {}; }
Status apply(Target, ZkMigrationStateRecord const&) { return {}; }
Status apply(Target, BeginTransactionRecord const&) { return {}; }
Status apply(Target, EndTransactionRecord const&) { return {}; }
Status apply(Target, AbortTransactionRecord const&) { return {}; }

struct Frame {
  uint32_t type{};
  int16_t version{};
};

Result<Frame> read_frame(Reader& in) {
  auto const frame = in.uvarint();
  auto const type = in.uvarint();
  auto const version = in.uvarint();
  if (!in.ok()) return misfit("a record value of {} bytes is too short", in.position());
  if (frame != kRecordFrameVersion) return misfit("frame version {} is not {}", frame, kRecordFrameVersion);
  if (version > 32767) return misfit("record type {} has version {}", type, version);
  return Frame{type, static_cast<int16_t>(version)};
}

template <class Record>
Status decode_and_apply(Reader& in, int16_t version, Target target) {
  if (!Record::kValid.contains(version)) {
    return Error{ErrorKind::unsupported, fmt::format("replay metadata: {} version {} is not known here", Record::table().name(), version)};
  }
  Arena arena(kRecordArenaBytesMax);
  Record record;
  if (auto status = protocol::decode(in, version, arena, record); !status) {
    return misfit("{} v{} at offset {}: {}", Record::table().name(), version, target.offset, status.error().message);
  }
  if (!in.at_end()) return misfit("{} at offset {}: {} bytes left over", Record::table().name(), target.offset, in.remaining());
  return apply(target, record);
}

template <class... Records>
Status dispatch(Frame frame, Reader& in, Target target) {
  Status status = Error{ErrorKind::unsupported,
                        fmt::format("replay metadata: record type {} at offset {} is not known here", frame.type, target.offset)};
  auto const try_one = [&]<class Record>() {
    if (frame.type != static_cast<uint32_t>(Record::kKey)) return false;
    status = decode_and_apply<Record>(in, frame.version, target);
    return true;
  };
  static_cast<void>((try_one.template operator()<Records>() || ...));
  return status;
}

Status apply_frame(Frame frame, Reader& in, Target target) {
  return dispatch<RegisterBrokerRecord, UnregisterBrokerRecord, TopicRecord, PartitionRecord, ConfigRecord, PartitionChangeRecord,
                  FenceBrokerRecord, UnfenceBrokerRecord, RemoveTopicRecord, DelegationTokenRecord, UserScramCredentialRecord,
                  FeatureLevelRecord, ClientQuotaRecord, ProducerIdsRecord, BrokerRegistrationChangeRecord,
                  AccessControlEntryRecord, RemoveAccessControlEntryRecord, NoOpRecord, ZkMigrationStateRecord,
                  RemoveUserScramCredentialRecord, BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord,
                  RemoveDelegationTokenRecord, RegisterControllerRecord, ClearElrRecord, UnregisterControllerRecord>(frame, in,
                                                                                                                     target);
}

}  // namespace

PartitionImage changed_partition(PartitionImage const& before, protocol::PartitionChangeRecord const& r) {
  auto p = before;
  if (!r.replicas.is_null()) {
    p.replicas = broker_ids(r.replicas);
    p.directories.clear();
    for (auto broker : p.replicas) p.directories.push_back(before.directory_of(broker));
  }
  if (!r.directories.empty()) p.directories = uuids(r.directories);
  if (!r.isr.is_null()) p.isr = broker_ids(r.isr);
  if (!r.removing_replicas.is_null()) p.removing_replicas = broker_ids(r.removing_replicas);
  if (!r.adding_replicas.is_null()) p.adding_replicas = broker_ids(r.adding_replicas);
  if (!r.eligible_leader_replicas.is_null()) p.elr = broker_ids(r.eligible_leader_replicas);
  if (!r.last_known_elr.is_null()) p.last_known_elr = broker_ids(r.last_known_elr);
  if (r.leader != kNoLeaderChange) {
    p.leader = BrokerId{r.leader};
    p.leader_epoch += 1;
  }
  if (r.leader_recovery_state >= 0) p.recovery_state = static_cast<LeaderRecoveryState>(r.leader_recovery_state);
  p.partition_epoch += 1;
  return p;
}

Status apply_record(Image& image, ByteView value, Offset offset, ImageDelta& delta) {
  if (value.size() > kRecordBytesMax) return misfit("the record at offset {} has {} bytes", offset, value.size());
  Reader in(value);
  MR_TRY_ASSIGN(auto const frame, read_frame(in));
  return apply_frame(frame, in, {image, delta, offset});
}

Status Replayer::apply(ByteView value, Offset offset, LeaderEpoch epoch, int64_t timestamp_ms) {
  if (value.size() > kRecordBytesMax) return misfit("the record at offset {} has {} bytes", offset, value.size());
  Reader in(value);
  MR_TRY_ASSIGN(auto const frame, read_frame(in));
  auto const is = [&](int16_t key) { return frame.type == static_cast<uint32_t>(key); };
  if (is(BeginTransactionRecord::kKey)) {
    if (before_transaction_) return misfit("offset {} begins a transaction inside a transaction", offset);
    before_transaction_ = image_;
    delta_before_transaction_ = delta_;
  }
  MR_TRY(apply_frame(frame, in, {image_, delta_, offset}));
  if (is(EndTransactionRecord::kKey) || is(AbortTransactionRecord::kKey)) {
    if (!before_transaction_) return misfit("offset {} ends a transaction that was not begun", offset);
    if (is(AbortTransactionRecord::kKey)) {
      image_ = std::move(*before_transaction_);
      delta_ = std::move(delta_before_transaction_);
    }
    before_transaction_.reset();
    delta_before_transaction_ = {};
  }
  skip(offset, epoch, timestamp_ms);
  return {};
}

void Replayer::skip(Offset offset, LeaderEpoch epoch, int64_t timestamp_ms) {
  image_.offset = offset;
  image_.epoch = epoch;
  image_.timestamp_ms = timestamp_ms;
}

ImageDelta Replayer::take_delta() {
  if (before_transaction_) return std::exchange(delta_before_transaction_, {});
  return std::exchange(delta_, {});
}

}  // namespace millrace::metadata
