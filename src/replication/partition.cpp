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
    case Outcome::stale_broker_epoch: return "stale_broker_epoch";
  }
  return "?";
}

void PartitionMachine::on_event(Event const& event, Mono now, Effects& out) {
  auto const epoch = role_ == Role::leader ? epoch_ : kNoLeaderEpoch;
  auto const mark = high_watermark_;
  std::visit([&](auto const& e) { on(e, now, out); }, event);
  // Within one leader's epoch what was called committed stays so.
  bool const is_same_leadership = role_ == Role::leader && epoch_ == epoch;
  MR_ASSERT_VALUES(!is_same_leadership || high_watermark_ >= mark, "mark {} after {}", high_watermark_, mark);
  check_invariants();
}

void PartitionMachine::on(BecomeLeader const& event, Mono now, Effects& out) {
  // A later epoch only: metadata may repeat itself, and an old record may be replayed late.
  if (role_ != Role::none && event.epoch < epoch_) return;
  auto const is_new_epoch = role_ != Role::leader || event.epoch > epoch_;
  set_rules(event.min_in_sync, event.counts_at);
  if (!is_new_epoch) {
    on(ReplicasChanged{event.partition_epoch, event.replicas, event.in_sync_replicas}, now, out);
    return on(BrokersChanged{event.brokers}, now, out);
  }
  // Whoever waited was promised an answer of the old epoch, and its records may have been cut meanwhile.
  refuse_all(Outcome::not_leader, out);
  role_ = Role::leader;
  epoch_ = event.epoch;
  partition_epoch_ = event.partition_epoch;
  self_ = event.self;
  leader_ = event.self;
  lag_max_ = event.lag_max;
  log_start_offset_ = event.log_start_offset;
  end_offset_ = event.end_offset;
  epoch_start_ = event.end_offset;
  synced_offset_ = std::min(event.synced_offset, event.end_offset);
  auto const mark = std::clamp(event.high_watermark, event.log_start_offset, event.end_offset);
  out.mark_moved = out.mark_moved || mark != high_watermark_;
  high_watermark_ = mark;
  change_under_way_ = 0;
  may_ask_at_.reset();
  followers_.clear();
  set_followers(event.replicas, event.in_sync_replicas);
  set_brokers(event.brokers);
  // Who is in sync has the lag's whole span to show itself; of the others nothing is known.
  for (auto& follower : followers_) {
    if (follower.is_in_sync) follower.caught_up_at = now;
  }
  maybe_advance(now, out);
}

void PartitionMachine::on(BecomeFollower const& event, Mono, Effects& out) {
  if (role_ != Role::none && event.epoch < epoch_) return;
  refuse_all(Outcome::not_leader, out);
  role_ = Role::follower;
  epoch_ = event.epoch;
  leader_ = event.leader;
  counts_at_ = event.counts_at;
  followers_.clear();
  in_sync_count_ = 0;
  joining_count_ = 0;
  change_under_way_ = 0;
  log_start_offset_ = event.log_start_offset;
  end_offset_ = event.end_offset;
  synced_offset_ = std::min(event.synced_offset, end_offset_);
  high_watermark_ = std::clamp(event.high_watermark, event.log_start_offset, event.end_offset);
  out.mark_moved = true;
  // Without epochs nothing tells what the leader has not, so only what is committed is kept.
  bool const is_cut = (!event.has_epochs || MR_MUTANT(hooks_, "truncate_to_mark")) && high_watermark_ < end_offset_;
  if (is_cut) out.truncate_to = high_watermark_;
}

void PartitionMachine::set_rules(int32_t min_in_sync, LeaderCountsAt counts_at) {
  min_in_sync_ = min_in_sync;
  counts_at_ = counts_at;
}

void PartitionMachine::on(RulesChanged const& event, Mono now, Effects& out) {
  set_rules(event.min_in_sync, event.counts_at);
  if (role_ == Role::leader) maybe_advance(now, out);
}

void PartitionMachine::on_appended(Appended const& event, Mono now, Effects& out) {
  MR_ASSERT(event.end_offset >= end_offset_);
  end_offset_ = event.end_offset;
  if (role_ == Role::leader) maybe_advance(now, out);
}

void PartitionMachine::on(Synced const& event, Mono now, Effects& out) {
  if (event.end_offset <= synced_offset_) return;
  // A sync that began before a cut may cover more than is left.
  synced_offset_ = std::min(event.end_offset, end_offset_);
  if (role_ != Role::leader) return;
  release_synced(out);
  maybe_advance(now, out);
}

