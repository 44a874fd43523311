#include "millrace/raft/machine.h"

#include "millrace/base/assert.h"

namespace millrace::raft {
namespace {

constexpr int kCheckQuorumPercent = 150;  // of the fetch timeout

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::unattached: return "unattached";
    case Role::prospective: return "prospective";
    case Role::candidate: return "candidate";
    case Role::leader: return "leader";
    case Role::follower: return "follower";
    case Role::resigned: return "resigned";
  }
  return "?";
}

Result<Machine> Machine::create(MachineConfig config, LoadedState loaded, Hooks& hooks) {
  auto const& voters = loaded.voters.voters;
  if (voters.size() == 1 && voters.front().key.id == config.self.id && !loaded.voters.contains(config.self)) {
    auto const& voter = voters.front().key;
    return Error{
        ErrorKind::unsupported,
        fmt::format("start the metadata quorum: this node is {} in directory {}, the only voter is {} in directory {}",
                    config.self.id, config.self.directory, voter.id, voter.directory)};
  }
  // As Kafka does: a copy of quorum-state that is older than the log says nothing any more.
  if (loaded.election && loaded.election->epoch < loaded.log_end.epoch) loaded.election.reset();
  if (loaded.high_watermark > loaded.log_end.offset) {
    return Error{ErrorKind::corrupt,
                 fmt::format("start the metadata quorum: the newest snapshot ends at {}, the log at {}",
                             loaded.high_watermark, loaded.log_end.offset)};
  }
  auto const is_known = [&] {
    if (loaded.log_start.offset > loaded.log_end.offset) return false;
    if (loaded.epochs.empty()) return loaded.log_start == loaded.log_end;
    if (loaded.epochs.front().start != loaded.log_start.offset || loaded.epochs.back().epoch != loaded.log_end.epoch)
      return false;
    for (size_t i = 1; i < loaded.epochs.size(); ++i) {
      if (loaded.epochs[i - 1].epoch >= loaded.epochs[i].epoch || loaded.epochs[i - 1].start >= loaded.epochs[i].start)
        return false;
    }
    return loaded.epochs.back().start < loaded.log_end.offset;
  };
  if (!is_known()) {
    return Error{ErrorKind::corrupt,
                 fmt::format("start the metadata quorum: the leader epochs do not describe the log from {} to {}",
                             loaded.log_start.offset, loaded.log_end.offset)};
  }
  return Machine(std::move(config), std::move(loaded), hooks);
}

Machine::Machine(MachineConfig config, LoadedState loaded, Hooks& hooks)
    : config_(std::move(config)),
      hooks_(&hooks),
      random_(config_.seed),
      election_(loaded.election.value_or(ElectionState{loaded.log_end.epoch, kNoBroker, {}})),
      log_start_(loaded.log_start),
      log_end_(loaded.log_end),
      epochs_(std::move(loaded.epochs)),
      snapshot_(loaded.snapshot),
      durable_end_(loaded.log_end.offset),
      high_watermark_(loaded.high_watermark),
      is_mark_told_(loaded.high_watermark == Offset{0}) {
  voters_.push_back({Offset{-1}, std::make_shared<VoterSet const>(std::move(loaded.voters)), loaded.kraft_version,
                     loaded.voters_are_unwritten});
  // A sole voter has promised nobody anything.
  is_blank_ = !loaded.election && !is_observer() && !is_sole_voter() && !MR_MUTANT(*hooks_, "raft.blank_votes");
}

void Machine::on_event(Event const& event, Mono now, Effects& out) {
  std::visit([&](auto const& e) { on(e, now, out); }, event);
  send_what_is_due(now, out);
}

// ---- start

void Machine::on(event::Started const&, Mono now, Effects& out) {
  MR_ASSERT(role_ == Role::unattached);
  // The only voter has nobody to wait for.
  if (is_sole_voter()) return become_candidate(now, out);
  if (election_.leader == config_.self.id && !is_observer()) {
    // It cannot lead this epoch any more: what it wrote in it may not have reached the disk.
    become_resigned(now, out);
  } else if (election_.leader != kNoBroker && election_.leader != config_.self.id) {
    become_follower(election_.epoch, election_.leader, now, out);
  } else if (election_.has_voted_for(config_.self) && !is_observer()) {
    // Leadership is durable before its first word, so nobody has heard of any: the election can go on.
    role_ = Role::candidate;
    for (auto const& voter : voters().voters) ballots_.push_back({voter.key.id, {}});
    set_timer(TimerKind::election, now + random_election_timeout(), out);
    count_votes(now, out);
  } else {
    election_.leader = kNoBroker;
    if (!is_observer()) set_timer(TimerKind::election, now + random_election_timeout(), out);
  }
}

