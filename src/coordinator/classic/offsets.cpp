// Committed offsets: commit, fetch, delete, and their end by age or with their topic.
#include "millrace/coordinator/group_coordinator.h"

namespace millrace::coordinator {

namespace {

// The length that Kafka measures: Java's chars, of text in UTF-8.
size_t utf16_units(std::string_view text) {
  size_t units = 0;
  for (auto const c : text) {
    auto const byte = static_cast<uint8_t>(c);
    if ((byte & 0xc0) != 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

bool is_other_topic(CommittedOffset const& offset, Uuid const& topic_id) {
  return !offset.topic_id.is_zero() && !topic_id.is_zero() && offset.topic_id != topic_id;
}

}  // namespace

ErrorCode GroupCoordinator::validate_commit(CommitOffsets const& request, ClassicGroup const* group) const {
  if (group == nullptr) {
    // Without a generation it comes from a tool, or from a client that assigns its partitions itself.
    if (request.generation < 0) {
      return groups_.size() < kGroupsMax ? ErrorCode::none : ErrorCode::coordinator_not_available;
    }
    return request.knows_group_id_not_found ? ErrorCode::group_id_not_found : ErrorCode::illegal_generation;
  }
  if (request.generation < 0 && group->state() == GroupState::empty) return ErrorCode::none;
  if (request.generation < 0 && request.member_id.empty() && !request.instance_id) return ErrorCode::unknown_member_id;
  if (auto const error = group->validate_member(request.member_id, request.instance_id); error != ErrorCode::none) {
    return error;
  }
  if (request.generation != group->generation() && !MR_MUTANT(hooks_, "generation_not_checked")) {
    return ErrorCode::illegal_generation;
  }
  if (group->state() == GroupState::completing_rebalance) return ErrorCode::rebalance_in_progress;
  return ErrorCode::none;
}

void GroupCoordinator::on(CommitOffsets request, Now now, Effects& out) {
  auto error = phase_error();
  auto* const group = find_group(request.group_id);
  if (error == ErrorCode::none) error = validate_commit(request, group);
  if (error == ErrorCode::none && request.group_id.size() > kStoredTextBytesMax) error = ErrorCode::invalid_group_id;
  CommitAnswer answer{{request.partitions.size(), error}};
  if (error != ErrorCode::none) return reply(request.ticket, std::move(answer), out);
  // A commit is a sign of life, except while the members re-join only those that do are waited for.
  if (auto* const member = group == nullptr ? nullptr : group->find(request.member_id)) {
    if (!member->is_new) arm_session(*group, *member, now);
  }
  std::vector<Record> records;
  for (size_t i = 0; i < request.partitions.size(); ++i) {
    auto& from = request.partitions[i];
    if (utf16_units(from.metadata) > static_cast<size_t>(std::max(config_.offset_metadata_max, 0)) ||
        from.metadata.size() > kStoredTextBytesMax) {
      answer.partitions[i] = ErrorCode::offset_metadata_too_large;
      continue;
    }
    CommittedOffset const offset{from.offset,
                                 from.leader_epoch,
                                 std::move(from.metadata),
                                 now.wall.ms,
                                 request.retention_ms == -1 ? -1 : now.wall.ms + request.retention_ms,
                                 from.topic_id};
    records.push_back(offset_record(request.group_id, from.topic, from.partition, offset));
  }
  if (records.empty()) return reply(request.ticket, std::move(answer), out);
  decide(std::move(records), ThenReply{request.ticket, std::move(answer)}, out);
}

void GroupCoordinator::on(FetchOffsets request, Now, Effects& out) {
  FetchAnswer answer;
  answer.error = phase_error();
  if (answer.error != ErrorCode::none) return reply(request.ticket, std::move(answer), out);
  auto const look_up = [&](FetchAnswer::Topic& topic, int32_t partition, CommittedOffset const* offset) {
    auto& to = topic.partitions.emplace_back();
    to.index = partition;
    if (request.require_stable && store_.has_pending_offset(request.group_id, topic.name, partition)) {
      to.error = ErrorCode::unstable_offset_commit;
    } else if (offset != nullptr && !is_other_topic(*offset, topic.topic_id)) {
      to.offset = offset->offset;
      to.leader_epoch = offset->leader_epoch;
      to.metadata = offset->metadata;
    }
  };
  if (request.topics) {
    for (auto& from : *request.topics) {
      auto& topic = answer.topics.emplace_back();
      topic.name = std::move(from.name);
      topic.topic_id = from.topic_id;
      topic.partitions.reserve(from.partitions.size());
      for (auto const partition : from.partitions) {
        look_up(topic, partition, store_.find_offset(request.group_id, topic.name, partition));
      }
    }
  } else if (auto const* const entry = store_.find(request.group_id)) {
    for (auto const& [name, offsets] : entry->offsets) {
      auto& topic = answer.topics.emplace_back();
      topic.name = name;
      topic.topic_id = offsets.begin()->second.topic_id;
      topic.partitions.reserve(offsets.size());
      for (auto const& [partition, offset] : offsets) look_up(topic, partition, &offset);
    }
  }
  reply(request.ticket, std::move(answer), out);
}

void GroupCoordinator::on(DeleteOffsets request, Now, Effects& out) {
  auto const refuse = [&](ErrorCode error) { reply(request.ticket, DeleteOffsetsAnswer{error, {}}, out); };
  if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
  if (auto const error = phase_error(); error != ErrorCode::none) return refuse(error);
  auto const* const group = find(request.group_id);
  if (group == nullptr) return refuse(ErrorCode::group_id_not_found);
  if (group->state() != GroupState::empty && !group->uses_consumer_protocol())
    return refuse(ErrorCode::non_empty_group);
  DeleteOffsetsAnswer answer;
  std::vector<Record> records;
  for (auto const& [topic, partition] : request.partitions) {
    auto const is_in_use = group->is_subscribed(topic);
    answer.partitions.push_back(is_in_use ? ErrorCode::group_subscribed_to_topic : ErrorCode::none);
    if (!is_in_use && (store_.find_offset(request.group_id, topic, partition) != nullptr)) {
      records.push_back(offset_tombstone(request.group_id, topic, partition));
    }
  }
  if (records.empty()) return reply(request.ticket, std::move(answer), out);
  decide(std::move(records), ThenReply{request.ticket, std::move(answer)}, out);
}

void GroupCoordinator::on(TopicsDeleted event, Now now, Effects&) {
  if (phase_ != Phase::active) return;
  deleted_topics_.insert(deleted_topics_.end(), event.topics.begin(), event.topics.end());
  timers_.arm(cleanup_timer_, now.mono, TimerKind::cleanup);
}

void GroupCoordinator::collect_deleted_topics(std::vector<Record>& records) const {
  for (auto const& [group_id, entry] : store_.entries()) {
    for (auto const& [topic, topic_id] : deleted_topics_) {
      auto const offsets = entry.offsets.find(topic);
      if (offsets == entry.offsets.end()) continue;
      for (auto const& [partition, offset] : offsets->second) {
        if (is_other_topic(offset, topic_id)) continue;  // committed to a new topic of that name
        if (records.size() >= kTombstonesPerDecisionMax) return;
        records.push_back(offset_tombstone(group_id, topic, partition));
      }
    }
  }
}

bool GroupCoordinator::collect_expired(ClassicGroup const& group, GroupStore::Entry const& entry, Now now,
                                       std::vector<Record>& records) const {
  auto const is_empty = group.state() == GroupState::empty;
  bool is_all_expired = true;
  if (!entry.offsets.empty()) {
    // Kafka's conditions: nobody is there and has not been for the retention time; or the group is stable, knows its
    // topics, and no longer reads this one; or it never was more than a place for offsets.
    bool const is_read = group.protocol_type() && !is_empty &&
                         !(group.uses_consumer_protocol() && group.knows_subscriptions() && group.state() == GroupState::stable);
    if (is_read && !MR_MUTANT(hooks_, "expires_in_rebalance")) return true;
    auto const retention_ms = to_ms(config_.offsets_retention);
    auto const counts_from_empty = group.protocol_type() && is_empty && group.state_timestamp_ms() != -1;
    for (auto const& [topic, offsets] : entry.offsets) {
      if (group.is_subscribed(topic)) {
        is_all_expired = false;
        continue;
      }
      for (auto const& [partition, offset] : offsets) {
        auto const since = counts_from_empty ? group.state_timestamp_ms() : offset.commit_timestamp_ms;
        auto const is_expired = offset.expire_timestamp_ms != -1 ? now.wall.ms >= offset.expire_timestamp_ms
                                                                 : now.wall.ms - since >= retention_ms;
        if (!is_expired || store_.has_pending_offset(group.id(), topic, partition)) {
          is_all_expired = false;
          continue;
        }
        if (records.size() >= kTombstonesPerDecisionMax) return false;
        records.push_back(offset_tombstone(group.id(), topic, partition));
      }
    }
  }
  // A group without members and offsets is nothing. One with a member on its way is.
  if (!is_all_expired || !is_empty || !group.pending().empty() || store_.has_pending_offsets(group.id())) return true;
  if (records.size() >= kTombstonesPerDecisionMax) return false;
  records.push_back(group_tombstone(group.id()));
  return true;
}

void GroupCoordinator::clean_up(Now now, Effects& out) {
  auto const again_in = [&](Duration wait) { timers_.arm(cleanup_timer_, now.mono + wait, TimerKind::cleanup); };
  std::vector<Record> records;
  if (!deleted_topics_.empty()) collect_deleted_topics(records);
  if (records.empty()) {
    deleted_topics_.clear();
  } else {
    again_in(kRefusedTimerRetry);
    return decide(std::move(records), ThenCleanUp{cleanup_from_, false}, out);
  }
  auto at = store_.entries().lower_bound(cleanup_from_);
  for (size_t seen = 0; at != store_.entries().end() && seen < kGroupsPerCleanupMax; ++seen, ++at) {
    if (!collect_expired(*find(at->first), at->second, now, records)) break;
  }
  ThenCleanUp then{at == store_.entries().end() ? "" : at->first, at == store_.entries().end()};
  if (records.empty()) return go_on(std::move(then), now, out);
  again_in(kRefusedTimerRetry);
  decide(std::move(records), std::move(then), out);
}

void GroupCoordinator::go_on(ThenCleanUp then, Now now, Effects&) {
  cleanup_from_ = std::move(then.next_group);
  timers_.arm(cleanup_timer_, now.mono + (then.is_last ? config_.offsets_retention_check : Duration::zero()),
              TimerKind::cleanup);
}

void GroupCoordinator::undo(ThenCleanUp, ErrorCode, Now, Effects&) {}

}  // namespace millrace::coordinator
