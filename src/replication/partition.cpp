#include "millrace/replication/partition.h"

#include <algorithm>

#include "millrace/base/assert.h"

namespace millrace::replication {

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::done: return "done";
    case Outcome::not_leader: return "not_leader";
    case Outcome::fenced_leader_epoch: return "fenced_leader_epoch";
    case Outcome::unknown_leader_epoch: return "unknown_leader_epoch";
    case Outcome::offset_out_of_range: return "offset_out_of_range";
    case Outcome::not_enough_replicas: return "not_enough_replicas";
    case Outcome::not_enough_replicas_after_append: return "not_enough_replicas_after_append";
    case Outcome::timed_out: return "timed_out";
    case Outcome::storage_failed: return "storage_failed";
    case Outcome::not_a_replica: return "not_a_replica";
  }
  return "?";
}

void PartitionMachine::on_event(Event const& event, Mono now, Effects& out) {
  std::visit([&](auto const& e) { on(e, now, out); }, event);
  check_invariants();
}

void PartitionMachine::on(BecomeLeader const& event, Mono now, Effects& out) {
  // A later epoch only: metadata may repeat itself, and an old record may be replayed late.
  if (role_ != Role::none && event.epoch < epoch_) return;
  auto const is_new_epoch = role_ != Role::leader || event.epoch > epoch_;
  // Whoever waited was promised an answer of the old epoch, and its records may have been cut meanwhile.
  if (is_new_epoch) refuse_all(Outcome::not_leader, out);

  role_ = Role::leader;
  epoch_ = event.epoch;
  self_ = event.self;
  leader_ = event.self;
  min_in_sync_ = event.min_in_sync;
  counts_at_ = event.counts_at;
  if (is_new_epoch) {
    log_start_offset_ = event.log_start_offset;
    end_offset_ = event.end_offset;
    synced_offset_ = std::min(event.synced_offset, event.end_offset);
    auto const mark = std::clamp(event.high_watermark, event.log_start_offset, event.end_offset);
    out.mark_moved = out.mark_moved || mark != high_watermark_;
    high_watermark_ = mark;
    followers_.clear();
  }
  set_followers(event.replicas, event.in_sync_replicas);
  for (auto& follower : followers_) follower.caught_up_at = now;
  maybe_advance(out);
}

void PartitionMachine::on(BecomeFollower const& event, Mono, Effects& out) {
  if (role_ != Role::none && event.epoch < epoch_) return;
  refuse_all(Outcome::not_leader, out);
  role_ = Role::follower;
  epoch_ = event.epoch;
  leader_ = event.leader;
  followers_.clear();
  in_sync_count_ = 0;
  log_start_offset_ = event.log_start_offset;
  end_offset_ = event.end_offset;
  synced_offset_ = std::min(synced_offset_, end_offset_);
  high_watermark_ = std::clamp(event.high_watermark, event.log_start_offset, event.end_offset);
  out.mark_moved = true;
}

void PartitionMachine::on(ReplicasChanged const& event, Mono, Effects& out) {
  if (role_ != Role::leader) return;
  set_followers(event.replicas, event.in_sync_replicas);
  maybe_advance(out);
}

void PartitionMachine::on(RulesChanged const& event, Mono, Effects& out) {
  min_in_sync_ = event.min_in_sync;
  counts_at_ = event.counts_at;
  if (role_ == Role::leader) maybe_advance(out);
}

void PartitionMachine::on_appended(Appended const& event, Mono, Effects& out) {
  MR_ASSERT(event.end_offset >= end_offset_);
  end_offset_ = event.end_offset;
  if (role_ == Role::leader) maybe_advance(out);
}

void PartitionMachine::on(Synced const& event, Mono, Effects& out) {
  if (event.end_offset <= synced_offset_) return;
  // A sync that began before a cut may cover more than is left.
  synced_offset_ = std::min(event.end_offset, end_offset_);
  if (role_ != Role::leader) return;
  release_synced(out);
  maybe_advance(out);
}

void PartitionMachine::on(LogStartMoved const& event, Mono, Effects& out) {
  if (event.log_start_offset <= log_start_offset_) return;
  MR_ASSERT(event.log_start_offset <= high_watermark_ || role_ != Role::leader);
  log_start_offset_ = event.log_start_offset;
  if (high_watermark_ < log_start_offset_) {
    high_watermark_ = log_start_offset_;
    out.mark_moved = true;
  }
}