// ---- roles

bool Machine::is_sole_voter() const { return voters().voters.size() == 1 && voters().contains(config_.self); }

Verdict Machine::verdict(ErrorCode error) const { return {ErrorCode::none, error, election_.leader, election_.epoch}; }

void Machine::persist(ElectionState state, Effects& out) {
  if (state == election_ && write_issued_ > 0) return;
  MR_ASSERT_VALUES(state.epoch >= election_.epoch, "epoch {} after {}", state.epoch, election_.epoch);
  election_ = std::move(state);
  if (is_blank_ && !election_.voted) return;
  remember(out);
}

void Machine::remember(Effects& out) {
  is_blank_ = false;
  out.push_back(effect::PersistElection{++write_issued_, election_});
}

void Machine::tell_leader(Effects& out) {
  if (told_leader_ == election_.leader && told_epoch_ == election_.epoch) return;
  told_leader_ = election_.leader;
  told_epoch_ = election_.epoch;
  out.push_back(effect::LeaderKnown{told_leader_, told_epoch_});
}

// What belongs to the role that ends. Parked fetches are answered by the new one, which the caller has entered.
void Machine::leave_role(Effects& out) {
  bool const was_leader = role_ == Role::leader;
  auto const epoch = election_.epoch;
  for (size_t kind = 0; kind < kTimerKinds; ++kind) {
    if (static_cast<TimerKind>(kind) == TimerKind::retry) continue;
    cancel_timer(static_cast<TimerKind>(kind), out);
  }
  reset_peers();
  ballots_.clear();
  has_fetched_ = false;
  is_hurried_ = false;
  has_asked_early_ = false;
  fetching_snapshot_.reset();
  snapshot_position_ = 0;
  leader_mark_ = Offset{-1};
  epoch_start_ = Offset{-1};
  has_mark_ = false;
  progress_.clear();
  observers_.clear();
  unacknowledged_.clear();
  successors_.clear();
  if (was_leader) out.push_back(effect::LostLeadership{epoch});
}

void Machine::become_unattached(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out) {
  MR_ASSERT(epoch > election_.epoch || role_ == Role::prospective);
  // A voter that was waiting for an election goes on waiting; whoever lost a vote waits anew.
  auto const remaining = timers_[static_cast<size_t>(TimerKind::election)];
  bool const was_waiting = (role_ == Role::candidate || role_ == Role::unattached || role_ == Role::prospective ||
                            role_ == Role::resigned) &&
                           remaining;
  leave_role(out);
  role_ = Role::unattached;
  ElectionState state{epoch, leader, {}};
  if (epoch == election_.epoch) state.voted = election_.voted;
  persist(std::move(state), out);
  if (!is_observer()) set_timer(TimerKind::election, was_waiting ? *remaining : now + random_election_timeout(), out);
  tell_leader(out);
  fail_parked(out);
}

// Asks whether an election would be won before the epoch is raised; what is known of a leader stays known.
void Machine::become_prospective(Mono now, Effects& out) {
  MR_ASSERT(!is_observer());
  MR_ASSERT(role_ != Role::leader);
  MR_ASSERT(!may_have_forgotten(log_end_));
  if (MR_MUTANT(*hooks_, "raft.pre_vote_raises_epoch")) persist({election_.epoch + 1, kNoBroker, {}}, out);
  bool const is_hurried = is_hurried_;
  leave_role(out);
  is_hurried_ = is_hurried;
  role_ = Role::prospective;
  for (auto const& voter : voters().voters) ballots_.push_back({voter.key.id, {}});
  set_timer(TimerKind::election, now + random_election_timeout(), out);
  MR_PROBE(*hooks_, "raft.prospective");
  count_votes(now, out);
}

void Machine::become_candidate(Mono now, Effects& out) {
  MR_ASSERT(!is_observer());
  MR_ASSERT(role_ == Role::prospective || is_sole_voter());
  bool const is_hurried = is_hurried_;
  leave_role(out);
  is_hurried_ = is_hurried;
  role_ = Role::candidate;
  persist({election_.epoch + 1, kNoBroker, config_.self}, out);
  for (auto const& voter : voters().voters) ballots_.push_back({voter.key.id, {}});
  if (!is_sole_voter()) set_timer(TimerKind::election, now + random_election_timeout(), out);
  tell_leader(out);
  // Its own vote counts once it is durable.
}

