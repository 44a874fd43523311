// What a leader knows of its followers: who has what, who is in sync, and what that commits.
#include <algorithm>

#include "millrace/base/assert.h"
#include "millrace/replication/partition.h"

namespace millrace::replication {
namespace {

// A controller that refuses an ISR change is not asked again by the next Fetch, a moment later.
constexpr Duration kRefusedWait = 500ms;

bool contains(std::vector<BrokerId> const& list, BrokerId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

// Under the broker epoch in which it fetched what it is known to have.
IsrChange::Member member(auto const& follower, [[maybe_unused]] Hooks& hooks) {
  if (MR_MUTANT(hooks, "no_broker_epoch_check")) return {follower.id, follower.broker.epoch};
  return {follower.id, follower.broker_epoch.value_or(-1)};
}

}  // namespace

void PartitionMachine::on(ReplicasChanged const& event, Mono now, Effects& out) {
  if (role_ != Role::leader || event.partition_epoch <= partition_epoch_) return;
  partition_epoch_ = event.partition_epoch;
  // Whatever was asked for is settled: it is in here, or it can no longer be applied.
  change_under_way_ = 0;
  set_followers(event.replicas, event.in_sync_replicas);
  maybe_advance(now, out);
  release_log_start(out);
}

void PartitionMachine::on(BrokersChanged const& event, Mono now, Effects& out) {
  if (role_ != Role::leader) return;
  set_brokers(event.brokers);
  maybe_advance(now, out);
  release_log_start(out);
}

void PartitionMachine::on(CheckInSync const&, Mono now, Effects& out) {
  if (role_ != Role::leader || change_under_way_ != 0) return;
  if (may_ask_at_ && now < *may_ask_at_) return;
  IsrChange change;
  change.is_shrink = true;
  change.members.push_back({self_, -1});
  size_t gone = 0;
  for (auto const& follower : followers_) {
    if (!follower.is_in_sync) continue;
    if (is_caught_up(follower, now)) change.members.push_back(member(follower, hooks_));
    else ++gone;
  }
  if (gone > 0) ask(std::move(change), out);
}

void PartitionMachine::on(IsrAnswered const& event, Mono now, Effects& out) {
  if (role_ != Role::leader || event.change == 0 || event.change != change_under_way_) return;
  // Nobody knows what the controller did; the larger set counts until the metadata log says so.
  if (event.verdict == IsrVerdict::outdated) return;
  if (event.verdict == IsrVerdict::accepted) {
    if (event.partition_epoch < partition_epoch_) return;
    // Who leaves may be eligible by a min.insync.replicas that is not known here yet, and would lack what the old number
    // commits. The metadata log tells of both, in order.
    if (is_shrinking_ && event.partition_epoch > partition_epoch_) return;
    partition_epoch_ = event.partition_epoch;
    for (auto& follower : followers_) follower.is_in_sync = contains(event.in_sync_replicas, follower.id);
  } else {
    may_ask_at_ = now + kRefusedWait;
  }
  change_under_way_ = 0;
  in_sync_count_ = 1;
  joining_count_ = 0;
  for (auto& follower : followers_) {
    follower.is_joining = false;
    if (follower.is_in_sync) ++in_sync_count_;
  }
  maybe_advance(now, out);
}

void PartitionMachine::on(FollowerFetched const& event, Mono now, Effects& out) {
  auto const reply = [&](Outcome outcome) { out.replies.push_back({event.ticket, outcome}); };
  if (auto const outcome = check_epoch(event.leader_epoch); outcome != Outcome::done) return reply(outcome);
  auto const follower = std::find_if(followers_.begin(), followers_.end(),
                                     [&](Follower const& f) { return f.id == event.replica; });
  if (follower == followers_.end()) return reply(Outcome::not_a_replica);
  // What lies below its end is not what lies here.
  if (event.is_diverging) {
    MR_PROBE(hooks_, "partition.diverging_fetch");
    if (!MR_MUTANT(hooks_, "diverging_fetch_counts")) return reply(Outcome::done);
  }
  if (event.offset < log_start_offset_ || event.offset > end_offset_) return reply(Outcome::offset_out_of_range);
  // It has started again since this Fetch was sent, and may have lost what the Fetch promises.
  bool const is_stale = event.broker_epoch != -1 && event.broker_epoch < follower->broker.epoch;
  if (is_stale) {
    MR_PROBE(hooks_, "partition.fetch_of_an_earlier_life");
    if (!MR_MUTANT(hooks_, "no_broker_epoch_check")) return reply(Outcome::stale_broker_epoch);
  }

  // Caught up means: it has now what the leader had at its last Fetch.
  if (event.offset >= end_offset_) follower->caught_up_at = now;
  else if (follower->end_offset >= Offset(0) && event.offset >= follower->leader_end_at_fetch) follower->caught_up_at = follower->fetched_at;
  follower->fetched_at = now;
  follower->leader_end_at_fetch = end_offset_;
  follower->end_offset = event.offset;
  follower->log_start_offset = event.log_start_offset;
  follower->broker_epoch = event.broker_epoch;
  maybe_expand(*follower, now, out);
  reply(Outcome::done);
  maybe_advance(now, out);
  release_log_start(out);
}

void PartitionMachine::maybe_expand(Follower& follower, Mono now, Effects& out) {
  if (follower.is_in_sync || change_under_way_ != 0) return;
  if (may_ask_at_ && now < *may_ask_at_) return;
  if (!may_join(follower) || !has_joined_log(follower)) return;
  IsrChange change;
  change.members.push_back({self_, -1});
  for (auto const& other : followers_) {
    if (other.is_in_sync || &other == &follower) change.members.push_back(member(other, hooks_));
  }
  // From here on the mark waits for it: the controller may have taken it in before we hear of that.
  follower.is_joining = true;
  ++joining_count_;
  ask(std::move(change), out);
}

void PartitionMachine::ask(IsrChange change, Effects& out) {
  MR_ASSERT(change_under_way_ == 0);
  check_change(change);
  change_under_way_ = ++changes_;
  is_shrinking_ = change.is_shrink;
  change.id = change_under_way_;
  change.leader_epoch = epoch_;
  change.partition_epoch = partition_epoch_;
  out.isr_change = std::move(change);
}

bool PartitionMachine::is_caught_up(Follower const& follower, Mono now) const {
  if (follower.end_offset == end_offset_) return true;
  return follower.caught_up_at && now - *follower.caught_up_at <= lag_max_;
}

// The controller would refuse anybody else.
bool PartitionMachine::may_join(Follower const& follower) const {
  if (!follower.broker.is_alive || follower.broker.is_leaving || !follower.broker_epoch) return false;
  if (MR_MUTANT(hooks_, "no_broker_epoch_check")) return true;
  return *follower.broker_epoch == -1 || *follower.broker_epoch == follower.broker.epoch;
}

// It holds all that was committed under earlier leaders: the mark alone may still be behind that.
bool PartitionMachine::has_joined_log(Follower const& follower) const {
  if (MR_MUTANT(hooks_, "expand_early")) return follower.end_offset >= log_start_offset_;
  return follower.end_offset >= high_watermark_ && follower.end_offset >= epoch_start_;
}

bool PartitionMachine::is_replica(BrokerId broker) const {
  return broker == self_ ||
         std::any_of(followers_.begin(), followers_.end(), [&](Follower const& f) { return f.id == broker; });
}

// A topic with fewer replicas than min.insync.replicas asks for all of them, not for the impossible.
int32_t PartitionMachine::effective_min_in_sync() const { return std::min(min_in_sync_, replica_count()); }

bool PartitionMachine::is_under_min_in_sync() const { return in_sync_count_ < effective_min_in_sync(); }

int64_t PartitionMachine::lag_max() const {
  int64_t out = 0;
  for (auto const& follower : followers_) {
    if (follower.broker.is_alive) out = std::max(out, end_offset_ - std::max(follower.end_offset, log_start_offset_));
  }
  return out;
}

void PartitionMachine::list_followers(std::vector<FollowerView>& out) const {
  out.clear();
  for (auto const& f : followers_) {
    out.push_back({f.id, f.end_offset, f.log_start_offset, f.caught_up_at, f.is_in_sync, f.broker.epoch});
  }
}

Offset PartitionMachine::low_watermark() const {
  auto out = log_start_offset_;
  for (auto const& follower : followers_) {
    if (follower.broker.is_alive) out = std::min(out, follower.log_start_offset);
  }
  return out;
}

void PartitionMachine::set_followers(std::vector<BrokerId> const& replicas, std::vector<BrokerId> const& in_sync) {
  std::vector<Follower> next;
  in_sync_count_ = 1;
  joining_count_ = 0;
  for (auto const id : replicas) {
    if (id == self_) continue;
    auto const known =
        std::find_if(followers_.begin(), followers_.end(), [&](Follower const& f) { return f.id == id; });
    Follower follower;
    if (known != followers_.end()) follower = *known;
    follower.id = id;
    follower.broker.id = id;
    follower.is_in_sync = contains(in_sync, id);
    follower.is_joining = false;
    if (follower.is_in_sync) ++in_sync_count_;
    next.push_back(follower);
  }
  followers_ = std::move(next);
}

void PartitionMachine::set_brokers(std::vector<BrokerFact> const& brokers) {
  for (auto& follower : followers_) {
    auto const known = std::find_if(brokers.begin(), brokers.end(), [&](BrokerFact const& b) { return b.id == follower.id; });
    follower.broker = known != brokers.end() ? *known : BrokerFact{.id = follower.id};
  }
}

// A mark says: whoever may lead next has what lies below it.
void PartitionMachine::check_next_mark(Offset mark) const {
  MR_ASSERT_VALUES(mark <= own_offset() || MR_MUTANT(hooks_, "reply_before_sync"),
                   "mark {}: the leader counts itself at {}", mark, own_offset());
  MR_ASSERT_VALUES(!is_under_min_in_sync() || MR_MUTANT(hooks_, "no_min_isr_after_append"),
                   "mark {}: it moves only while min.insync.replicas are, not {}", mark, in_sync_count_);
  for (auto const& f : followers_) {
    // Who is being taken in or put out counts until the controller has answered: the larger set. What a follower told
    // in an earlier epoch is not known here (-1).
    if (f.end_offset >= mark || !(f.is_in_sync || f.is_joining)) continue;
    bool const is_switched_off = MR_MUTANT(hooks_, "mark_is_end") || MR_MUTANT(hooks_, "mark_counts_anyone") ||
                                 MR_MUTANT(hooks_, "mark_uses_smaller_set");
    MR_ASSERT_VALUES(is_switched_off, "mark {}: follower {} has told of {} in this epoch", mark, f.id, f.end_offset);
  }
}

// The in-sync set grows by who has all that was committed before and in this epoch, in the life in which it told so.
void PartitionMachine::check_change(IsrChange const& change) const {
  for (auto const& member : change.members) {
    if (member.id == self_) continue;
    auto const f = std::find_if(followers_.begin(), followers_.end(),
                                [&](Follower const& one) { return one.id == member.id; });
    MR_ASSERT_VALUES(f != followers_.end(), "{} is no replica", member.id);
    if (f->is_in_sync) continue;
    MR_ASSERT_VALUES(!change.is_shrink, "{} is not in sync", member.id);
    bool const has_all = f->end_offset >= high_watermark_ && f->end_offset >= epoch_start_;
    MR_ASSERT_VALUES(has_all || MR_MUTANT(hooks_, "expand_early"), "{} has told of {}, mark {}, epoch start {}",
                     f->id, f->end_offset, high_watermark_, epoch_start_);
    bool const is_of_this_life = member.broker_epoch == f->broker_epoch &&
                                 (member.broker_epoch == -1 || member.broker_epoch == f->broker.epoch);
    MR_ASSERT_VALUES(is_of_this_life || MR_MUTANT(hooks_, "no_broker_epoch_check"),
                     "{} fetched under broker epoch {}, it has {}", f->id, member.broker_epoch, f->broker.epoch);
    MR_ASSERT_VALUES(f->broker.is_alive && !f->broker.is_leaving, "{} is not to lead", f->id);
  }
}

void PartitionMachine::maybe_advance(Mono now, Effects& out) {
  if (is_under_min_in_sync() && !MR_MUTANT(hooks_, "no_min_isr_after_append")) return;
  auto mark = own_offset();
  if (MR_MUTANT(hooks_, "reply_before_sync")) mark = end_offset_;
  auto const counts = [&](Follower const& follower) {
    if (follower.is_in_sync) return true;
    if (MR_MUTANT(hooks_, "mark_uses_smaller_set")) return false;
    // One that is about to join is waited for, or the mark would run ahead of it for ever.
    return follower.is_joining || (may_join(follower) && is_caught_up(follower, now));
  };
  if (MR_MUTANT(hooks_, "mark_counts_anyone")) {
    // The fastest followers make up the number, whether they are in sync or not.
    std::vector<Offset> ends;
    for (auto const& follower : followers_) ends.push_back(follower.end_offset);
    std::sort(ends.begin(), ends.end(), std::greater<>());
    for (int32_t i = 0; i + 1 < in_sync_count_ && i < static_cast<int32_t>(ends.size()); ++i) {
      mark = std::min(mark, ends[static_cast<size_t>(i)]);
    }
  } else if (!MR_MUTANT(hooks_, "mark_is_end")) {
    for (auto const& follower : followers_) {
      if (follower.end_offset < mark && counts(follower)) mark = follower.end_offset;
    }
  }
  if (mark > high_watermark_) {
    check_next_mark(mark);
    high_watermark_ = mark;
    out.mark_moved = true;
  }
  // Also when the mark stays: an ISR that has grown back lets waiting duplicates go.
  release(out);
}

}  // namespace millrace::replication