void PartitionMachine::on(FollowerFetched const& event, Mono now, Effects& out) {
  if (auto const outcome = check_epoch(event.leader_epoch); outcome != Outcome::done) {
    out.replies.push_back({event.ticket, outcome});
    return;
  }
  auto const follower = std::find_if(followers_.begin(), followers_.end(),
                                     [&](Follower const& f) { return f.id == event.replica; });
  if (follower == followers_.end()) {
    out.replies.push_back({event.ticket, Outcome::not_a_replica});
    return;
  }
  if (event.offset < log_start_offset_ || event.offset > end_offset_) {
    out.replies.push_back({event.ticket, Outcome::offset_out_of_range});
    return;
  }
  // Caught up means: it has now what the leader had at its last Fetch.
  if (event.offset >= end_offset_) follower->caught_up_at = now;
  else if (event.offset >= follower->leader_end_at_fetch) follower->caught_up_at = follower->fetched_at;
  follower->fetched_at = now;
  follower->leader_end_at_fetch = end_offset_;
  follower->end_offset = event.offset;
  if (!follower->is_in_sync && event.offset >= high_watermark_) out.caught_up.push_back(follower->id);
  out.replies.push_back({event.ticket, Outcome::done});
  maybe_advance(out);
}

void PartitionMachine::on_await_committed(AwaitCommitted const& event, Mono, Effects& out) {
  if (role_ != Role::leader) {
    out.replies.push_back({event.ticket, Outcome::not_leader});
    return;
  }
  insert(waiting_, event.after_offset, event.ticket);
  release(out);
}

void PartitionMachine::on(AwaitSynced const& event, Mono, Effects& out) {
  if (role_ != Role::leader) {
    out.replies.push_back({event.ticket, Outcome::not_leader});
    return;
  }
  insert(waiting_for_sync_, event.after_offset, event.ticket);
  release_synced(out);
}

void PartitionMachine::insert(Fifo<Waiting>& list, Offset after_offset, Ticket ticket) {
  auto const at = std::upper_bound(list.begin(), list.end(), after_offset,
                                   [](Offset offset, Waiting const& w) { return offset < w.after_offset; });
  list.insert(at, {after_offset, ticket});
}

// Whoever waits for a sync is answered when it is done, however long that takes, as Kafka's append would take.
void PartitionMachine::on(GiveUp const& event, Mono, Effects& out) {
  auto const at = std::find_if(waiting_.begin(), waiting_.end(), [&](Waiting const& w) { return w.ticket == event.ticket; });
  if (at == waiting_.end()) return;
  waiting_.erase(at);
  out.replies.push_back({event.ticket, Outcome::timed_out});
}

void PartitionMachine::on(Resign const& event, Mono, Effects& out) {
  refuse_all(event.why, out);
  role_ = Role::none;
  leader_ = kNoBroker;
  followers_.clear();
  in_sync_count_ = 0;
}

Outcome PartitionMachine::may_append(bool wants_all_replicas) const {
  if (role_ != Role::leader) return Outcome::not_leader;
  if (wants_all_replicas && is_under_min_in_sync()) return Outcome::not_enough_replicas;
  return Outcome::done;
}

Outcome PartitionMachine::check_epoch(LeaderEpoch request_epoch) const {
  if (request_epoch != kNoLeaderEpoch) {
    if (request_epoch < epoch_) return Outcome::fenced_leader_epoch;
    if (request_epoch > epoch_) return Outcome::unknown_leader_epoch;
  }
  return role_ == Role::leader ? Outcome::done : Outcome::not_leader;
}

bool PartitionMachine::is_replica(BrokerId broker) const {
  return broker == self_ ||
         std::any_of(followers_.begin(), followers_.end(), [&](Follower const& f) { return f.id == broker; });
}

// A topic with fewer replicas than min.insync.replicas asks for all of them, not for the impossible.
int32_t PartitionMachine::effective_min_in_sync() const {
  return std::min(min_in_sync_, static_cast<int32_t>(followers_.size()) + 1);
}

bool PartitionMachine::is_under_min_in_sync() const { return in_sync_count_ < effective_min_in_sync(); }