void Machine::become_leader(Mono now, Effects& out) {
  MR_ASSERT(role_ == Role::candidate);
  effect::AppendLeaderChange change;
  for (auto const& ballot : ballots_) {
    if (ballot.is_granted != true) continue;
    auto const* voter = voters().find(ballot.voter);
    change.granting_voters.push_back(voter->key);
  }
  leave_role(out);
  role_ = Role::leader;
  if (MR_MUTANT(*hooks_, "raft.leadership_not_durable")) {
    election_ = ElectionState{election_.epoch, config_.self.id, {}};
  } else {
    persist({election_.epoch, config_.self.id, {}}, out);
  }
  epoch_start_ = log_end_.offset;
  change.epoch = election_.epoch;
  change.base = log_end_.offset;
  change.leader = config_.self.id;
  for (auto const& voter : voters().voters) {
    change.voters.push_back(voter.key);
    ReplicaProgress progress;
    progress.key = voter.key;
    progress.has_acknowledged = voter.key.id == config_.self.id;
    progress_.push_back(progress);
  }
  change.with_voters = voters_.back().is_unwritten;
  int32_t const record_count = change.with_voters ? 3 : 1;
  if (change.with_voters) voters_.push_back({log_end_.offset + 2, voters_.back().voters, voters_.back().kraft_version});
  note_epoch(election_.epoch, log_end_.offset);
  log_end_ = LogEnd{log_end_.offset + record_count, election_.epoch};
  change.op = begin_op(log_end_.offset);
  out.push_back(std::move(change));
  out.push_back(effect::BecameLeader{election_.epoch, epoch_start_});
  tell_leader(out);
  if (is_sole_voter()) return;
  set_timer(TimerKind::check_quorum, now + config_.fetch_timeout * kCheckQuorumPercent / 100, out);
  set_timer(TimerKind::begin_epoch, now + config_.fetch_timeout / 2, out);
}

void Machine::become_follower(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out) {
  MR_ASSERT(leader != kNoBroker);
  MR_ASSERT(leader != config_.self.id);
  MR_ASSERT(epoch >= election_.epoch);
  leave_role(out);
  role_ = Role::follower;
  ElectionState state{epoch, leader, {}};
  if (epoch == election_.epoch) state.voted = election_.voted;  // never twice in one epoch, whatever comes between
  persist(std::move(state), out);
  if (!is_observer()) set_timer(TimerKind::election, now + config_.fetch_timeout, out);
  tell_leader(out);
  fail_parked(out);
}

// Gives the epoch up without having seen another; a leader that comes back after a stop begins like this too.
void Machine::become_resigned(Mono now, Effects& out) {
  std::vector<ReplicaKey> successors;
  auto progress = progress_;
  std::erase_if(progress, [&](auto const& p) { return p.key.id == config_.self.id; });
  std::stable_sort(progress.begin(), progress.end(), [](auto const& a, auto const& b) { return a.end > b.end; });
  for (auto const& p : progress) successors.push_back(p.key);
  leave_role(out);
  role_ = Role::resigned;
  successors_ = std::move(successors);
  for (auto const& voter : voters().voters) {
    if (voter.key.id != config_.self.id) unacknowledged_.push_back(voter.key.id);
  }
  set_timer(TimerKind::election, now + random_election_timeout(), out);
  fail_parked(out);
  MR_PROBE(*hooks_, "raft.resigned");
}

void Machine::on(event::ResignRequested const&, Mono now, Effects& out) {
  if (role_ == Role::leader && !is_sole_voter()) become_resigned(now, out);
}

// ---- timers

Duration Machine::random_between(Duration low, Duration high) {
  return Duration(random_.between(low.count(), high.count()));
}

Duration Machine::random_election_timeout() {
  return random_between(config_.election_timeout, config_.election_timeout * 2);
}

void Machine::set_timer(TimerKind kind, Mono at, Effects& out) {
  timers_[static_cast<size_t>(kind)] = at;
  out.push_back(effect::SetTimer{kind, at});
}

void Machine::cancel_timer(TimerKind kind, Effects& out) {
  if (!is_armed(kind)) return;
  timers_[static_cast<size_t>(kind)].reset();
  out.push_back(effect::CancelTimer{kind});
}

