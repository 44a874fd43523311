#include "sim/run/quorum_oracle.h"

#include <algorithm>

namespace millrace::sim {
namespace {

// The epoch of the record at `offset`; none: before the first.
std::optional<LeaderEpoch> epoch_at(std::vector<raft::EpochStart> const& epochs, Offset offset) {
  std::optional<LeaderEpoch> out;
  for (auto const& e : epochs) {
    if (e.start > offset) break;
    out = e.epoch;
  }
  return out;
}

}  // namespace

QuorumOracle::QuorumOracle(Cluster& cluster, Fail fail)
    : cluster_(cluster), fail_(std::move(fail)), seen_(cluster.size()) {}

void QuorumOracle::observe(size_t index, ClusterNode& node) {
  auto const life = cluster_.machine(index).node()->life();
  auto const* machine = node.quorum();
  if (machine == nullptr) return;
  auto& seen = seen_[index];
  if (seen.life != life) {
    auto const before = seen;
    seen = Seen();
    seen.life = life;
    seen.durable = before.durable;
    seen.lacks_committed = before.lacks_committed;
    seen.is_blank = before.is_blank;
  }
  seen.is_blank = machine->is_blank() || (seen.is_blank && !machine->is_election_durable());
  // First, so that who commits in this very event finds it.
  seen.durable_end = machine->durable_end();
  if (seen.epoch != machine->epoch() || seen.role != machine->role()) {
    auto& world = cluster_.machine(index).world();
    if (world.trace().is_printing()) world.trace().say(world.now(), "quorum", fmt::format("node-{} {}", index + 1, machine->text()));
  }
  bool const is_speaking = machine->role() == raft::Role::leader && machine->is_election_durable();
  if (is_speaking && speakers_.try_emplace(machine->epoch(), life).first->second != life) {
    return fail_(fmt::format("M1: node {} leads epoch {} again, which it led before it was started anew", index + 1, machine->epoch()));
  }
  on_log(index, *machine);
  if (seen.epoch != machine->epoch() || seen.leader != machine->leader()) {
    seen.epoch = machine->epoch();
    seen.leader = machine->leader();
    if (seen.leader != kNoBroker) on_leader_named(index, seen.epoch, seen.leader);
  }
  if (machine->is_election_durable() && machine->election().voted && seen.voted != machine->election().voted) {
    seen.voted = machine->election().voted;
    auto const [at, is_first] = votes_.try_emplace({index, machine->epoch()}, *seen.voted);
    bool const is_same = at->second.id == seen.voted->id && (at->second.directory == seen.voted->directory || at->second.directory.is_zero() ||
                                                             seen.voted->directory.is_zero());
    if (!is_first && !is_same) {
      fail_(fmt::format("M4: node {} voted for {} in epoch {}, and before for {}", index + 1, seen.voted->id, machine->epoch(), at->second.id));
    }
  }
  // What a new leader heard as a follower it has yet to confirm.
  bool const has_mark = machine->role() != raft::Role::leader || machine->has_committed_epoch();
  if (has_mark && seen.high_watermark != machine->high_watermark()) {
    seen.high_watermark = machine->high_watermark();
    on_committed(index, *machine);
  }
  if (seen.role != machine->role()) {
    seen.role = machine->role();
    if (seen.role == raft::Role::leader) on_new_leader(index, *machine);
  }
  auto const* image = node.image();
  if (image != nullptr && (image != seen.image || image->offset != seen.image_offset)) {
    seen.image = image;
    seen.image_offset = image->offset;
    on_image(index, *image);
  }
}

void QuorumOracle::on_lost_disk(size_t index) {
  auto& seen = seen_[index];
  seen.durable = {};
  seen.durable_end = Offset{0};
  seen.lacks_committed = committed_end_ > Offset{0};
  seen.is_blank = true;
}

bool QuorumOracle::can_do_without(size_t index) {
  auto const& nodes = cluster_.plan().nodes;
  auto const machine_of = [&](size_t i) {
    auto* node = cluster_.node(i);
    return node == nullptr ? nullptr : node->quorum();
  };
  auto const* own = machine_of(index);
  auto const led_by = leader();
  if (!nodes[index].is_controller || own == nullptr || !led_by || committed_end_ == Offset{0}) return false;
  auto const* leading = machine_of(*led_by);
  if (!leading->has_committed_epoch() || leading->epoch() != newest_epoch() || own->epoch() > leading->epoch()) return false;
  size_t knowing = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_controller || i == index) continue;
    auto const* other = machine_of(i);
    if (other != nullptr && other->role() == raft::Role::leader && other->epoch() < own->epoch()) return false;
    auto const& seen = seen_[i];
    auto const remembered = cluster_.durable_election(i);
    if (!remembered || seen.is_blank || seen.durable.offset == Offset{0}) return false;
    auto const end = own->log_end();
    bool const has_own = seen.durable.epoch != end.epoch ? seen.durable.epoch > end.epoch : seen.durable.offset >= end.offset;
    if (remembered->epoch >= own->epoch() && has_own && !seen.lacks_committed && seen.durable.offset >= committed_end_) ++knowing;
  }
  return knowing >= (cluster_.plan().controller_count() - 1) / 2 + 1;
}

