// Votes, and the beginnings and ends of epochs.
#include "millrace/base/assert.h"
#include "millrace/raft/machine.h"

namespace millrace::raft {
namespace {

// An error that stands for the whole request.
std::optional<Verdict> misaddressed(Addressing const& addressing) {
  if (!addressing.is_same_cluster) return Verdict{.top = ErrorCode::inconsistent_cluster_id};
  if (!addressing.is_metadata_log) return Verdict{.top = ErrorCode::invalid_request};
  return std::nullopt;
}

bool is_at_least(LogEnd const& candidate, LogEnd const& own) {
  return candidate.epoch != own.epoch ? candidate.epoch > own.epoch : candidate.offset >= own.offset;
}

}  // namespace

// ---- requests

void Machine::receive(Ticket ticket, VoteRequest const& r, Mono now, Effects& out) {
  auto const reply = [&](Verdict verdict, bool is_granted) {
    auto const after = MR_MUTANT(*hooks_, "raft.vote_before_durable") ? ElectionWrite{0} : spoken_after();
    out.push_back(effect::Reply{ticket, VoteResponse{verdict, is_granted}, after});
  };
  if (auto const verdict = misaddressed(r.addressing)) return reply(*verdict, false);
  // Nobody asks for votes for an epoch in which it has a record; ahead of a pre-vote the epoch has not been raised yet.
  bool const has_legal_epoch = r.is_pre_vote ? r.last.epoch <= r.epoch : r.last.epoch < r.epoch;
  if (r.last.offset < Offset{0} || r.last.epoch < LeaderEpoch{0} || !has_legal_epoch)
    return reply(verdict(ErrorCode::invalid_request), false);
  if (r.epoch < election_.epoch) return reply(verdict(ErrorCode::fenced_leader_epoch), false);
  if (r.candidate.id < BrokerId{0} || r.candidate.id == config_.self.id)
    return reply(verdict(ErrorCode::invalid_request), false);
  if (r.epoch > election_.epoch) become_unattached(r.epoch, kNoBroker, now, out);
  if (!is_meant(r.voter)) return reply(verdict(ErrorCode::invalid_voter_key), false);
  bool const is_up_to_date = is_at_least(r.last, log_end_) || MR_MUTANT(*hooks_, "raft.vote_ignores_log");
  bool is_granted = can_grant(r.candidate, is_up_to_date, r.is_pre_vote);
  if (is_granted && may_have_forgotten(r.last)) {
    MR_PROBE(*hooks_, "raft.vote_withheld");
    is_granted = false;
    if (!std::exchange(is_withholding_told_, true)) out.push_back(effect::VoteWithheld{r.candidate.id});
  }
  if (is_granted && !r.is_pre_vote && election_.voted != r.candidate) {
    // Whoever is chosen has as good a chance as this node: it waits anew.
    bool const was_prospective = role_ == Role::prospective;
    auto state = election_;
    state.voted = r.candidate;
    persist(std::move(state), out);
    if (was_prospective) {
      become_prospective(now, out);
    } else {
      set_timer(TimerKind::election, now + random_election_timeout(), out);
    }
  }
  reply(verdict(), is_granted);
}

bool Machine::can_grant(ReplicaKey const& candidate, bool is_up_to_date, bool is_pre_vote) const {
  switch (role_) {
    case Role::leader: return false;
    case Role::follower: return is_pre_vote && !has_fetched_ && is_up_to_date;  // a leader that works is not disturbed
    case Role::candidate:
    case Role::resigned: return is_pre_vote && is_up_to_date;
    case Role::unattached:
    case Role::prospective: break;
  }
  if (is_pre_vote) return is_up_to_date;
  if (election_.voted && !MR_MUTANT(*hooks_, "raft.vote_twice")) return election_.has_voted_for(candidate);
  return election_.leader == kNoBroker && is_up_to_date;
}

// Who has records follows, or was, an elected leader: there has been a quorum, and this voter may have been part of it.
// While nobody has any, a cluster is new.
bool Machine::may_have_forgotten(LogEnd const& candidate) const { return is_blank_ && candidate != LogEnd{}; }

// A request names the node that it is for, so that a voter with a wiped disk does not answer for the one before.
bool Machine::is_meant(ReplicaKey const& voter) const {
  if (voter.id < BrokerId{0}) return true;
  return voter.id == config_.self.id && (voter.directory.is_zero() || voter.directory == config_.self.directory);
}

void Machine::receive(Ticket ticket, BeginEpochRequest const& r, Mono now, Effects& out) {
  auto const reply = [&](Verdict verdict) {
    out.push_back(effect::Reply{ticket, BeginEpochResponse{verdict}, spoken_after()});
  };
  if (auto const verdict = misaddressed(r.addressing)) return reply(*verdict);
  if (r.epoch < election_.epoch) return reply(verdict(ErrorCode::fenced_leader_epoch));
  if (r.leader < BrokerId{0} || !is_consistent(r.epoch, r.leader)) return reply(verdict(ErrorCode::invalid_request));
  learn(r.epoch, r.leader, now, out);
  if (!is_meant(r.voter)) return reply(verdict(ErrorCode::invalid_voter_key));
  if (is_hurried_ && election_.leader == r.leader) {
    if (role_ == Role::prospective) become_follower(election_.epoch, r.leader, now, out);
    on_contact(out);
  }
  reply(verdict());
}

void Machine::receive(Ticket ticket, EndEpochRequest const& r, Mono now, Effects& out) {
  auto const reply = [&](Verdict verdict) {
    out.push_back(effect::Reply{ticket, EndEpochResponse{verdict}, spoken_after()});
  };
  if (auto const verdict = misaddressed(r.addressing)) return reply(*verdict);
  if (r.epoch < election_.epoch) return reply(verdict(ErrorCode::fenced_leader_epoch));
  if (r.leader < BrokerId{0} || !is_consistent(r.epoch, r.leader)) return reply(verdict(ErrorCode::invalid_request));
  learn(r.epoch, r.leader, now, out);
  if (role_ == Role::follower && election_.leader == r.leader && !is_observer()) {
    // It works no more, and who stands in its place disturbs nobody. It may itself refuse: of its newest records nobody
    // else may have any.
    has_fetched_ = false;
    // The most advanced stands at once, the others later and later, so that it is not disturbed.
    auto const& successors = r.preferred_successors;
    auto const own = std::find_if(successors.begin(), successors.end(), [&](ReplicaKey const& key) {
      return key.id == config_.self.id && (key.directory.is_zero() || key.directory == config_.self.directory);
    });
    auto const position = own - successors.begin();
    auto const count = static_cast<ptrdiff_t>(successors.size());
    auto wait = config_.election_backoff_max;
    if (position == 0) {
      wait = Duration::zero();
    } else if (position < count) {
      static constexpr ptrdiff_t kHalvingsMax = 30;
      auto const base = config_.election_backoff_max / (1LL << std::min(count - 1, kHalvingsMax));
      wait = std::min<Duration>(config_.election_backoff_max, base * (1LL << std::min(position - 1, kHalvingsMax)));
    }
    set_timer(TimerKind::election, now + wait, out);
  }
  reply(verdict());
}

// ---- what a message says of the leader

bool Machine::is_consistent(LeaderEpoch epoch, BrokerId leader) const {
  if (leader == config_.self.id) return epoch == election_.epoch && role_ == Role::leader;
  return epoch != election_.epoch || leader == kNoBroker || election_.leader == kNoBroker || leader == election_.leader;
}

void Machine::learn(LeaderEpoch epoch, BrokerId leader, Mono now, Effects& out) {
  if (epoch > election_.epoch) {
    if (leader != kNoBroker) return become_follower(epoch, leader, now, out);
    return become_unattached(epoch, kNoBroker, now, out);
  }
  if (leader != kNoBroker && election_.leader == kNoBroker) become_follower(epoch, leader, now, out);
}

Machine::Common Machine::common(Verdict const& v, BrokerId from, Mono now, Effects& out) {
  if (v.top != ErrorCode::none) return Common::retry_later;
  if (v.epoch < election_.epoch || v.error == ErrorCode::unknown_leader_epoch) return Common::handled;
  bool const tells_of_leader = v.epoch > election_.epoch || v.error == ErrorCode::fenced_leader_epoch ||
                               v.error == ErrorCode::not_leader_or_follower;
  bool const completes_epoch = v.leader != kNoBroker && election_.leader == kNoBroker;
  if ((tells_of_leader || completes_epoch) && !is_consistent(v.epoch, v.leader)) {
    out.push_back(effect::Complaint{from, "names another leader of this epoch", Offset{v.leader.value}});
    return Common::retry_later;
  }
  if (tells_of_leader) {
    learn(v.epoch, v.leader, now, out);
    return Common::handled;
  }
  if (completes_epoch) {
    become_follower(v.epoch, v.leader, now, out);
    return v.error == ErrorCode::none ? Common::go_on : Common::handled;
  }
  switch (v.error) {
    case ErrorCode::none:
    case ErrorCode::snapshot_not_found: return Common::go_on;
    case ErrorCode::invalid_request:
      out.push_back(effect::Complaint{from, "calls a request invalid", Offset{-1}});
      return Common::retry_later;
    default: return Common::retry_later;
  }
}

// ---- answers

void Machine::answered(BrokerId from, VoteResponse const& response, Mono now, Effects& out) {
  if (role_ != Role::prospective && role_ != Role::candidate) return;
  auto const ballot = std::find_if(ballots_.begin(), ballots_.end(), [&](auto const& b) { return b.voter == from; });
  if (ballot == ballots_.end() || ballot->is_granted) return;
  ballot->is_granted = response.is_granted;
  count_votes(now, out);
}

void Machine::count_votes(Mono now, Effects& out) {
  for (auto& ballot : ballots_) {
    if (ballot.voter != config_.self.id) continue;
    if (role_ == Role::prospective || write_done_ == write_issued_) ballot.is_granted = true;
  }
  auto const count = [&](bool granted) {
    return static_cast<size_t>(
        std::count_if(ballots_.begin(), ballots_.end(), [&](auto const& b) { return b.is_granted == granted; }));
  };
  auto const majority = ballots_.size() / 2 + 1;
  if (count(true) >= majority) {
    if (role_ == Role::prospective) return become_candidate(now, out);
    return become_leader(now, out);
  }
  // A candidate that has lost waits for the rest of its time; who only asked goes back to where it was.
  bool const is_lost = count(false) > ballots_.size() - majority;
  if (!is_lost) return;
  if (role_ == Role::prospective) {
    cancel_timer(TimerKind::election, out);
    lose_pre_vote(now, out);
  } else if (is_hurried_) {
    // The leader that is gone was missed by several at once, and their votes went to themselves. They ask anew, one
    // before the other.
    MR_PROBE(*hooks_, "raft.early_vote_split");
    set_timer(TimerKind::election, now + random_between(kEarlyVoteRetryMin, kEarlyVoteRetryMax), out);
  }
}

void Machine::lose_pre_vote(Mono now, Effects& out) {
  auto const leader = election_.leader;
  if (leader == kNoBroker || leader == config_.self.id) return become_unattached(election_.epoch, leader, now, out);
  bool const is_hurried = is_hurried_;
  become_follower(election_.epoch, leader, now, out);
  if (!is_hurried) return;
  is_hurried_ = true;
  has_asked_early_ = true;
  set_timer(TimerKind::early_vote, now + random_between(kEarlyVoteRetryMin, kEarlyVoteRetryMax), out);
}

void Machine::on_contact(Effects& out) {
  is_hurried_ = false;
  has_asked_early_ = false;
  cancel_timer(TimerKind::early_vote, out);
}

// A process that is gone does not wait for its followers' fetch timeout. What is risked is a pre-vote that is refused.
void Machine::on_leader_gone(Mono now, Effects& out) {
  if (role_ != Role::follower || is_observer() || is_hurried_) return;
  MR_PROBE(*hooks_, "raft.early_vote");
  is_hurried_ = true;
  has_fetched_ = false;
  set_timer(TimerKind::early_vote, now + random_between(Duration::zero(), kEarlyVoteJitterMax), out);
}

void Machine::answered(BrokerId from, BeginEpochResponse const&, Mono, Effects&) {
  for (auto& p : progress_) {
    if (p.key.id != from) continue;
    p.has_acknowledged = true;
    p.is_due = false;
  }
}

void Machine::answered(BrokerId from, EndEpochResponse const&, Mono, Effects&) { std::erase(unacknowledged_, from); }

}  // namespace millrace::raft