void Machine::on(event::TimerFired const& e, Mono now, Effects& out) {
  auto& timer = timers_[static_cast<size_t>(e.kind)];
  MR_ASSERT(timer.has_value());
  auto const was_due = *timer;
  timer.reset();
  switch (e.kind) {
    case TimerKind::election:
      switch (role_) {
        case Role::unattached:
        case Role::follower:
          // A snapshot that is about to replace the log must not find a leader that appends to it. And whoever gives
          // nobody its vote does not give it to itself.
          if (installing_ || may_have_forgotten(log_end_))
            return set_timer(TimerKind::election, now + random_election_timeout(), out);
          return become_prospective(now, out);
        case Role::candidate: return become_prospective(now, out);
        case Role::prospective: return lose_pre_vote(now, out);
        case Role::resigned: return become_unattached(election_.epoch + 1, kNoBroker, now, out);
        case Role::leader: MR_ASSERT(false);
      }
      return;
    case TimerKind::check_quorum:
      if (MR_MUTANT(*hooks_, "raft.no_check_quorum")) return;
      MR_PROBE(*hooks_, "raft.check_quorum_failed");
      return become_resigned(now, out);
    case TimerKind::begin_epoch:
      for (auto& p : progress_) {
        if (p.key.id != config_.self.id && (!p.fetched_at || *p.fetched_at + config_.fetch_timeout / 2 <= now))
          p.is_due = true;
      }
      return set_timer(TimerKind::begin_epoch, now + config_.fetch_timeout / 2, out);
    case TimerKind::retry:
      for (auto& peer : peers_) peer.is_backing_off = false;
      return;
    case TimerKind::parked_fetch: {
      auto const parked = std::exchange(parked_, {});
      auto earliest = Mono::never();
      for (auto const& waiting : parked) {
        if (waiting.deadline <= was_due) {
          reply_fetch(waiting.ticket, waiting.request, answer_fetch(waiting.request), out);
        } else {
          earliest = std::min(earliest, waiting.deadline);
          parked_.push_back(waiting);
        }
      }
      if (!parked_.empty()) set_timer(TimerKind::parked_fetch, earliest, out);
      return;
    }
    case TimerKind::early_vote:
      if (role_ != Role::follower || installing_ || may_have_forgotten(log_end_)) return;
      if (has_asked_early_ && !peer(election_.leader).is_refusing) {
        return set_timer(TimerKind::early_vote, now + random_between(kEarlyVoteRetryMin, kEarlyVoteRetryMax), out);
      }
      return become_prospective(now, out);
  }
}

// ---- completions

void Machine::on(event::ElectionPersisted const& e, Mono now, Effects& out) {
  MR_ASSERT_VALUES(e.write <= write_issued_, "write {} of {}", e.write, write_issued_);
  write_done_ = std::max(write_done_, e.write);
  if (role_ == Role::candidate && write_done_ == write_issued_) count_votes(now, out);
}

void Machine::on(event::LogOpDone const& e, Mono, Effects& out) {
  MR_ASSERT_VALUES(e.op <= op_issued_, "op {} of {}", e.op, op_issued_);
  while (!pending_ops_.empty() && pending_ops_.front().op <= e.op) {
    durable_end_ = pending_ops_.front().end;
    pending_ops_.pop_front();
  }
  advance_high_watermark(out);
  advance_as_follower(out);
}

// ---- questions

std::string Machine::text() const {
  auto out = fmt::format("{} epoch {} leader {} voted {}", role_name(role_), election_.epoch, election_.leader,
                         election_.voted ? election_.voted->id : kNoBroker);
  if (is_blank_) out += " blank";
  if (write_done_ < write_issued_) out += fmt::format(" unwritten {}", write_issued_ - write_done_);
  out += fmt::format(" log {}", log_start_.offset);
  if (log_start_.offset > Offset{0}) out += fmt::format("@{}", log_start_.epoch);
  for (auto const& e : epochs_) out += fmt::format(" {}:{}", e.epoch, e.start);
  out += fmt::format(" end {}", log_end_.offset);
  if (durable_end_ != log_end_.offset) out += fmt::format(" durable {}", durable_end_);
  out += fmt::format(" mark {}{}", high_watermark_, is_mark_told_ ? "" : " untold");
  if (snapshot_) out += fmt::format(" snapshot {}-{}", snapshot_->end_offset, snapshot_->epoch);
  for (auto const& op : pending_ops_) out += fmt::format(" op>{}", op.end);
  if (voters_.size() > 1) out += fmt::format(" voters@{}", voters_.back().offset);
  for (size_t kind = 0; kind < kTimerKinds; ++kind) {
    if (timers_[kind]) out += fmt::format(" t{}", kind);
  }
  for (auto const& peer : peers_) {
    if (peer.in_flight != 0 || peer.is_backing_off || peer.is_refusing)
      out += fmt::format(" peer{}{}{}{}", peer.id, peer.in_flight != 0 ? "*" : "", peer.is_backing_off ? "~" : "",
                         peer.is_refusing ? "!" : "");
  }
  switch (role_) {
    case Role::unattached: out += fmt::format(" probe {}", probe_index_); break;
    case Role::prospective:
    case Role::candidate:
      for (auto const& b : ballots_) {
        if (b.is_granted) out += fmt::format(" {}{}", *b.is_granted ? '+' : '-', b.voter);
      }
      if (is_hurried_) out += " hurried";
      break;
    case Role::follower:
      out += fmt::format("{}{} leader-mark {} probe {}", has_fetched_ ? " fetched" : "", is_hurried_ ? (has_asked_early_ ? " hurried-again" : " hurried") : "",
                         leader_mark_, probe_index_);
      if (fetching_snapshot_)
        out += fmt::format(" fetching {}-{} at {}", fetching_snapshot_->end_offset, fetching_snapshot_->epoch,
                           snapshot_position_);
      break;
    case Role::leader:
      out += fmt::format(" start {}{}", epoch_start_, has_mark_ ? "" : " unmarked");
      for (auto const& p : progress_) {
        if (p.key.id == config_.self.id) continue;
        out += fmt::format(" {}={}{}{}{}", p.key.id, p.end, p.has_acknowledged ? "" : "?", p.is_due ? "!" : "",
                           p.has_fetched_lately ? "'" : "");
      }
      for (auto const& p : observers_) out += fmt::format(" ({}={})", p.key.id, p.end);
      for (auto const& p : parked_) out += fmt::format(" parked {}@{}", p.request.replica.id, p.request.offset);
      break;
    case Role::resigned:
      for (auto const id : unacknowledged_) out += fmt::format(" ?{}", id);
      break;
  }
  if (installing_) out += " installing";
  return out;
}

