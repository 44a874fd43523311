#include "checker/node_checks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

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

void check_nodes(History const& history, std::vector<Violation>& out) {
  check_leaders(history, out);
  check_votes(history, out);
  check_images(history, out);
  check_replicas(history, out);
}

}  // namespace millrace::checker
