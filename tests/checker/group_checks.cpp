#include "checker/group_checks.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

using Key = std::pair<GroupIndex, PartitionIndex>;

// A committed offset is a register: a reading shows a commit that no later one had surely replaced when it began.
class Register {
 public:
  void add(Commit const& commit) { commits_.push_back(&commit); }

  void finish() {
    std::stable_sort(commits_.begin(), commits_.end(), [](auto* a, auto* b) { return a->end < b->end; });
    // The latest start among the acknowledged commits that had ended by then.
    Nanos latest = -1;
    for (auto const* commit : commits_) {
      if (commit->outcome == Outcome::ok) latest = std::max(latest, commit->start);
      latest_start_.push_back(latest);
    }
  }

  bool may_show(CommitRead const& reading) const {
    auto const ended = std::lower_bound(commits_.begin(), commits_.end(), reading.start,
                                        [](auto* commit, Nanos time) { return commit->end < time; });
    auto const latest = ended == commits_.begin() ? -1 : latest_start_[static_cast<size_t>(ended - commits_.begin()) - 1];
    if (reading.offset < 0) return latest < 0;
    return std::ranges::any_of(commits_, [&](auto* commit) {
      if (commit->offset != reading.offset || commit->outcome == Outcome::failed || commit->start > reading.end) return false;
      return commit->outcome == Outcome::unknown || commit->may_come_late || commit->end >= latest;
    });
  }

 private:
  std::vector<Commit const*> commits_;
  std::vector<Nanos> latest_start_;
};

void check_offsets(History const& history, std::vector<Violation>& out) {
  std::map<Key, Register> registers;
  for (auto const& each : history.commits) registers[{each.group, each.partition}].add(each);
  for (auto& [key, of_key] : registers) of_key.finish();
  for (auto const& each : history.commit_reads) {
    if (registers[{each.group, each.partition}].may_show(each)) continue;
    out.push_back({"C9", each.partition,
                   fmt::format("client {} of group {} is told the offset {} between {} and {}, which was not the last committed one",
                               each.client, each.group, each.offset, each.start, each.end)});
    return;
  }
}

void check_owners_of_generations(History const& history, std::vector<Violation>& out) {
  std::map<std::tuple<GroupIndex, PartitionIndex, int32_t>, ClientId> owners;
  for (auto const& each : history.ownerships) {
    if (each.generation < 0) continue;
    auto const [at, is_first] = owners.try_emplace({each.group, each.partition, each.generation}, each.client);
    if (is_first || at->second == each.client) continue;
    out.push_back({"C10", each.partition,
                   fmt::format("clients {} and {} own it in generation {} of group {}", at->second, each.client, each.generation,
                               each.group)});
    return;
  }
}

void check_owners_at_a_time(History const& history, std::vector<Violation>& out) {
  std::map<Key, std::vector<Ownership const*>> of_key;
  for (auto const& each : history.ownerships) of_key[{each.group, each.partition}].push_back(&each);
  for (auto& [key, list] : of_key) {
    std::ranges::stable_sort(list, {}, &Ownership::start);
    Ownership const* before = nullptr;  // the one that lasts longest so far
    for (auto const* each : list) {
      if (before != nullptr && each->start < before->end && each->client != before->client) {
        out.push_back({"C10", key.second,
                       fmt::format("group {}: client {} owns it from {}, and client {} until {}", key.first, each->client, each->start,
                                   before->client, before->end)});
        return;
      }
      if (before == nullptr || each->end > before->end) before = each;
    }
  }
}

// Once somebody has its assignment of a generation, all earlier ones are over.
void check_generations(History const& history, std::vector<Violation>& out) {
  for (auto const& commit : history.commits) {
    if (commit.outcome != Outcome::ok || commit.generation < 0) continue;
    for (auto const& later : history.ownerships) {
      if (later.group != commit.group || later.generation <= commit.generation || later.start >= commit.start) continue;
      out.push_back({"G3", commit.partition,
                     fmt::format("a commit of generation {} of group {} that began at {} was taken, client {} had heard of generation {} at {}",
                                 commit.generation, commit.group, commit.start, later.client, later.generation, later.start)});
      return;
    }
  }
}

}  // namespace

void check_groups(History const& history, std::vector<Violation>& out) {
  check_offsets(history, out);
  check_owners_of_generations(history, out);
  check_owners_at_a_time(history, out);
  check_generations(history, out);
}

}  // namespace millrace::checker
