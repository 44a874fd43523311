#include "millrace/raft/types.h"

#include <algorithm>

namespace millrace::raft {

Voter const* VoterSet::find(BrokerId id) const {
  auto const found = std::find_if(voters.begin(), voters.end(), [&](Voter const& v) { return v.key.id == id; });
  return found == voters.end() ? nullptr : &*found;
}

bool VoterSet::contains(ReplicaKey const& key) const {
  auto const* voter = find(key.id);
  if (voter == nullptr) return false;
  return voter->key.directory.is_zero() || key.directory.is_zero() || voter->key.directory == key.directory;
}

bool ElectionState::has_voted_for(ReplicaKey const& candidate) const {
  return voted && voted->id == candidate.id && (voted->directory.is_zero() || voted->directory == candidate.directory);
}

}  // namespace millrace::raft
