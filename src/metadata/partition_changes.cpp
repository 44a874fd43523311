#include "millrace/metadata/partition_changes.h"

#include <algorithm>

namespace millrace::metadata {
namespace {

bool has(std::vector<BrokerId> const& list, BrokerId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

}  // namespace

std::vector<UncleanElection> PartitionChanges::add(Publication const& publication, BrokerId self) {
  std::vector<UncleanElection> unclean;
  for (auto const& [id, topic] : publication.delta.topics) {
    if (topic.is_created || topic.is_deleted) continue;
    for (auto const index : topic.partitions) {
      auto const* before = publication.before->find_partition(id, index);
      auto const* after = publication.after->find_partition(id, index);
      if (before == nullptr || after == nullptr) continue;
      if (after->leader != before->leader && after->leader != kNoBroker) {
        ++leaders;
        // Elected uncleanly it begins alone. Who was being added may have come into sync and led in one publication.
        bool const is_alone = after->isr.size() == 1 && after->isr.front() == after->leader;
        bool const was_safe = has(before->isr, after->leader) || has(before->elr, after->leader) ||
                              has(before->adding_replicas, after->leader);
        if (is_alone && !was_safe) {
          ++unclean_leaders;
          unclean.push_back({publication.after->find_topic(id)->name, index, after->leader, after->leader_epoch,
                             has(before->last_known_elr, after->leader)});
        }
      }
      if (after->leader != self) continue;
      if (after->isr.size() < before->isr.size()) ++isr_shrinks;
      if (after->isr.size() > before->isr.size()) ++isr_expands;
    }
  }
  return unclean;
}

}  // namespace millrace::metadata