void PartitionMachine::on(LogStartMoved const& event, Mono, Effects& out) {
  if (event.log_start_offset <= log_start_offset_) return;
  MR_ASSERT(event.log_start_offset <= high_watermark_ || role_ != Role::leader);
  MR_ASSERT(event.log_start_offset <= end_offset_);
  log_start_offset_ = event.log_start_offset;
  if (high_watermark_ < log_start_offset_) {
    high_watermark_ = log_start_offset_;
    out.mark_moved = true;
  }
  release_log_start(out);
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

void PartitionMachine::on(AwaitLogStart const& event, Mono, Effects& out) {
  if (role_ != Role::leader) {
    out.replies.push_back({event.ticket, Outcome::not_leader});
    return;
  }
  insert(waiting_for_start_, event.offset, event.ticket);
  release_log_start(out);
}

void PartitionMachine::insert(Fifo<Waiting>& list, Offset after_offset, Ticket ticket) {
  auto const at = std::upper_bound(list.begin(), list.end(), after_offset,
                                   [](Offset offset, Waiting const& w) { return offset < w.after_offset; });
  list.insert(at, {after_offset, ticket});
}

// Whoever waits for a sync is answered when it is done, however long that takes, as Kafka's append would take.
void PartitionMachine::on(GiveUp const& event, Mono, Effects& out) {
  for (auto* list : {&waiting_, &waiting_for_start_}) {
    auto const at = std::find_if(list->begin(), list->end(), [&](Waiting const& w) { return w.ticket == event.ticket; });
    if (at == list->end()) continue;
    list->erase(at);
    out.replies.push_back({event.ticket, Outcome::timed_out});
    return;
  }
}

void PartitionMachine::on(Resign const& event, Mono, Effects& out) {
  refuse_all(event.why, out);
  role_ = Role::none;
  leader_ = kNoBroker;
  followers_.clear();
  in_sync_count_ = 0;
  joining_count_ = 0;
  change_under_way_ = 0;
}

Outcome PartitionMachine::may_append(bool wants_all_replicas) const {
  if (role_ != Role::leader) return Outcome::not_leader;
  if (wants_all_replicas && is_under_min_in_sync()) return Outcome::not_enough_replicas;
  return Outcome::done;
}

Outcome PartitionMachine::check_epoch(LeaderEpoch request_epoch) const {
  if (request_epoch != kNoLeaderEpoch && !MR_MUTANT(hooks_, "no_epoch_fencing")) {
    if (request_epoch < epoch_) return Outcome::fenced_leader_epoch;
    if (request_epoch > epoch_) return Outcome::unknown_leader_epoch;
  }
  return role_ == Role::leader ? Outcome::done : Outcome::not_leader;
}

// ---- A follower

bool PartitionMachine::may_apply(LeaderEpoch epoch, Offset asked) const {
  if (role_ != Role::follower) return false;
  if (epoch != epoch_) {
    MR_PROBE(hooks_, "partition.late_answer");
    if (!MR_MUTANT(hooks_, "truncation_not_fenced")) return false;
  }
  return asked == end_offset_;
}

bool PartitionMachine::may_fetch() const {
  if (role_ != Role::follower || leader_ == kNoBroker) return false;
  return counts_at_ == LeaderCountsAt::end || synced_offset_ >= end_offset_ || MR_MUTANT(hooks_, "fetch_before_sync");
}

Offset PartitionMachine::truncation_point(EpochEnd leaders, EpochEnd own) const {
  // Where this log does not know the leader's epoch, it is cut at the end of the one before and asks again.
  bool const is_shared = own.epoch == leaders.epoch || own.epoch == kNoLeaderEpoch || MR_MUTANT(hooks_, "one_step_truncation");
  if (own.epoch != leaders.epoch || own.end < leaders.end) MR_PROBE(hooks_, "partition.cut_below_leaders_epoch");
  auto point = is_shared ? leaders.end : own.end;
  if (own.epoch == leaders.epoch && !MR_MUTANT(hooks_, "one_step_truncation")) point = std::min(point, own.end);
  return std::min(point, end_offset_);
}

void PartitionMachine::on(Truncated const& event, Mono, Effects& out) {
  MR_ASSERT(role_ != Role::leader);
  MR_ASSERT(event.log_start_offset <= event.end_offset);
  log_start_offset_ = event.log_start_offset;
  end_offset_ = event.end_offset;
  synced_offset_ = std::min(synced_offset_, end_offset_);
  auto const mark = std::clamp(high_watermark_, log_start_offset_, end_offset_);
  if (mark == high_watermark_) return;
  high_watermark_ = mark;
  out.mark_moved = true;
}

void PartitionMachine::on(LeaderMarks const& event, Mono, Effects& out) {
  if (role_ != Role::follower || event.leader_epoch != epoch_) return;
  auto const mark = std::min(event.high_watermark, end_offset_);
  if (mark <= high_watermark_) return;
  high_watermark_ = mark;
  out.mark_moved = true;
}

// ---- Who waits

void PartitionMachine::release(Effects& out) {
  while (!waiting_.empty() && waiting_.front().after_offset <= high_watermark_) {
    // Who is just being taken in counts here, as it counts for the mark.
    bool const is_enough = in_sync_count_ + joining_count_ >= effective_min_in_sync() ||
                           MR_MUTANT(hooks_, "no_min_isr_after_append");
    out.replies.push_back({waiting_.front().ticket, is_enough ? Outcome::done : Outcome::not_enough_replicas_after_append});
    waiting_.pop_front();
  }
}

void PartitionMachine::release_synced(Effects& out) {
  while (!waiting_for_sync_.empty() && waiting_for_sync_.front().after_offset <= synced_offset_) {
    out.replies.push_back({waiting_for_sync_.front().ticket, Outcome::done});
    waiting_for_sync_.pop_front();
  }
}

void PartitionMachine::release_log_start(Effects& out) {
  if (waiting_for_start_.empty()) return;
  auto const low = low_watermark();
  while (!waiting_for_start_.empty() && waiting_for_start_.front().after_offset <= low) {
    out.replies.push_back({waiting_for_start_.front().ticket, Outcome::done});
    waiting_for_start_.pop_front();
  }
}

void PartitionMachine::refuse_all(Outcome why, Effects& out) {
  for (auto* list : {&waiting_, &waiting_for_sync_, &waiting_for_start_}) {
    for (auto const& waiting : *list) out.replies.push_back({waiting.ticket, why});
    list->clear();
  }
}

std::string PartitionMachine::text() const {
  auto out = fmt::format("{} epoch {} start {} mark {} end {}",
                         role_ == Role::leader ? "leader" : role_ == Role::follower ? "follower" : "none", epoch_,
                         log_start_offset_, high_watermark_, end_offset_);
  if (counts_at_ == LeaderCountsAt::synced) out += fmt::format(" synced {}", synced_offset_);
  for (auto const& f : followers_) {
    out += fmt::format(" {}{}:{}", f.id, f.is_in_sync ? "" : f.is_joining ? "+" : "?", f.end_offset);
  }
  if (change_under_way_ != 0) out += " changing";
  if (!waiting_.empty()) {
    out += " waiting";
    for (auto const& w : waiting_) out += fmt::format(" #{}>{}", w.ticket, w.after_offset);
  }
  if (!waiting_for_sync_.empty()) {
    out += " waiting for sync";
    for (auto const& w : waiting_for_sync_) out += fmt::format(" #{}>{}", w.ticket, w.after_offset);
  }
  if (!waiting_for_start_.empty()) {
    out += " waiting for start";
    for (auto const& w : waiting_for_start_) out += fmt::format(" #{}>{}", w.ticket, w.after_offset);
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
  MR_ASSERT(role_ == Role::leader || waiting_for_start_.empty());
  MR_ASSERT(role_ == Role::leader || followers_.empty());
  MR_ASSERT(role_ == Role::leader || change_under_way_ == 0);
  // Who counts without the controller's word does so only until its answer.
  MR_ASSERT(joining_count_ == 0 || change_under_way_ != 0);
  MR_ASSERT(role_ != Role::leader || epoch_start_ <= end_offset_);
  if (role_ != Role::leader) return;
  // Both sets that may be the in-sync one are counted: until the controller has answered, nobody is let go, and who joins
  // is not in sync yet.
  int32_t in_sync = 1;
  int32_t joining = 0;
  for (auto const& f : followers_) {
    in_sync += f.is_in_sync ? 1 : 0;
    joining += f.is_joining ? 1 : 0;
    MR_ASSERT(!f.is_in_sync || !f.is_joining);
  }
  MR_ASSERT(in_sync == in_sync_count_);
  MR_ASSERT(joining == joining_count_);
}

}  // namespace millrace::replication