void QuorumOracle::on_log(size_t index, raft::Machine const& machine) {
  auto& seen = seen_[index];
  auto const end = machine.log_end();
  // It may have appended and lost its office in one event, also the one in which it was elected.
  auto const leader = leaders_.find(end.epoch);
  bool const is_its_epoch = leader != leaders_.end() && leader->second.value == static_cast<int32_t>(index + 1);
  bool const was_elected = machine.leader() == BrokerId(static_cast<int32_t>(index + 1)) && machine.epoch() == end.epoch;
  if (is_its_epoch || was_elected) {
    auto& written = leader_ends_[end.epoch];
    written = std::max(written, end.offset);
  }
  auto const durable_end = machine.durable_end();
  bool const has_moved = seen.log_end.offset != end.offset || seen.log_end.epoch != end.epoch || seen.durable.offset != durable_end;
  if (!has_moved) return;
  seen.log_end = end;
  seen.durable = {durable_end, durable_end == end.offset ? end.epoch : epoch_at(machine.epochs(), durable_end - 1).value_or(machine.log_start().epoch)};
  auto const written = leader_ends_.find(end.epoch);
  // The first record of all, and what a snapshot begins with, may be of no leader.
  if (end.epoch > LeaderEpoch{0} && end.offset > machine.log_start().offset && (written == leader_ends_.end() || end.offset > written->second)) {
    return fail_(fmt::format("M2: node {} has records of epoch {} up to {}, its leader had them up to {}", index + 1, end.epoch, end.offset,
                             written == leader_ends_.end() ? Offset{-1} : written->second));
  }
  seen.lacks_committed = end.offset < committed_end_ || !compare(machine, committed_end_).empty();
  if (seen.lacks_committed) check_candidates();
}

void QuorumOracle::check_candidates() {
  auto const& nodes = cluster_.plan().nodes;
  auto const log_of = [&](size_t i) {
    auto* node = cluster_.node(i);
    return node == nullptr || node->quorum() == nullptr ? seen_[i].durable : node->quorum()->log_end();
  };
  auto const majority = cluster_.plan().controller_count() / 2 + 1;
  for (size_t candidate = 0; candidate < nodes.size(); ++candidate) {
    if (!nodes[candidate].is_controller || !seen_[candidate].lacks_committed) continue;
    auto const own = log_of(candidate);
    auto const is_withheld = [&](size_t voter) { return seen_[voter].is_blank && own.offset > Offset{0}; };
    if (is_withheld(candidate)) continue;
    size_t votes = 0;
    for (size_t voter = 0; voter < nodes.size(); ++voter) {
      if (!nodes[voter].is_controller || is_withheld(voter)) continue;
      auto const other = log_of(voter);
      if (own.epoch > other.epoch || (own.epoch == other.epoch && own.offset >= other.offset)) ++votes;
    }
    if (votes < majority) continue;
    return fail_(fmt::format("M2: node {}, whose log ends at {} in epoch {}, would get {} votes, and lacks some of what is committed below {}",
                             candidate + 1, own.offset, own.epoch, votes, committed_end_));
  }
}

void QuorumOracle::on_leader_named(size_t index, LeaderEpoch epoch, BrokerId leader) {
  auto const [at, is_first] = leaders_.try_emplace(epoch, leader);
  if (!is_first && at->second != leader) {
    fail_(fmt::format("M1: node {} takes node {} for the leader of epoch {}, which node {} leads", index + 1, leader, epoch, at->second));
  }
}

size_t QuorumOracle::votes_on_disk(size_t index, LeaderEpoch epoch) {
  size_t out = 0;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    if (!cluster_.plan().nodes[i].is_controller) continue;
    auto const state = cluster_.durable_election(i);
    if (!state || state->epoch < epoch) continue;
    // Who has gone on to a later epoch may have voted in this one.
    bool const is_vote = state->epoch > epoch || (state->voted && state->voted->id.value == static_cast<int32_t>(index + 1));
    if (is_vote) ++out;
  }
  return out;
}

void QuorumOracle::on_new_leader(size_t index, raft::Machine const& machine) {
  auto const majority = cluster_.plan().controller_count() / 2 + 1;
  if (auto const votes = votes_on_disk(index, machine.epoch()); votes < majority) {
    return fail_(fmt::format("M4: node {} leads epoch {}, and {} of {} voters have on disk that they voted for it", index + 1, machine.epoch(), votes,
                             cluster_.plan().controller_count()));
  }
  // One that was paused may learn late that it was elected, when a later leader, elected by the others, has committed more.
  auto const committed = committed_end_before(machine.epoch());
  if (machine.log_end().offset < committed) {
    return fail_(fmt::format("M2: node {} leads epoch {} with a log that ends at {}; everything below {} was committed", index + 1,
                             machine.epoch(), machine.log_end().offset, committed));
  }
  if (auto const difference = compare(machine, committed); !difference.empty()) {
    fail_(fmt::format("M2: node {} leads epoch {}: {}", index + 1, machine.epoch(), difference));
  }
}

