// The log as its epochs and marks tell it: appends, fetches, divergence, snapshots.
#include "millrace/base/assert.h"
#include "millrace/raft/machine.h"

namespace millrace::raft {

LogOp Machine::begin_op(Offset end) {
  pending_ops_.push_back({++op_issued_, end});
  return op_issued_;
}

void Machine::note_epoch(LeaderEpoch epoch, Offset start) {
  if (epochs_.empty() || epochs_.back().epoch < epoch) epochs_.push_back({epoch, start});
}

// The largest epoch at or below `epoch` and where its records end.
LogEnd Machine::end_of_epoch(LeaderEpoch epoch) const {
  auto end = log_end_.offset;
  for (auto it = epochs_.rbegin(); it != epochs_.rend(); ++it) {
    if (it->epoch <= epoch) return {end, it->epoch};
    end = it->start;
  }
  return log_start_;
}

void Machine::cut_to(Offset to) {
  while (!epochs_.empty() && epochs_.back().start >= to) epochs_.pop_back();
  while (voters_.size() > 1 && voters_.back().offset >= to) voters_.pop_back();
  for (auto& op : pending_ops_) op.end = std::min(op.end, to);
  log_end_ = {to, epochs_.empty() ? log_start_.epoch : epochs_.back().epoch};
  durable_end_ = std::min(durable_end_, to);
}

// ---- the leader's own appends

void Machine::on(event::AppendRequested const& e, Mono, Effects& out) {
  MR_ASSERT(e.record_count > 0);
  bool const leads = role_ == Role::leader && e.epoch == election_.epoch;
  if (!leads && !MR_MUTANT(*hooks_, "raft.append_without_leadership")) return out.push_back(effect::RefuseAppend{e.id});
  auto const base = log_end_.offset;
  note_epoch(election_.epoch, base);
  log_end_ = LogEnd{base + e.record_count, election_.epoch};
  out.push_back(effect::Append{begin_op(log_end_.offset), e.id, election_.epoch, base});
  // Followers may have it before it is on this disk: only what is on theirs counts.
  release_parked(false, out);
  if (MR_MUTANT(*hooks_, "raft.commit_at_append")) advance_high_watermark(out);
}

void Machine::advance_high_watermark(Effects& out) {
  if (role_ != Role::leader) return;
  std::vector<Offset> ends;
  for (auto const& p : progress_) {
    auto const own = MR_MUTANT(*hooks_, "raft.commit_at_append") ? log_end_.offset : durable_end_;
    ends.push_back(p.key.id == config_.self.id ? own : p.end);
  }
  std::sort(ends.begin(), ends.end(), std::greater<>());
  auto const mark = MR_MUTANT(*hooks_, "raft.mark_by_max") ? ends.front() : ends[ends.size() / 2];
  // Records of earlier epochs are committed only together with one of this epoch (Raft, section 5.4.2).
  if (mark <= epoch_start_ && !MR_MUTANT(*hooks_, "raft.commit_old_epoch")) return;
  if (mark < high_watermark_ || (mark == high_watermark_ && has_mark_)) return;
  has_mark_ = true;
  commit(mark, out);
  release_parked(true, out);
}

void Machine::advance_as_follower(Effects& out) {
  if (role_ != Role::follower) return;
  // All that it can have acknowledged and somebody called committed is on its disk again, and its epoch is that of a
  // leader in office.
  if (is_blank_ && leader_mark_ >= Offset{0} && durable_end_ >= leader_mark_) {
    MR_PROBE(*hooks_, "raft.blank_caught_up");
    remember(out);
  }
  auto const mark = std::min(durable_end_, leader_mark_);
  // The mark that it started with is told as well, once the leader knows it: if its log ends there, and nobody changes
  // anything, no higher one comes.
  if (mark < high_watermark_ || (mark == high_watermark_ && is_mark_told_)) return;
  commit(mark, out);
}

void Machine::commit(Offset mark, Effects& out) {
  high_watermark_ = mark;
  is_mark_told_ = true;
  out.push_back(effect::Committed{mark});
}

// ---- serving

std::optional<ErrorCode> Machine::refuse_as_leader(LeaderEpoch epoch) const {
  if (epoch < election_.epoch) return ErrorCode::fenced_leader_epoch;
  if (epoch > election_.epoch) return ErrorCode::unknown_leader_epoch;
  if (role_ != Role::leader) return ErrorCode::not_leader_or_follower;
  return std::nullopt;
}

FetchResponse Machine::answer_fetch(FetchRequest const& request) const {
  FetchResponse response;
  response.verdict = verdict();
  response.log_start = log_start_.offset;
  if (auto const error = refuse_as_leader(request.current_epoch)) {
    response.verdict.error = *error;
    return response;
  }
  if (has_mark_) response.high_watermark = high_watermark_;
  bool const is_from_nothing = request.offset == Offset{0} && request.last_epoch == LeaderEpoch{0};
  bool const is_before_start = request.offset < log_start_.offset ||
                               (request.offset == log_start_.offset && request.last_epoch != log_start_.epoch) ||
                               request.last_epoch < log_start_.epoch;
  // To whoever has nothing, a snapshot is the shorter way even where the log goes back far enough.
  if (snapshot_ && (is_before_start || request.offset == Offset{0})) {
    response.snapshot = snapshot_;
    return response;
  }
  auto const end = end_of_epoch(request.last_epoch);
  bool const is_same = is_from_nothing || (end.epoch == request.last_epoch && request.offset <= end.offset);
  if (!is_same && !MR_MUTANT(*hooks_, "raft.no_divergence_check")) {
    response.diverging = end;
    return response;
  }
  response.has_records = request.offset < log_end_.offset;
  return response;
}

void Machine::reply_fetch(Ticket ticket, FetchRequest const& request, FetchResponse response, Effects& out) {
  effect::Reply reply{ticket, {}, spoken_after()};
  if (response.has_records) {
    reply.records_from = request.offset;
    reply.bytes_max = request.bytes_max;
  }
  reply.response = std::move(response);
  out.push_back(std::move(reply));
}

void Machine::receive(Ticket ticket, FetchRequest const& r, Mono now, Effects& out) {
  FetchResponse refusal;
  if (!r.addressing.is_same_cluster || !r.addressing.is_metadata_log) {
    refusal.verdict.top =
        r.addressing.is_same_cluster ? ErrorCode::invalid_request : ErrorCode::inconsistent_cluster_id;
    return reply_fetch(ticket, r, refusal, out);
  }
  refusal.log_start = log_start_.offset;
  if (r.wait_max < Duration::zero() || r.offset < Offset{0} || r.last_epoch < LeaderEpoch{0} ||
      r.last_epoch > r.current_epoch || r.replica.id == config_.self.id) {
    refusal.verdict = verdict(ErrorCode::invalid_request);
    return reply_fetch(ticket, r, refusal, out);
  }
  auto response = answer_fetch(r);
  if (response.verdict.error == ErrorCode::none && !response.diverging && !response.snapshot) {
    record_fetch(r, now, out);
    response = answer_fetch(r);  // it may have been what was missing to commit
  }
  bool const waits = response.verdict.error == ErrorCode::none && !response.diverging && !response.snapshot &&
                     !response.has_records && r.wait_max > Duration::zero() &&
                     response.high_watermark <= r.high_watermark && parked_.size() < kParkedFetchesMax;
  if (!waits) return reply_fetch(ticket, r, std::move(response), out);
  auto const deadline = now + r.wait_max;
  parked_.push_back({ticket, r, deadline});
  auto const& armed = timers_[static_cast<size_t>(TimerKind::parked_fetch)];
  if (!armed || deadline < *armed) set_timer(TimerKind::parked_fetch, deadline, out);
}

void Machine::release_parked(bool all, Effects& out) {
  if (parked_.empty()) return;
  auto const parked = std::exchange(parked_, {});
  for (auto const& waiting : parked) {
    if (all || waiting.request.offset < log_end_.offset) {
      reply_fetch(waiting.ticket, waiting.request, answer_fetch(waiting.request), out);
    } else {
      parked_.push_back(waiting);
    }
  }
  if (parked_.empty()) cancel_timer(TimerKind::parked_fetch, out);
}

// They go to whoever leads now.
void Machine::fail_parked(Effects& out) {
  for (auto const& waiting : std::exchange(parked_, {})) {
    FetchResponse response;
    response.verdict = verdict(ErrorCode::not_leader_or_follower);
    response.log_start = log_start_.offset;
    reply_fetch(waiting.ticket, waiting.request, std::move(response), out);
  }
}

void Machine::on(event::Withdrawn const& e, Mono, Effects& out) {
  std::erase_if(parked_, [&](Parked const& p) { return p.ticket == e.ticket; });
  if (parked_.empty()) cancel_timer(TimerKind::parked_fetch, out);
}

ReplicaProgress* Machine::find_progress(ReplicaKey const& replica, Mono now) {
  if (replica.id < BrokerId{0}) return nullptr;  // not a replica
  for (auto& p : progress_) {
    if (p.key.id == replica.id && (p.key.directory.is_zero() || p.key.directory == replica.directory)) return &p;
  }
  auto const known =
      std::find_if(observers_.begin(), observers_.end(), [&](auto const& o) { return o.key == replica; });
  if (known != observers_.end()) return &*known;
  std::erase_if(observers_, [&](auto const& o) { return o.fetched_at && now - *o.fetched_at >= kObserverSession; });
  if (observers_.size() >= kObserversMax) observers_.erase(observers_.begin());
  observers_.push_back({});
  observers_.back().key = replica;
  return &observers_.back();
}

std::vector<ReplicaProgress> Machine::observer_progress(Mono now) const {
  auto out = observers_;
  std::erase_if(out, [&](auto const& o) { return o.fetched_at && now - *o.fetched_at >= kObserverSession; });
  return out;
}

// The offset that a replica asks for is how much it has on disk.
void Machine::record_fetch(FetchRequest const& request, Mono now, Effects& out) {
  auto* const p = find_progress(request.replica, now);
  if (p == nullptr) return;
  if (request.offset >= log_end_.offset) {
    p->caught_up_at = now;
  } else if (p->leader_end_at_fetch > Offset{0} && request.offset >= p->leader_end_at_fetch && p->fetched_at) {
    p->caught_up_at = std::max(p->caught_up_at.value_or(*p->fetched_at), *p->fetched_at);
  }
  p->leader_end_at_fetch = log_end_.offset;
  p->fetched_at = now;
  p->end = request.offset;
  p->has_acknowledged = true;
  record_contact(request.replica, now, out);
  advance_high_watermark(out);
}

void Machine::record_contact(ReplicaKey const& replica, Mono now, Effects& out) {
  size_t count = 0;
  for (auto& p : progress_) {
    if (p.key.id == replica.id && (p.key.directory.is_zero() || p.key.directory == replica.directory))
      p.has_fetched_lately = true;
    if (p.has_fetched_lately || p.key.id == config_.self.id) ++count;
  }
  if (is_sole_voter() || count < voters().majority()) return;
  for (auto& p : progress_) p.has_fetched_lately = false;
  set_timer(TimerKind::check_quorum, now + config_.fetch_timeout * 3 / 2, out);
}

void Machine::receive(Ticket ticket, FetchSnapshotRequest const& r, Mono now, Effects& out) {
  FetchSnapshotResponse response;
  response.id = r.id;
  response.position = r.position;
  effect::Reply reply{ticket, {}, spoken_after()};
  if (!r.addressing.is_same_cluster) {
    response.verdict.top = ErrorCode::inconsistent_cluster_id;
  } else if (!r.addressing.is_metadata_log) {
    response.verdict = verdict(ErrorCode::unknown_topic_or_partition);
  } else if (auto const error = refuse_as_leader(r.current_epoch)) {
    response.verdict = verdict(*error);
  } else {
    response.verdict = verdict();
    reply.bytes_max = r.bytes_max;
    record_contact(r.replica, now, out);
  }
  reply.response = response;
  out.push_back(std::move(reply));
}

// ---- following

void Machine::answered(BrokerId from, FetchResponse const& response, Mono now, Effects& out) {
  if (role_ != Role::follower || !pending_ops_.empty() || installing_) return;
  auto const refuse = [&](std::string_view what, Offset offset) {
    out.push_back(effect::Complaint{from, what, offset});
    back_off(peer(from), now, out);
  };
  if (response.diverging) {
    auto const theirs = *response.diverging;
    auto const ours = end_of_epoch(theirs.epoch);
    auto const to = ours.epoch == theirs.epoch ? std::min(ours.offset, theirs.offset) : ours.offset;
    if (to < high_watermark_) return refuse("wants committed records to be cut off, down to", to);
    if (to < log_start_.offset || to >= log_end_.offset) return refuse("wants a cut that changes nothing, to", to);
    MR_PROBE(*hooks_, "raft.truncated");
    cut_to(to);
    out.push_back(effect::Truncate{begin_op(to), to});
  } else if (response.snapshot) {
    auto const& id = *response.snapshot;
    bool const is_ahead = id.end_offset > high_watermark_ || MR_MUTANT(*hooks_, "raft.snapshot_below_mark");
    if (!is_ahead) return refuse("offers a snapshot of what is already committed here, up to", id.end_offset);
    if (id.epoch < LeaderEpoch{0} || id.epoch > election_.epoch)
      return refuse("offers a snapshot of another epoch, up to", id.end_offset);
    fetching_snapshot_ = id;
    snapshot_position_ = 0;
  } else {
    size_t count = 0;
    auto end = log_end_;
    for (auto const& batch : response.batches) {
      if (batch.base != end.offset || batch.next <= batch.base || batch.epoch < end.epoch ||
          batch.epoch > election_.epoch) {
        out.push_back(effect::Complaint{from, "sent a batch that does not fit, at", batch.base});
        break;
      }
      note_epoch(batch.epoch, batch.base);
      end = {batch.next, batch.epoch};
      ++count;
      if (!batch.voters && !batch.kraft_version) continue;
      voters_.push_back({batch.next - 1, batch.voters ? batch.voters : voters_.back().voters,
                         batch.kraft_version.value_or(voters_.back().kraft_version)});
    }
    if (count > 0) {
      auto const base = log_end_.offset;
      log_end_ = end;
      out.push_back(effect::AppendFetched{begin_op(end.offset), count, base, end.offset});
    } else if (!response.batches.empty()) {
      return back_off(peer(from), now, out);
    }
    leader_mark_ = std::max(leader_mark_, response.high_watermark);
    advance_as_follower(out);
  }
  has_fetched_ = true;
  on_contact(out);
  if (!is_observer()) set_timer(TimerKind::election, now + config_.fetch_timeout, out);
}

void Machine::answered(BrokerId from, FetchSnapshotResponse const& response, Mono now, Effects& out) {
  if (role_ != Role::follower || !fetching_snapshot_ || !pending_ops_.empty() || installing_) return;
  auto const start_over = [&] {
    fetching_snapshot_.reset();
    snapshot_position_ = 0;
  };
  if (response.verdict.error == ErrorCode::snapshot_not_found) {
    start_over();  // it was replaced by a newer one; the next Fetch says by which
  } else if (response.id != *fetching_snapshot_ || response.position != snapshot_position_ ||
             response.piece_bytes <= 0 || response.piece_bytes > response.snapshot_bytes - response.position) {
    out.push_back(
        effect::Complaint{from, "sent a piece of a snapshot that does not fit, at", Offset{response.position}});
    start_over();
    return back_off(peer(from), now, out);
  } else {
    bool const is_last = response.position + response.piece_bytes == response.snapshot_bytes;
    auto const op = begin_op(log_end_.offset);
    out.push_back(effect::WriteSnapshotPiece{op, response.id, response.position, is_last});
    snapshot_position_ += response.piece_bytes;
    if (is_last) {
      installing_ = op;
      fetched_snapshot_ = response.id;
    }
  }
  has_fetched_ = true;
  on_contact(out);
  if (!is_observer()) set_timer(TimerKind::election, now + config_.fetch_timeout, out);
}

void Machine::on(event::SnapshotInstalled const& e, Mono, Effects& out) {
  MR_ASSERT(installing_ == e.op);
  MR_ASSERT(fetched_snapshot_.has_value());
  MR_ASSERT(!pending_ops_.empty() && pending_ops_.front().op == e.op && pending_ops_.size() == 1);
  MR_PROBE(*hooks_, "raft.snapshot_installed");
  pending_ops_.clear();
  installing_.reset();
  snapshot_ = *std::exchange(fetched_snapshot_, std::nullopt);
  log_start_ = log_end_ = {snapshot_->end_offset, snapshot_->epoch};
  epochs_.clear();
  durable_end_ = log_end_.offset;
  auto const before = voters_.back();
  voters_.assign(1,
                 {Offset{-1}, e.voters ? e.voters : before.voters, e.kraft_version, before.is_unwritten && !e.voters});
  fetching_snapshot_.reset();
  snapshot_position_ = 0;
  if (high_watermark_ < log_end_.offset) commit(log_end_.offset, out);
}

void Machine::on(event::SnapshotRefused const& e, Mono now, Effects& out) {
  MR_ASSERT(installing_ == e.op);
  pending_ops_.clear();
  installing_.reset();
  fetched_snapshot_.reset();
  fetching_snapshot_.reset();
  snapshot_position_ = 0;
  if (role_ == Role::follower) back_off(peer(election_.leader), now, out);
}

void Machine::on(event::SnapshotTaken const& e, Mono, Effects&) {
  MR_ASSERT(e.id.end_offset <= high_watermark_);
  if (!snapshot_ || snapshot_->end_offset < e.id.end_offset) snapshot_ = e.id;
  if (e.log_start.offset <= log_start_.offset) return;
  MR_ASSERT(e.log_start.offset <= snapshot_->end_offset);
  log_start_ = e.log_start;
  while (!epochs_.empty() && (epochs_.size() > 1 ? epochs_[1].start : log_end_.offset) <= log_start_.offset)
    epochs_.erase(epochs_.begin());
  if (!epochs_.empty()) epochs_.front().start = std::max(epochs_.front().start, log_start_.offset);
  while (voters_.size() > 1 && voters_[1].offset < log_start_.offset) voters_.erase(voters_.begin());
}

}  // namespace millrace::raft