void Machine::check_invariants() const {
  MR_ASSERT_VALUES(durable_end_ <= log_end_.offset, "durable {} end {}", durable_end_, log_end_.offset);
  // Not of the durable end: a leader's followers may be faster than its own disk.
  MR_ASSERT_VALUES(high_watermark_ <= log_end_.offset, "high watermark {} end {}", high_watermark_, log_end_.offset);
  MR_ASSERT(log_start_.offset <= log_end_.offset);
  MR_ASSERT(log_end_.epoch <= election_.epoch);
  MR_ASSERT(write_done_ <= write_issued_);
  MR_ASSERT(!is_blank_ || write_issued_ == 0);
  MR_ASSERT(!is_blank_ || !election_.voted);
  MR_ASSERT(!is_blank_ || (role_ != Role::candidate && role_ != Role::leader && role_ != Role::resigned));
  MR_ASSERT(log_start_.offset == Offset{0} || snapshot_.has_value());
  MR_ASSERT(!voters_.empty());
  MR_ASSERT(parked_.size() <= kParkedFetchesMax);
  MR_ASSERT(observers_.size() <= kObserversMax);
  if (!epochs_.empty()) {
    MR_ASSERT(epochs_.back().epoch == log_end_.epoch);
    MR_ASSERT(epochs_.back().start < log_end_.offset);
  } else {
    MR_ASSERT(log_end_ == log_start_);
  }
  for (size_t i = 1; i < epochs_.size(); ++i) {
    MR_ASSERT(epochs_[i - 1].epoch < epochs_[i].epoch);
    MR_ASSERT(epochs_[i - 1].start < epochs_[i].start);
  }
  for (auto const& op : pending_ops_) MR_ASSERT(op.end <= log_end_.offset || installing_);
  MR_ASSERT(parked_.empty() == !is_armed(TimerKind::parked_fetch));
  switch (role_) {
    case Role::leader:
      MR_ASSERT(election_.leader == config_.self.id);
      MR_ASSERT(epoch_start_ < log_end_.offset);
      MR_ASSERT(!installing_);
      MR_ASSERT(!has_mark_ || high_watermark_ > epoch_start_ || MR_MUTANT(*hooks_, "raft.commit_old_epoch"));
      MR_ASSERT(progress_.size() == voters().voters.size());
      break;
    case Role::candidate:
      MR_ASSERT(election_.has_voted_for(config_.self));
      MR_ASSERT(election_.leader == kNoBroker);
      MR_ASSERT(!ballots_.empty());
      break;
    case Role::prospective: MR_ASSERT(!ballots_.empty()); break;
    case Role::follower:
      MR_ASSERT(election_.leader != kNoBroker);
      MR_ASSERT(election_.leader != config_.self.id);
      break;
    case Role::resigned: MR_ASSERT(election_.leader == config_.self.id); break;
    case Role::unattached: break;
  }
  if (role_ != Role::leader) MR_ASSERT(parked_.empty());
}

}  // namespace millrace::raft