Offset QuorumOracle::committed_end_before(LeaderEpoch epoch) const {
  auto const after = committed_in_.lower_bound(epoch);
  return after == committed_in_.begin() ? Offset{0} : std::prev(after)->second;
}

std::string QuorumOracle::compare(raft::Machine const& machine, Offset end) const {
  auto const start = machine.log_start().offset;
  // Epochs change only where one of both says so.
  std::vector<Offset> places{start};
  for (auto const* epochs : {&committed_, &machine.epochs()}) {
    for (auto const& e : *epochs) places.push_back(e.start);
  }
  for (auto const place : places) {
    if (place < start || place >= end || place >= machine.log_end().offset) continue;
    auto const ours = epoch_at(committed_, place), theirs = epoch_at(machine.epochs(), place);
    if (ours == theirs) continue;
    return fmt::format("offset {} was committed in epoch {}, and is of epoch {} here", place, ours.value_or(LeaderEpoch{-1}),
                       theirs.value_or(LeaderEpoch{-1}));
  }
  return {};
}

void QuorumOracle::on_committed(size_t index, raft::Machine const& machine) {
  auto const mark = machine.high_watermark();
  if (auto const difference = compare(machine, std::min(mark, committed_end_)); !difference.empty()) {
    return fail_(fmt::format("M2: node {} calls everything below {} committed: {}", index + 1, mark, difference));
  }
  if (mark <= committed_end_) return;
  // A leader of another epoch could still replace it (Raft, section 5.4.2).
  auto const last = epoch_at(machine.epochs(), mark - 1);
  if (last && *last < machine.epoch() && machine.leader() != kNoBroker) {
    return fail_(fmt::format("M2: node {} calls everything below {} committed in epoch {}, and the last record of that is of epoch {}", index + 1,
                             mark, machine.epoch(), *last));
  }
  size_t holders = 0;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto* node = cluster_.node(i);
    auto const* other = node == nullptr ? nullptr : node->quorum();
    // A node that is down keeps what it had on disk.
    auto const durable = other == nullptr ? seen_[i].durable_end : other->durable_end();
    if (cluster_.plan().nodes[i].is_controller && durable >= mark) ++holders;
  }
  if (holders < cluster_.plan().controller_count() / 2 + 1) {
    return fail_(fmt::format("M2: node {} calls everything below {} committed, which {} of {} voters have on disk", index + 1, mark,
                             holders, cluster_.plan().controller_count()));
  }
  for (auto const& e : machine.epochs()) {
    if (e.start >= mark || (!committed_.empty() && e.epoch <= committed_.back().epoch)) continue;
    committed_.push_back({e.epoch, std::max(e.start, committed_end_)});
  }
  committed_end_ = mark;
  // Ends grow with the epochs: a node that is behind calls nothing committed that was not.
  committed_in_[std::max(machine.epoch(), committed_in_.empty() ? LeaderEpoch{0} : committed_in_.rbegin()->first)] = mark;
  for (size_t i = 0; i < cluster_.size(); ++i) {
    auto* node = cluster_.node(i);
    auto const* other = node == nullptr ? nullptr : node->quorum();
    if (other != nullptr) seen_[i].lacks_committed = other->log_end().offset < mark || !compare(*other, mark).empty();
    else if (seen_[i].durable.offset < mark) seen_[i].lacks_committed = true;
  }
  check_candidates();
}

void QuorumOracle::on_image(size_t index, metadata::Image const& image) {
  ++images_compared_;
  if (image.offset >= committed_end_) {
    return fail_(fmt::format("M2: node {} publishes the image at {}, committed is only what is below {}", index + 1, image.offset,
                             committed_end_));
  }
  auto const print = seen_[index].prints.of(image);
  auto const [at, is_first] = fingerprints_.try_emplace(image.offset, print);
  if (!is_first && at->second != print) {
    fail_(fmt::format("M3: node {}: the image at offset {} has fingerprint {:016x}, before it had {:016x}", index + 1, image.offset, print,
                      at->second));
  }
}

std::optional<size_t> QuorumOracle::leader() const {
  std::optional<size_t> out;
  for (size_t i = 0; i < seen_.size(); ++i) {
    auto* node = cluster_.node(i);
    auto const* machine = node == nullptr ? nullptr : node->quorum();
    if (machine == nullptr || machine->role() != raft::Role::leader) continue;
    if (!out || machine->epoch() > cluster_.node(*out)->quorum()->epoch()) out = i;
  }
  return out;
}

}  // namespace millrace::sim
