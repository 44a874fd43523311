#include "checker/cluster_checks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

using GroupPartition = std::pair<GroupIndex, PartitionIndex>;

// May `read` have found `commit`? Not if it began after the read was answered, nor if another that was acknowledged lies
// wholly between the two. What is unknown may still come to be done at any later time.
bool may_find(std::vector<Commit const*> const& commits, Commit const& commit, CommitRead const& read) {
  if (commit.outcome == Outcome::failed || commit.start > read.end) return false;
  if (commit.outcome == Outcome::unknown) return true;
  return std::none_of(commits.begin(), commits.end(), [&](Commit const* other) {
    return other->outcome == Outcome::ok && other->start > commit.end && other->end < read.start;
  });
}

void check_committed_offsets(History const& history, std::vector<Violation>& out) {
  std::map<GroupPartition, std::vector<Commit const*>> commits_of;
  for (auto const& commit : history.commits) commits_of[{commit.group, commit.partition}].push_back(&commit);
  for (auto const& read : history.commit_reads) {
    auto const& commits = commits_of[{read.group, read.partition}];
    if (read.offset < 0) {
      auto const before = std::find_if(commits.begin(), commits.end(), [&](Commit const* c) { return c->outcome == Outcome::ok && c->end < read.start; });
      if (before == commits.end()) continue;
      out.push_back({"C9", read.partition, fmt::format("group {} has no offset at {}, {} was acknowledged at {}", read.group, read.start, (*before)->offset, (*before)->end)});
      return;
    }
    bool const is_right = std::any_of(commits.begin(), commits.end(), [&](Commit const* c) { return c->offset == read.offset && may_find(commits, *c, read); });
    if (is_right) continue;
    out.push_back({"C9", read.partition, fmt::format("group {} finds offset {} committed at {}, which was replaced before, refused or never sent", read.group, read.offset, read.start)});
    return;
  }
}

void check_owners(History const& history, std::vector<Violation>& out) {
  std::map<std::tuple<GroupIndex, PartitionIndex, int32_t>, ClientId> owners;
  for (auto const& each : history.ownerships) {
    auto const [at, is_first] = owners.try_emplace({each.group, each.partition, each.generation}, each.client);
    if (is_first || at->second == each.client) continue;
    out.push_back({"C10", each.partition, fmt::format("clients {} and {} own it in generation {} of group {}", at->second, each.client, each.generation, each.group)});
    return;
  }
}

// Once somebody has its assignment of a generation, all earlier ones are over.
void check_generations(History const& history, std::vector<Violation>& out) {
  for (auto const& commit : history.commits) {
    if (commit.outcome != Outcome::ok || commit.generation < 0) continue;
    for (auto const& later : history.ownerships) {
      if (later.group != commit.group || later.generation <= commit.generation || later.start >= commit.start) continue;
      out.push_back({"G3", commit.partition, fmt::format("a commit of generation {} of group {} that began at {} was taken, client {} had heard of generation {} at {}",
                                                         commit.generation, commit.group, commit.start, later.client, later.generation, later.start)});
      return;
    }
  }
}

void check_leaders(History const& history, std::vector<Violation>& out) {
  std::map<std::pair<PartitionIndex, int32_t>, int32_t> leaders;
  for (auto const& each : history.leaderships) {
    auto const [at, is_first] = leaders.try_emplace({each.partition, each.epoch}, each.node);
    if (is_first || at->second == each.node) continue;
    bool const is_quorum = each.partition == Leadership::kQuorum;
    out.push_back({is_quorum ? "M1" : "R3", is_quorum ? 0 : each.partition, fmt::format("nodes {} and {} both lead epoch {}", at->second, each.node, each.epoch)});
    return;
  }
}

void check_votes(History const& history, std::vector<Violation>& out) {
  std::map<std::pair<int32_t, int32_t>, int32_t> votes;
  for (auto const& vote : history.votes) {
    auto const [at, is_first] = votes.try_emplace({vote.voter, vote.epoch}, vote.candidate);
    if (is_first || at->second == vote.candidate) continue;
    out.push_back({"M4", 0, fmt::format("node {} voted for {} and for {} in epoch {}", vote.voter, at->second, vote.candidate, vote.epoch)});
    return;
  }
}

void check_images(History const& history, std::vector<Violation>& out) {
  std::map<int64_t, ImageSeen> images;
  for (auto const& image : history.images) {
    auto const [at, is_first] = images.try_emplace(image.offset, image);
    if (is_first || at->second.fingerprint == image.fingerprint) continue;
    out.push_back({"M3", 0, fmt::format("nodes {} and {} have different images at offset {}", at->second.node, image.node, image.offset)});
    return;
  }
}

// Where both have a batch they have the same, and below both marks neither lacks one that the other has.
void check_pair(ReplicaRead const& a, ReplicaRead const& b, std::vector<Violation>& out) {
  auto const first = std::max(a.log_start, b.log_start), mark = std::min(a.high_watermark, b.high_watermark);
  auto const is_compared = [&](auto const& batch) { return batch.first >= first && batch.first < mark; };
  std::vector<std::pair<int64_t, uint64_t>> ours, theirs;
  std::copy_if(a.batches.begin(), a.batches.end(), std::back_inserter(ours), is_compared);
  std::copy_if(b.batches.begin(), b.batches.end(), std::back_inserter(theirs), is_compared);
  auto const [at, other] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
  if (at == ours.end() && other == theirs.end()) return;
  auto const offset = at == ours.end() ? other->first : other == theirs.end() ? at->first : std::min(at->first, other->first);
  out.push_back({"C14", a.partition, fmt::format("nodes {} and {} differ in the batch at offset {}, below their marks {} and {}", a.node, b.node, offset, a.high_watermark, b.high_watermark)});
}

void check_replicas(History const& history, std::vector<Violation>& out) {
  std::map<PartitionIndex, ReplicaRead const*> firsts;
  auto const before = out.size();
  for (auto const& replica : history.replicas) {
    auto const [at, is_first] = firsts.try_emplace(replica.partition, &replica);
    if (!is_first) check_pair(*at->second, replica, out);
    if (out.size() > before) return;
  }
}

}  // namespace

void check_groups(History const& history, std::vector<Violation>& out) {
  check_committed_offsets(history, out);
  check_owners(history, out);
  check_generations(history, out);
}

void check_nodes(History const& history, std::vector<Violation>& out) {
  check_leaders(history, out);
  check_votes(history, out);
  check_images(history, out);
  check_replicas(history, out);
}

}  // namespace millrace::checker