void PartitionMachine::set_followers(std::vector<BrokerId> const& replicas, std::vector<BrokerId> const& in_sync) {
  std::vector<Follower> next;
  auto const contains = [](std::vector<BrokerId> const& list, BrokerId id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (auto const id : replicas) {
    if (id == self_) continue;
    auto const known =
        std::find_if(followers_.begin(), followers_.end(), [&](Follower const& f) { return f.id == id; });
    auto follower = known != followers_.end() ? *known : Follower{.id = id};
    follower.is_in_sync = contains(in_sync, id);
    next.push_back(follower);
  }
  followers_ = std::move(next);
  in_sync_count_ = static_cast<int32_t>(
      1 + std::count_if(followers_.begin(), followers_.end(), [](Follower const& f) { return f.is_in_sync; }));
}

void PartitionMachine::maybe_advance(Effects& out) {
  if (is_under_min_in_sync()) return;
  auto mark = own_offset();
  if (MR_MUTANT(hooks_, "reply_before_sync")) mark = end_offset_;
  if (!MR_MUTANT(hooks_, "mark_is_end")) {
    for (auto const& follower : followers_) {
      if (follower.is_in_sync) mark = std::min(mark, follower.end_offset);
    }
  }
  if (mark > high_watermark_) {
    high_watermark_ = mark;
    out.mark_moved = true;
  }
  // Also when the mark stays: an ISR that has grown back lets waiting duplicates go.
  release(out);
}

void PartitionMachine::release(Effects& out) {
  while (!waiting_.empty() && waiting_.front().after_offset <= high_watermark_) {
    auto const outcome = is_under_min_in_sync() ? Outcome::not_enough_replicas_after_append : Outcome::done;
    out.replies.push_back({waiting_.front().ticket, outcome});
    waiting_.pop_front();
  }
}

void PartitionMachine::release_synced(Effects& out) {
  while (!waiting_for_sync_.empty() && waiting_for_sync_.front().after_offset <= synced_offset_) {
    out.replies.push_back({waiting_for_sync_.front().ticket, Outcome::done});
    waiting_for_sync_.pop_front();
  }
}

void PartitionMachine::refuse_all(Outcome why, Effects& out) {
  for (auto* list : {&waiting_, &waiting_for_sync_}) {
    for (auto const& waiting : *list) out.replies.push_back({waiting.ticket, why});
    list->clear();
  }
}

std::string PartitionMachine::text() const {
  auto out = fmt::format("{} epoch {} start {} mark {} end {}",
                         role_ == Role::leader ? "leader" : role_ == Role::follower ? "follower" : "none", epoch_,
                         log_start_offset_, high_watermark_, end_offset_);
  if (counts_at_ == LeaderCountsAt::synced) out += fmt::format(" synced {}", synced_offset_);
  for (auto const& f : followers_) out += fmt::format(" {}{}:{}", f.id, f.is_in_sync ? "" : "?", f.end_offset);
  if (!waiting_.empty()) {
    out += " waiting";
    for (auto const& w : waiting_) out += fmt::format(" #{}>{}", w.ticket, w.after_offset);
  }
  if (!waiting_for_sync_.empty()) {
    out += " waiting for sync";
    for (auto const& w : waiting_for_sync_) out += fmt::format(" #{}>{}", w.ticket, w.after_offset);
  }
  return out;
}

void PartitionMachine::check_invariants() const {
  MR_ASSERT(log_start_offset_ <= high_watermark_ || role_ == Role::none);
  MR_ASSERT(high_watermark_ <= end_offset_ || role_ == Role::none);
  MR_ASSERT(synced_offset_ <= end_offset_);
  MR_ASSERT(role_ == Role::leader || waiting_.empty());
  MR_ASSERT(std::is_sorted(waiting_.begin(), waiting_.end(),
                           [](Waiting const& a, Waiting const& b) { return a.after_offset < b.after_offset; }));
  MR_ASSERT(waiting_.empty() || waiting_.front().after_offset > high_watermark_);
  MR_ASSERT(role_ == Role::leader || waiting_for_sync_.empty());
  MR_ASSERT(waiting_for_sync_.empty() || waiting_for_sync_.front().after_offset > synced_offset_);
}

}  // namespace millrace::replication
