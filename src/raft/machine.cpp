#include "millrace/raft/machine.h"

#include "millrace/base/assert.h"

namespace millrace::raft {

Result<Machine> Machine::create(MachineConfig config, LoadedState loaded, Hooks& hooks) {
  if (loaded.voters.voters.size() != 1) {
    return Error{ErrorKind::unsupported, fmt::format("start the metadata quorum: {} voters, only a quorum of one is supported",
                                                     loaded.voters.voters.size())};
  }
  if (!loaded.voters.contains(config.self)) {
    auto const& voter = loaded.voters.voters.front().key;
    return Error{ErrorKind::unsupported,
                 fmt::format("start the metadata quorum: this node is {} in directory {}, the only voter is {} in directory {}",
                             config.self.id, config.self.directory, voter.id, voter.directory)};
  }
  if (loaded.election && loaded.election->epoch < loaded.log_end.epoch) {
    return Error{ErrorKind::corrupt, fmt::format("start the metadata quorum: quorum-state has epoch {}, the log ends in epoch {}",
                                                 loaded.election->epoch, loaded.log_end.epoch)};
  }
  if (loaded.high_watermark > loaded.log_end.offset) {
    return Error{ErrorKind::corrupt, fmt::format("start the metadata quorum: the newest snapshot ends at {}, the log at {}",
                                                 loaded.high_watermark, loaded.log_end.offset)};
  }
  return Machine(config, std::move(loaded), hooks);
}

Machine::Machine(MachineConfig config, LoadedState loaded, Hooks& hooks)
    : config_(config), hooks_(&hooks), election_(loaded.election.value_or(ElectionState{loaded.log_end.epoch, kNoBroker, {}})),
      log_end_(loaded.log_end), durable_end_(loaded.log_end.offset), high_watermark_(loaded.high_watermark),
      kraft_version_(loaded.kraft_version), voters_(std::move(loaded.voters)),
      voters_are_unwritten_(loaded.voters_are_unwritten) {}

void Machine::on_event(Event const& event, Mono now, Effects& out) {
  std::visit([&](auto const& e) { on(e, now, out); }, event);
}

void Machine::on(event::Started const&, Mono, Effects& out) {
  MR_ASSERT(role_ == Role::unattached);
  // The only voter has nobody to wait for.
  start_election(out);
}

void Machine::start_election(Effects& out) {
  role_ = Role::candidate;
  election_ = ElectionState{election_.epoch + 1, kNoBroker, config_.self};
  out.push_back(effect::PersistElection{election_});
}

void Machine::on(event::ElectionPersisted const& e, Mono, Effects& out) {
  MR_ASSERT(e.epoch == election_.epoch);
  persisted_epoch_ = e.epoch;
  // The own vote is durable now; with one voter it is the majority.
  if (role_ == Role::candidate) become_leader(out);
}

void Machine::become_leader(Effects& out) {
  role_ = Role::leader;
  election_ = ElectionState{election_.epoch, config_.self.id, {}};
  epoch_start_ = log_end_.offset;
  out.push_back(effect::PersistElection{election_});
  effect::AppendLeaderChange change;
  change.epoch = election_.epoch;
  change.base = log_end_.offset;
  change.leader = config_.self.id;
  for (auto const& voter : voters_.voters) change.voters.push_back(voter.key);
  change.granting_voters.push_back(config_.self);
  change.with_voters = voters_are_unwritten_;
  int32_t const record_count = voters_are_unwritten_ ? 3 : 1;
  voters_are_unwritten_ = false;
  log_end_ = LogEnd{log_end_.offset + record_count, election_.epoch};
  out.push_back(std::move(change));
  out.push_back(effect::BecameLeader{election_.epoch, epoch_start_});
}

void Machine::on(event::AppendRequested const& e, Mono, Effects& out) {
  MR_ASSERT(e.record_count > 0);
  if (role_ != Role::leader || e.epoch != election_.epoch) return out.push_back(effect::RefuseAppend{e.id});
  out.push_back(effect::Append{e.id, election_.epoch, log_end_.offset});
  log_end_ = LogEnd{log_end_.offset + e.record_count, election_.epoch};
  if (MR_MUTANT(*hooks_, "raft.commit_at_append")) {
    high_watermark_ = log_end_.offset;
    out.push_back(effect::Committed{high_watermark_});
  }
}

void Machine::on(event::AppendDurable const& e, Mono, Effects& out) {
  MR_ASSERT_VALUES(e.end <= log_end_.offset, "durable {} end {}", e.end, log_end_.offset);
  if (e.end <= durable_end_) return;
  durable_end_ = e.end;
  advance_high_watermark(out);
}

void Machine::advance_high_watermark(Effects& out) {
  if (role_ != Role::leader) return;
  // Records of earlier epochs are committed only together with one of this epoch (Raft, section 5.4.2).
  if (durable_end_ <= epoch_start_ || durable_end_ <= high_watermark_) return;
  high_watermark_ = durable_end_;
  out.push_back(effect::Committed{high_watermark_});
}

void Machine::check_invariants() const {
  MR_ASSERT_VALUES(durable_end_ <= log_end_.offset, "durable {} end {}", durable_end_, log_end_.offset);
  MR_ASSERT_VALUES(high_watermark_ <= durable_end_, "high watermark {} durable {}", high_watermark_, durable_end_);
  MR_ASSERT(log_end_.epoch <= election_.epoch);
  MR_ASSERT(persisted_epoch_ <= election_.epoch);
  if (role_ == Role::leader) {
    MR_ASSERT(election_.leader == config_.self.id);
    MR_ASSERT(persisted_epoch_ == election_.epoch);
    MR_ASSERT(epoch_start_ < log_end_.offset);
  }
  if (role_ == Role::candidate) MR_ASSERT(election_.voted == config_.self);
}

}  // namespace millrace::raft
