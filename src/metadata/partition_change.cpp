#include "millrace/metadata/partition_change.h"

#include <algorithm>

#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

bool contains(std::vector<BrokerId> const& list, BrokerId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

void add_unique(std::vector<BrokerId>& list, std::vector<BrokerId> const& more) {
  for (auto id : more)
    if (!contains(list, id)) list.push_back(id);
}

std::vector<BrokerId> without(std::vector<BrokerId> const& list, std::vector<BrokerId> const& drop) {
  std::vector<BrokerId> out;
  for (auto id : list)
    if (!contains(drop, id)) out.push_back(id);
  return out;
}

std::vector<int32_t> numbers(std::vector<BrokerId> const& ids) {
  std::vector<int32_t> out;
  for (auto id : ids) out.push_back(id.value);
  return out;
}

struct Election {
  BrokerId leader = kNoBroker;
  bool is_unclean = false;
};

class Builder {
 public:
  explicit Builder(PartitionChange change) : c_(std::move(change)), p_(*c_.partition), isr_(c_.target_isr), elr_(p_.elr) {}

  // The set below min ISR keeps those who left it as eligible, save those who may have lost records.
  void populate_elr() {
    if (!c_.elr_enabled) {
      elr_.clear();
      return;
    }
    auto const enough = std::min(static_cast<size_t>(c_.min_isr), p_.replicas.size());
    if (isr_.size() >= enough) {
      elr_.clear();
      return;
    }
    add_unique(elr_, p_.isr);
    elr_ = without(without(elr_, isr_), c_.unclean_shutdown);
  }

  Election elect() const {
    auto const may_lead = [&](BrokerId id) { return (contains(isr_, id) || contains(elr_, id)) && c_.is_acceptable_leader(id); };
    if (p_.leader != kNoBroker && may_lead(p_.leader)) return {p_.leader};
    for (auto id : p_.replicas)
      if (may_lead(id)) return {id};
    // Nobody is known to have everything. The last leader is the best guess there is, if it is the only one.
    if (c_.elr_enabled && isr_.empty() && elr_.empty() && p_.last_known_elr.size() == 1 &&
        c_.is_acceptable_leader(p_.last_known_elr.front())) {
      return {p_.last_known_elr.front(), true};
    }
    if (c_.allow_unclean) {
      for (auto id : p_.replicas)
        if (c_.is_acceptable_leader(id)) return {id, true};
    }
    return {};
  }

  bool build(RecordList& out, int16_t metadata_version) {
    populate_elr();
    auto const election = elect();
    protocol::PartitionChangeRecord record;
    record.topic_id = c_.topic_id;
    record.partition_id = c_.index;
    bool changed = false;
    if (election.leader != p_.leader) {
      record.leader = election.leader.value;
      changed = true;
      if (election.is_unclean) {
        isr_ = {election.leader};
        elr_.clear();
        if (p_.recovery_state != LeaderRecoveryState::recovering) record.leader_recovery_state = 1;
      } else if (election.leader != kNoBroker && !contains(isr_, election.leader)) {
        isr_ = {election.leader};
        elr_ = without(elr_, isr_);
      }
    }
    auto isr = numbers(isr_);
    if (isr_ != p_.isr && (c_.elr_enabled || !isr_.empty())) {
      record.isr = isr;
      changed = true;
    }
    auto elr = numbers(elr_);
    if (elr_ != p_.elr) {
      record.eligible_leader_replicas = elr;
      changed = true;
    }
    std::vector<int32_t> last_known;
    if (update_last_known(last_known, election, !record.isr.is_null())) {
      record.last_known_elr = last_known;
      changed = true;
    }
    if (changed) out.add(record, partition_change_record_version(metadata_version));
    return changed;
  }

 private:
  // Remembers the leader when the last member leaves the ISR; forgets it once there is a leader again.
  bool update_last_known(std::vector<int32_t>& last_known, Election const& election, bool isr_changes) const {
    if (!c_.elr_enabled) return false;
    if (isr_changes && isr_.empty() && p_.leader != kNoBroker &&
        (p_.last_known_elr.size() != 1 || p_.last_known_elr.front() != p_.leader)) {
      last_known = {p_.leader.value};
      return true;
    }
    return election.leader != kNoBroker && !p_.last_known_elr.empty();
  }

  PartitionChange c_;
  PartitionImage const& p_;
  std::vector<BrokerId> isr_;
  std::vector<BrokerId> elr_;
};

}  // namespace

bool add_partition_change(RecordList& out, PartitionChange change, int16_t metadata_version) {
  return Builder(std::move(change)).build(out, metadata_version);
}

}  // namespace millrace::metadata
