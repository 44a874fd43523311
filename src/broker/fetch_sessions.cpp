#include "millrace/broker/fetch_sessions.h"

#include <algorithm>

namespace millrace::broker {

ErrorCode FetchSessions::update(int32_t id, int32_t epoch, bool is_by_id, std::vector<FetchItem> changed,
                                std::vector<FetchItem> const& forgotten, Mono now, std::vector<FetchItem>& items) {
  std::lock_guard lock(mutex_);
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return ErrorCode::fetch_session_id_not_found;
  auto& session = found->second;
  if (session.epoch_ != epoch) return ErrorCode::invalid_fetch_session_epoch;
  if (session.is_by_id_ != is_by_id) return ErrorCode::fetch_session_topic_id_error;
  session.used_ = now;

  auto const count_before = session.entries_.size();
  for (auto& item : changed) {
    auto const key = FetchSession::key_of(item);
    if (auto const known = session.index_.find(key); known != session.index_.end()) {
      known->second->item = std::move(item);
      continue;
    }
    session.entries_.push_back({std::move(item), {}});
    session.index_.emplace(key, std::prev(session.entries_.end()));
  }
  for (auto const& item : forgotten) {
    auto const known = session.index_.find(FetchSession::key_of(item));
    if (known == session.index_.end()) continue;
    session.entries_.erase(known->second);
    session.index_.erase(known);
  }
  partition_count_ += session.entries_.size() - count_before;
  session.epoch_ = next_epoch(session.epoch_);
  items.reserve(session.entries_.size());
  for (auto const& entry : session.entries_) items.push_back(entry.item);
  return ErrorCode::none;
}

void FetchSessions::remove(int32_t id) {
  std::lock_guard lock(mutex_);
  if (auto const found = sessions_.find(id); found != sessions_.end()) remove_locked(found);
}

void FetchSessions::remove_locked(std::unordered_map<int32_t, FetchSession>::iterator session) {
  partition_count_ -= session->second.entries_.size();
  sessions_.erase(session);
}

// As Kafka: first one that nobody has used for a while, then a smaller one that is not young. Sessions of followers are
// kept in favour of those of consumers.
bool FetchSessions::make_room(size_t partition_count, bool is_follower, Mono now) {
  if (session_count_max_ == 0 || partition_count > kPartitionsMax) return false;
  while (sessions_.size() >= session_count_max_ || partition_count_ + partition_count > kPartitionsMax) {
    auto victim = sessions_.end();
    bool is_victim_stale = false;
    for (auto it = sessions_.begin(); it != sessions_.end(); ++it) {
      auto const& session = it->second;
      bool const is_stale = now - session.used_ > kEvictionAge;
      bool const is_smaller = session.entries_.size() < partition_count && now - session.created_ > kEvictionAge;
      bool const is_lesser = is_follower && !session.is_follower_;
      if (!is_stale && !is_smaller && !is_lesser) continue;
      if (victim == sessions_.end() || (is_stale && !is_victim_stale) ||
          (is_stale == is_victim_stale && session.used_ < victim->second.used_)) {
        victim = it;
        is_victim_stale = is_stale;
      }
    }
    if (victim == sessions_.end()) return false;
    remove_locked(victim);
  }
  return true;
}

int32_t FetchSessions::create(std::vector<FetchItem> items, std::vector<FetchTold> const& told, bool is_by_id,
                              bool is_follower, Mono now) {
  std::lock_guard lock(mutex_);
  if (!make_room(items.size(), is_follower, now)) return kNoSession;
  int32_t id = kNoSession;
  while (id == kNoSession || sessions_.contains(id)) id = static_cast<int32_t>(random_.below(INT32_MAX)) + 1;
  auto& session = sessions_[id];
  session.id_ = id;
  session.is_by_id_ = is_by_id;
  session.is_follower_ = is_follower;
  session.created_ = now;
  session.used_ = now;
  for (size_t i = 0; i < items.size(); ++i) {
    auto key = FetchSession::key_of(items[i]);
    if (session.index_.contains(key)) continue;
    session.entries_.push_back({std::move(items[i]), told[i]});
    session.index_.emplace(std::move(key), std::prev(session.entries_.end()));
  }
  partition_count_ += session.entries_.size();
  return id;
}

ErrorCode FetchSessions::answer(int32_t id, int32_t epoch, std::vector<Answered> const& answered,
                                std::vector<bool>& is_told) {
  is_told.assign(answered.size(), false);
  std::lock_guard lock(mutex_);
  auto const found = sessions_.find(id);
  // Evicted meanwhile: the client learns it with its next request.
  if (found != sessions_.end() && found->second.epoch_ != next_epoch(epoch)) return ErrorCode::invalid_fetch_session_epoch;
  for (size_t i = 0; i < answered.size(); ++i) {
    auto const& one = answered[i];
    bool must_tell = one.has_bytes || one.has_error || one.must_be_told;
    if (found != sessions_.end()) {
      auto& session = found->second;
      auto const known = session.index_.find(FetchSession::key_of(*one.item));
      if (known != session.index_.end()) {
        auto& entry = *known->second;
        must_tell = must_tell || entry.told.high_watermark != one.told.high_watermark ||
                    entry.told.log_start_offset != one.told.log_start_offset;
        entry.told = one.told;
        // After an error the next good answer must say so, even if nothing else has changed.
        if (one.has_error) entry.told.high_watermark = -1;
        // Who got bytes is served last the next time.
        if (one.has_bytes) session.entries_.splice(session.entries_.end(), session.entries_, known->second);
      }
    }
    is_told[i] = must_tell;
  }
  return ErrorCode::none;
}

ErrorCode FetchSessions::check_answer(int32_t id, int32_t epoch) const {
  std::lock_guard lock(mutex_);
  auto const found = sessions_.find(id);
  bool const is_late = found != sessions_.end() && found->second.epoch_ != next_epoch(epoch);
  return is_late ? ErrorCode::invalid_fetch_session_epoch : ErrorCode::none;
}

size_t FetchSessions::session_count() const {
  std::lock_guard lock(mutex_);
  return sessions_.size();
}

size_t FetchSessions::partition_count() const {
  std::lock_guard lock(mutex_);
  return partition_count_;
}

}  // namespace millrace::broker
