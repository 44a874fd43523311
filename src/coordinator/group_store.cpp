#include "millrace/coordinator/group_store.h"

#include "millrace/bytes/arena.h"
#include "millrace/protocol/records/framing.h"
#include "millrace/protocol/records/group_classic.h"

namespace millrace::coordinator {

namespace {

// Kafka 4.4's: the topic id needs version 4, an explicit expiry exists only in version 1.
constexpr int16_t kOffsetVersion = 4, kOffsetVersionWithExpiry = 1;
constexpr int16_t kGroupVersion = 3;

Array<protocol::GroupMetadataValue::MemberMetadata> describe_members(
    StoredGroup const& group, std::vector<protocol::GroupMetadataValue::MemberMetadata>& room) {
  for (auto const& member : group.members) {
    auto& out = room.emplace_back();
    out.member_id = member.id;
    if (member.instance_id) out.group_instance_id = *member.instance_id;
    out.client_id = member.client_id;
    out.client_host = member.client_host;
    out.rebalance_timeout = member.rebalance_timeout_ms;
    out.session_timeout = member.session_timeout_ms;
    out.subscription = as_bytes(text_of(member.subscription));
    out.assignment = as_bytes(text_of(member.assignment));
  }
  return room;
}

std::optional<std::string> owned(std::optional<Str> const& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}

StoredGroup stored(protocol::GroupMetadataValue const& value) {
  StoredGroup group{std::string(value.protocol_type),
                    value.generation,
                    owned(value.protocol),
                    owned(value.leader),
                    value.current_state_timestamp,
                    {}};
  group.members.reserve(value.members.size());
  std::set<Str> ids, instances;
  for (auto const& member : value.members) {
    // A log that no coordinator wrote may name a member or an instance twice.
    if (!ids.insert(member.member_id).second) continue;
    if (member.group_instance_id && !instances.insert(*member.group_instance_id).second) continue;
    // Version 0 has no rebalance timeout.
    auto const rebalance = member.rebalance_timeout == -1 ? member.session_timeout : member.rebalance_timeout;
    group.members.push_back({std::string(member.member_id), owned(member.group_instance_id),
                             std::string(member.client_id), std::string(member.client_host), rebalance,
                             member.session_timeout, make_blob(member.subscription), make_blob(member.assignment)});
  }
  return group;
}

template <class M>
Status decode_value(ByteView bytes, Arena& arena, M& out) {
  Reader in(bytes);
  MR_TRY_ASSIGN(auto const version, protocol::read_int16_prefix(in));
  return protocol::decode(in, version, arena, out);
}

Error corrupt(Error const& cause) {
  return Error{ErrorKind::corrupt, fmt::format("replay a record of a group coordinator: {}", cause.message)};
}

}  // namespace

Record group_record(std::string_view group_id, StoredGroup const& group) {
  protocol::GroupMetadataKey key;
  key.group = group_id;
  protocol::GroupMetadataValue value;
  value.protocol_type = group.protocol_type;
  value.generation = group.generation;
  value.protocol = group.protocol ? std::optional<Str>(*group.protocol) : std::nullopt;
  value.leader = group.leader ? std::optional<Str>(*group.leader) : std::nullopt;
  value.current_state_timestamp = group.state_timestamp_ms;
  std::vector<protocol::GroupMetadataValue::MemberMetadata> room;
  room.reserve(group.members.size());
  value.members = describe_members(group, room);
  return {protocol::encode_coordinator_key(key).value(), protocol::encode_versioned(value, kGroupVersion).value()};
}

Record group_tombstone(std::string_view group_id) {
  protocol::GroupMetadataKey key;
  key.group = group_id;
  return {protocol::encode_coordinator_key(key).value(), {}};
}

Record offset_record(std::string_view group_id, std::string_view topic, int32_t partition,
                     CommittedOffset const& offset) {
  protocol::OffsetCommitValue value;
  value.offset = offset.offset;
  value.leader_epoch = offset.leader_epoch;
  value.metadata = offset.metadata;
  value.commit_timestamp = offset.commit_timestamp_ms;
  value.expire_timestamp = offset.expire_timestamp_ms;
  value.topic_id = offset.topic_id;
  auto record = offset_tombstone(group_id, topic, partition);
  auto const version = offset.expire_timestamp_ms == -1 ? kOffsetVersion : kOffsetVersionWithExpiry;
  record.value = protocol::encode_versioned(value, version).value();
  return record;
}

Record offset_tombstone(std::string_view group_id, std::string_view topic, int32_t partition) {
  protocol::OffsetCommitKey key;
  key.group = group_id;
  key.topic = topic;
  key.partition = partition;
  return {protocol::encode_coordinator_key(key).value(), {}};
}

Result<std::string_view> GroupStore::replay(ByteView key_bytes, std::optional<ByteView> value_bytes,
                                            ProducerId producer) {
  Reader in(key_bytes);
  Arena arena;
  auto const type = protocol::read_int16_prefix(in);
  if (!type) return corrupt(type.error());
  if (*type == protocol::OffsetCommitKey::kKey || *type == protocol::LegacyOffsetCommitKey::kKey) {
    protocol::OffsetCommitKey key;  // the old key reads the same
    if (auto const read = protocol::decode(in, 0, arena, key); !read) return corrupt(read.error());
    std::optional<CommittedOffset> offset;
    if (value_bytes) {
      protocol::OffsetCommitValue value;
      if (auto const read = decode_value(*value_bytes, arena, value); !read) return corrupt(read.error());
      offset = CommittedOffset{value.offset,           value.leader_epoch,     std::string(value.metadata),
                               value.commit_timestamp, value.expire_timestamp, value.topic_id};
    }
    if (producer == kNoProducerId || !offset) {
      replay_offset(key.group, key.topic, key.partition, std::move(offset));
    } else {
      entries_.try_emplace(std::string(key.group));
      pending_[producer][{std::string(key.group), std::string(key.topic), key.partition}] = *std::move(offset);
    }
    return key.group;
  }
  if (*type == protocol::GroupMetadataKey::kKey) {
    protocol::GroupMetadataKey key;
    if (auto const read = protocol::decode(in, 0, arena, key); !read) return corrupt(read.error());
    if (!value_bytes) {
      if (auto const at = entries_.find(key.group); at != entries_.end()) entries_.erase(at);
      return key.group;
    }
    protocol::GroupMetadataValue value;
    if (auto const read = decode_value(*value_bytes, arena, value); !read) return corrupt(read.error());
    entries_[std::string(key.group)].group = stored(value);
    return key.group;
  }
  return std::string_view();
}

void GroupStore::replay_offset(std::string_view group_id, std::string_view topic, int32_t partition,
                               std::optional<CommittedOffset> offset) {
  if (offset) {
    entries_[std::string(group_id)].offsets[std::string(topic)][partition] = *std::move(offset);
    return;
  }
  auto const entry = entries_.find(group_id);
  if (entry == entries_.end()) return;
  auto& offsets = entry->second.offsets;
  auto const at = offsets.find(topic);
  if (at == offsets.end()) return;
  at->second.erase(partition);
  if (at->second.empty()) offsets.erase(at);
}

void GroupStore::end_transaction(ProducerId producer, bool is_committed) {
  auto const at = pending_.find(producer);
  if (at == pending_.end()) return;
  auto const offsets = std::move(at->second);
  pending_.erase(at);
  if (!is_committed) return;
  for (auto const& [key, offset] : offsets) replay_offset(key.group_id, key.topic, key.partition, offset);
}

void GroupStore::clear() {
  entries_.clear();
  pending_.clear();
}

GroupStore::Entry const* GroupStore::find(std::string_view group_id) const {
  auto const at = entries_.find(group_id);
  return at == entries_.end() ? nullptr : &at->second;
}

CommittedOffset const* GroupStore::find_offset(std::string_view group_id, std::string_view topic,
                                               int32_t partition) const {
  auto const* const entry = find(group_id);
  if (entry == nullptr) return nullptr;
  auto const at = entry->offsets.find(topic);
  if (at == entry->offsets.end()) return nullptr;
  auto const offset = at->second.find(partition);
  return offset == at->second.end() ? nullptr : &offset->second;
}

bool GroupStore::has_pending_offset(std::string_view group_id, std::string_view topic, int32_t partition) const {
  if (pending_.empty()) return false;
  PendingKey const key{std::string(group_id), std::string(topic), partition};
  return std::any_of(pending_.begin(), pending_.end(), [&](auto const& one) { return one.second.contains(key); });
}

bool GroupStore::has_pending_offsets(std::string_view group_id) const {
  for (auto const& [producer, offsets] : pending_) {
    auto const at = offsets.lower_bound({std::string(group_id), "", INT32_MIN});
    if (at != offsets.end() && at->first.group_id == group_id) return true;
  }
  return false;
}

std::string GroupStore::text() const {
  std::string out;
  for (auto const& [id, entry] : entries_) {
    out += id;
    if (entry.group) {
      auto const& group = *entry.group;
      out += fmt::format(" type={} generation={} protocol={} leader={} since={}", group.protocol_type, group.generation,
                         group.protocol.value_or("-"), group.leader.value_or("-"), group.state_timestamp_ms);
      for (auto const& member : group.members) {
        out += fmt::format(" [{} {} {}{} {}/{} {}->{}]", member.id, member.instance_id.value_or("-"), member.client_id,
                           member.client_host, member.session_timeout_ms, member.rebalance_timeout_ms,
                           text_of(member.subscription), text_of(member.assignment));
      }
    }
    for (auto const& [topic, partitions] : entry.offsets) {
      for (auto const& [partition, offset] : partitions) {
        out += fmt::format(" {}-{}@{}:{}:{}:{}:{}:{}", topic, partition, offset.offset, offset.leader_epoch,
                           offset.metadata, offset.commit_timestamp_ms, offset.expire_timestamp_ms,
                           offset.topic_id.is_zero() ? "-" : offset.topic_id.text());
      }
    }
    out += '\n';
  }
  for (auto const& [producer, offsets] : pending_) {
    for (auto const& [key, offset] : offsets) {
      out += fmt::format("producer {} {} {}-{}@{}\n", producer, key.group_id, key.topic, key.partition, offset.offset);
    }
  }
  return out;
}

}  // namespace millrace::coordinator
