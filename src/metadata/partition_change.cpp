#include "millrace/metadata/partition_change.h"

#include <algorithm>

#include "millrace/base/assert.h"
#include "millrace/metadata/features.h"
#include "millrace/metadata/replay.h"
#include "millrace/protocol/records/metadata.h"

namespace millrace::metadata {
namespace {

bool contains(std::vector<BrokerId> const& list, BrokerId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

bool contains_all(std::vector<BrokerId> const& list, std::vector<BrokerId> const& all) {
  return std::all_of(all.begin(), all.end(), [&](BrokerId id) { return contains(list, id); });
}

std::vector<BrokerId> without(std::vector<BrokerId> const& list, std::vector<BrokerId> const& drop) {
  std::vector<BrokerId> out;
  std::copy_if(list.begin(), list.end(), std::back_inserter(out), [&](BrokerId id) { return !contains(drop, id); });
  return out;
}

std::vector<int32_t> numbers(std::vector<BrokerId> const& ids) {
  std::vector<int32_t> out;
  for (auto id : ids) out.push_back(id.value);
  return out;
}

struct Elected {
  BrokerId leader = kNoBroker;
  bool is_unclean = false;
};

class Builder {
 public:
  explicit Builder(PartitionChange const& change)
      : c_(change), p_(change.partition), isr_(c_.target_isr), replicas_(p_.replicas), removing_(p_.removing_replicas),
        adding_(p_.adding_replicas), elr_(p_.elr) {}

  std::optional<PartitionImage> build(RecordList& out, int16_t metadata_version) {
    complete_reassignment();
    populate_elr();
    auto const elected = elect();
    bool const is_new_leader = elected.leader != p_.leader;
    bool const is_unclean = is_new_leader && elected.is_unclean;
    bool const was_eligible = is_new_leader && contains(elr_, elected.leader);
    if (was_eligible) {
      isr_ = {elected.leader};
      elr_ = without(elr_, isr_);
    }
    if (is_unclean) isr_ = {elected.leader};  // records may be lost here: nobody else is known to agree with it
    if (is_unclean && !elr_.empty()) MR_PROBE(c_.hooks, "controller.unclean_election_beside_eligible");
    if ((is_unclean && !MR_MUTANT(c_.hooks, "metadata.unclean_keeps_elr")) || !c_.elr_enabled) elr_.clear();
    // With ELR the in-sync set may become empty; without, its last member stays in it, for it alone has everything.
    if (isr_.empty() && !c_.elr_enabled) isr_ = p_.isr;
    if (c_.elr_enabled) check_elr_rules(is_unclean, was_eligible);

    protocol::PartitionChangeRecord record;
    record.topic_id = c_.topic_id;
    record.partition_id = c_.index;
    if (is_new_leader) record.leader = elected.leader.value;
    bool const is_isr_shrunk = !contains_all(isr_, p_.isr);
    // Who is no replica any more must not go on as one; and before 3.6 a broker noticed only by the epoch that its
    // in-sync set shrank.
    if (!contains_all(replicas_, p_.replicas) || (is_isr_shrunk && metadata_version < kMetadataVersion36Iv0)) {
      record.leader = elected.leader.value;
    }
    auto isr = numbers(isr_), elr = numbers(elr_), last_known = last_known_elr(record.leader);
    auto replicas = numbers(replicas_), removing = numbers(removing_), adding = numbers(adding_);
    if (isr_ != p_.isr) record.isr = isr;
    if (elr_ != p_.elr) record.eligible_leader_replicas = elr;
    if (last_known != numbers(p_.last_known_elr)) record.last_known_elr = last_known;
    auto directories = directories_of_replicas();
    if (directories != p_.directories && metadata_version >= kMetadataVersion37Iv2) record.directories = directories;
    if (replicas_ != p_.replicas) record.replicas = replicas;
    if (removing_ != p_.removing_replicas) record.removing_replicas = removing;
    if (adding_ != p_.adding_replicas) record.adding_replicas = adding;
    auto const recovery = is_unclean ? LeaderRecoveryState::recovering : c_.recovery_state.value_or(p_.recovery_state);
    if (recovery != p_.recovery_state) record.leader_recovery_state = static_cast<int8_t>(recovery);
    if (is_noop(record)) return std::nullopt;
    auto after = changed_partition(p_, record);
    if (MR_MUTANT(c_.hooks, "metadata.leader_without_epoch")) {
      after.leader_epoch = p_.leader_epoch;
      add_partition_record(out, c_.topic_id, c_.index, after, metadata_version);
      return after;
    }
    out.add(record, partition_change_record_version(metadata_version));
    return after;
  }

 private:
  // Replicas that are being added are in sync: those that go may go.
  void complete_reassignment() {
    if (removing_.empty() && adding_.empty()) return;
    auto const isr = without(isr_, removing_), replicas = without(replicas_, removing_);
    if (!removing_.empty() && (isr.empty() || replicas.empty())) return;
    if (!contains_all(isr, adding_)) return;
    // Fewer replicas than before: nobody is waited for, so all that stay must be in sync.
    if (adding_.size() < removing_.size() && !contains_all(isr, replicas)) return;
    isr_ = isr;
    replicas_ = replicas;
    removing_.clear();
    adding_.clear();
  }

  // The set below min ISR keeps those who left it as eligible, save those who may have lost records.
  void populate_elr() {
    if (!c_.elr_enabled) return;
    if (isr_.size() >= static_cast<size_t>(c_.min_isr)) {
      if (!MR_MUTANT(c_.hooks, "metadata.elr_not_cleared")) elr_.clear();
      return;
    }
    for (auto id : p_.isr)
      if (!contains(elr_, id)) elr_.push_back(id);
    elr_ = without(elr_, isr_);
    if (without(elr_, c_.unclean_shutdown) != elr_) MR_PROBE(c_.hooks, "controller.unclean_start_not_eligible");
    if (!MR_MUTANT(c_.hooks, "metadata.unclean_start_stays_eligible")) elr_ = without(elr_, c_.unclean_shutdown);
    std::sort(elr_.begin(), elr_.end());
  }

  // KIP-966, whatever led to these sets.
  void check_elr_rules(bool is_unclean, bool was_eligible) const {
    // Who comes back from an unclean stop leaves the in-sync set and the eligible ones first.
    for (auto const id : c_.unclean_shutdown) {
      MR_ASSERT_VALUES(!contains(isr_, id) || is_unclean, "partition {}: {} may have lost records and is in sync", c_.index, id);
      MR_ASSERT_VALUES(!contains(elr_, id) || MR_MUTANT(c_.hooks, "metadata.unclean_start_stays_eligible"),
                       "partition {}: {} may have lost records and is eligible", c_.index, id);
    }
    // Elected uncleanly, a leader has nobody beside it who is known to have the same.
    MR_ASSERT_VALUES(!is_unclean || elr_.empty() || MR_MUTANT(c_.hooks, "metadata.unclean_keeps_elr"),
                     "partition {}: {} eligible after an unclean election", c_.index, elr_.size());
    if (isr_.size() >= static_cast<size_t>(c_.min_isr)) {
      // Reaching min.insync.replicas empties the eligible ones: what is committed from now on they may lack. One of them
      // who begins to lead has committed nothing yet.
      MR_ASSERT_VALUES(elr_.empty() || was_eligible || is_unclean || MR_MUTANT(c_.hooks, "metadata.elr_not_cleared"),
                       "partition {}: {} in sync, {} eligible", c_.index, isr_.size(), elr_.size());
      return;
    }
    // Below it, who leaves the in-sync set has everything that is committed, and stays eligible.
    for (auto const id : p_.isr) {
      bool const is_kept = contains(isr_, id) || contains(elr_, id) || contains(c_.unclean_shutdown, id) || is_unclean;
      MR_ASSERT_VALUES(is_kept, "partition {}: broker {} leaves the in-sync set and is not eligible", c_.index, id);
    }
  }

  bool is_candidate(BrokerId id) const {
    return (contains(isr_, id) || (isr_.empty() && contains(elr_, id))) && c_.may_lead(id);
  }

  Elected elect() const {
    if (c_.election == Election::preferred && is_candidate(replicas_.front())) return {replicas_.front()};
    if (is_candidate(p_.leader)) return {p_.leader};
    for (auto id : replicas_)
      if (is_candidate(id)) return {id};
    // Nobody is known to have everything. The last leader is the best guess there is, if it is the only one.
    if (c_.elr_enabled && isr_.empty() && elr_.empty() && p_.last_known_elr.size() == 1 && c_.may_lead(p_.last_known_elr.front())) {
      return {p_.last_known_elr.front(), true};
    }
    if (c_.election == Election::unclean) {
      for (auto id : replicas_)
        if (c_.may_lead(id)) return {id, true};
    }
    return {};
  }

  // Holds the last leader while there is none.
  std::vector<int32_t> last_known_elr(int32_t new_leader) const {
    if (c_.elr_enabled && new_leader == kNoBroker.value && p_.last_known_elr.empty()) return {p_.leader.value};
    if (c_.elr_enabled && new_leader >= 0) return {};
    return numbers(p_.last_known_elr);
  }

  std::vector<DirectoryId> directories_of_replicas() const {
    std::vector<DirectoryId> out;
    for (auto id : replicas_) out.push_back(c_.directory && c_.directory->first == id ? c_.directory->second : p_.directory_of(id));
    return out;
  }

  static bool is_noop(protocol::PartitionChangeRecord const& r) {
    return r.isr.is_null() && r.eligible_leader_replicas.is_null() && r.last_known_elr.is_null() && r.leader == kNoLeaderChange &&
           r.replicas.is_null() && r.removing_replicas.is_null() && r.adding_replicas.is_null() &&
           r.leader_recovery_state < 0 && r.directories.is_null();
  }

  PartitionChange const& c_;
  PartitionImage const& p_;
  std::vector<BrokerId> isr_, replicas_, removing_, adding_, elr_;
};

}  // namespace

std::optional<PartitionImage> add_partition_change(RecordList& out, PartitionChange const& change, int16_t metadata_version) {
  return Builder(change).build(out, metadata_version);
}

}  // namespace millrace::metadata
