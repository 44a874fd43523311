// What is sent to whom, and when again.
#include <algorithm>

#include "millrace/base/assert.h"
#include "millrace/raft/machine.h"

namespace millrace::raft {

Machine::Peer& Machine::peer(BrokerId id) {
  auto const found = std::find_if(peers_.begin(), peers_.end(), [&](auto const& p) { return p.id == id; });
  if (found != peers_.end()) return *found;
  peers_.push_back({id});
  std::sort(peers_.begin(), peers_.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
  return peer(id);
}

bool Machine::is_waiting_for(BrokerId to, RequestId id) const {
  return id != 0 &&
         std::any_of(peers_.begin(), peers_.end(), [&](auto const& p) { return p.id == to && p.in_flight == id; });
}

// With a new role or epoch, what is on its way says nothing any more. Only voters and bootstrap addresses are kept.
void Machine::reset_peers() {
  std::erase_if(peers_, [&](Peer const& p) {
    return voters().find(p.id) == nullptr &&
           std::find(config_.bootstrap.begin(), config_.bootstrap.end(), p.id) == config_.bootstrap.end();
  });
  for (auto& p : peers_) {
    p.in_flight = 0;
    p.is_backing_off = false;
  }
}

bool Machine::is_ready(BrokerId id) {
  auto const& p = peer(id);
  return p.in_flight == 0 && !p.is_backing_off;
}

void Machine::back_off(Peer& peer, Mono now, Effects& out) {
  peer.is_backing_off = true;
  if (!is_armed(TimerKind::retry)) set_timer(TimerKind::retry, now + config_.retry_backoff, out);
}

void Machine::send(BrokerId to, Request request, Effects& out) {
  auto& p = peer(to);
  MR_ASSERT(p.in_flight == 0);
  p.in_flight = ++request_issued_;
  // Not even a question rests on what could be forgotten.
  out.push_back(effect::Send{to, p.in_flight, std::move(request), spoken_after()});
}

void Machine::send_what_is_due(Mono now, Effects& out) {
  static_cast<void>(now);
  switch (role_) {
    case Role::prospective:
    case Role::candidate: {
      auto const rejected = static_cast<size_t>(
          std::count_if(ballots_.begin(), ballots_.end(), [](auto const& b) { return b.is_granted == false; }));
      if (rejected > ballots_.size() - (ballots_.size() / 2 + 1)) return;
      for (auto const& ballot : ballots_) {
        if (ballot.voter == config_.self.id || ballot.is_granted || !is_ready(ballot.voter)) continue;
        VoteRequest request;
        request.candidate = config_.self;
        request.voter = voters().find(ballot.voter)->key;
        request.epoch = election_.epoch;
        request.last = log_end_;
        request.is_pre_vote = role_ == Role::prospective;
        send(ballot.voter, request, out);
      }
      return;
    }
    case Role::leader:
      for (auto& p : progress_) {
        if ((p.has_acknowledged && !p.is_due) || !is_ready(p.key.id)) continue;
        p.is_due = false;
        BeginEpochRequest request;
        request.voter = p.key;
        request.leader = config_.self.id;
        request.epoch = election_.epoch;
        send(p.key.id, request, out);
      }
      return;
    case Role::resigned:
      for (auto const id : unacknowledged_) {
        if (!is_ready(id)) continue;
        EndEpochRequest request;
        request.leader = config_.self.id;
        request.epoch = election_.epoch;
        request.preferred_successors = successors_;
        send(id, request, out);
      }
      return;
    case Role::unattached:
    case Role::follower: return send_fetch(out);
  }
}

// Asking for more says that everything before is on disk.
void Machine::send_fetch(Effects& out) {
  if ((!pending_ops_.empty() && !MR_MUTANT(*hooks_, "raft.fetch_before_durable")) || installing_) return;
  BrokerId target = kNoBroker;
  bool const is_from_leader = role_ == Role::follower && !peer(election_.leader).is_backing_off;
  if (is_from_leader) {
    if (peer(election_.leader).in_flight != 0) return;
    target = election_.leader;
  } else {
    // The leader does not answer, or there is none: somebody else may know of another.
    for (auto const& p : peers_) {
      if (p.in_flight != 0 && p.id != election_.leader) return;
    }
    auto const other = next_to_probe();
    if (!other) return;
    target = *other;
  }
  if (is_from_leader && fetching_snapshot_) {
    FetchSnapshotRequest request;
    request.replica = config_.self;
    request.current_epoch = election_.epoch;
    request.id = *fetching_snapshot_;
    request.position = snapshot_position_;
    request.bytes_max = config_.snapshot_bytes_max;
    return send(target, request, out);
  }
  FetchRequest request;
  request.replica = config_.self;
  request.current_epoch = election_.epoch;
  request.offset = log_end_.offset;
  request.last_epoch = log_end_.epoch;
  request.high_watermark = is_mark_told_ ? high_watermark_ : Offset{-1};  // a leader that knows more answers at once
  request.bytes_max = config_.fetch_bytes_max;
  // Longer, and a leader with nothing to tell would be taken for a dead one.
  request.wait_max = std::min(config_.fetch_wait, config_.fetch_timeout / 2);
  send(target, request, out);
}

std::optional<BrokerId> Machine::next_to_probe() {
  std::vector<BrokerId> all;
  for (auto const& voter : voters().voters) {
    if (voter.key.id != config_.self.id) all.push_back(voter.key.id);
  }
  all.insert(all.end(), config_.bootstrap.begin(), config_.bootstrap.end());
  for (size_t i = 0; i < all.size(); ++i) {
    auto const id = all[(probe_index_ + i) % all.size()];
    if (!is_ready(id) || (role_ == Role::follower && id == election_.leader)) continue;
    probe_index_ = (probe_index_ + i + 1) % all.size();
    return id;
  }
  return std::nullopt;
}

void Machine::on(event::Received const& e, Mono now, Effects& out) {
  std::visit([&](auto const& request) { receive(e.ticket, request, now, out); }, e.request);
}

void Machine::on(event::Answered const& e, Mono now, Effects& out) {
  auto& from = peer(e.from);
  if (from.in_flight != e.id || e.id == 0) return;  // superseded
  from.in_flight = 0;
  from.is_refusing = false;
  auto const role = role_;
  auto const epoch = election_.epoch;
  auto const& verdict = std::visit([](auto const& response) -> Verdict const& { return response.verdict; }, e.response);
  auto const outcome = common(verdict, e.from, now, out);
  if (outcome == Common::go_on) {
    std::visit([&](auto const& response) { answered(e.from, response, now, out); }, e.response);
  } else if (role_ == role && election_.epoch == epoch) {
    back_off(peer(e.from), now, out);  // nothing has changed by it; the same again would change as little
  }
}

void Machine::on(event::RequestFailed const& e, Mono now, Effects& out) {
  auto& to = peer(e.to);
  if (to.in_flight != e.id || e.id == 0) return;
  to.in_flight = 0;
  to.is_refusing = e.failure == event::Failure::refused;
  // There is a voter that knows no pre-vote. One that is blank would make up a memory by standing: it needs the others'
  // word that nobody has any.
  if (e.failure == event::Failure::unsupported_version && role_ == Role::prospective && !is_blank_)
    return become_candidate(now, out);
  bool const is_of_gone_leader = role_ == Role::prospective ? e.to == election_.leader : role_ == Role::candidate;
  if (is_hurried_ && is_of_gone_leader && to.is_refusing) {
    // It will not grant anything, so that the one voter that is left decides.
    for (auto& ballot : ballots_) {
      if (ballot.voter == e.to) ballot.is_granted = false;
    }
    return count_votes(now, out);
  }
  bool const is_of_leader = role_ == Role::follower && e.to == election_.leader;
  if (is_of_leader && e.failure == event::Failure::peer_ended_connection && !is_hurried_) {
    // Another connection is tried at once: it tells a process that is gone from one that only dropped this one.
    return on_leader_gone(now, out);
  }
  // The connection ended while nothing was under way, and now there is nobody.
  if (is_of_leader && to.is_refusing && has_fetched_) on_leader_gone(now, out);
  back_off(to, now, out);
}

void Machine::on(event::ConnectionEnded const& e, Mono now, Effects& out) {
  if (role_ == Role::follower && e.peer == election_.leader) on_leader_gone(now, out);
}

}  // namespace millrace::raft
