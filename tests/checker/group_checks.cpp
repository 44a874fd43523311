#include "checker/group_checks.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace millrace::checker {
namespace {

using Key = std::pair<GroupId, PartitionIndex>;

// A committed offset is a register: a reading shows a commit that no later one had surely replaced when it began.
class Register {
 public:
  void add(GroupOffset const& commit) { commits_.push_back(&commit); }

  void finish() {
    std::stable_sort(commits_.begin(), commits_.end(), [](auto* a, auto* b) { return a->end < b->end; });
    // The latest start among the acknowledged commits that had ended by then.
    Nanos latest = -1;
    for (auto const* commit : commits_) {
      if (commit->outcome == Outcome::ok) latest = std::max(latest, commit->start);
      latest_start_.push_back(latest);
    }
  }

  bool may_show(GroupOffset const& reading) const {
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
  std::vector<GroupOffset const*> commits_;
  std::vector<Nanos> latest_start_;
};

void check_offsets(History const& history, Report const& report) {
  std::map<Key, Register> registers;
  for (auto const& each : history.group_offsets) {
    auto& of_key = registers[{each.group, each.partition}];
    if (each.is_commit) of_key.add(each);
  }
  for (auto& [key, of_key] : registers) of_key.finish();
  for (auto const& each : history.group_offsets) {
    if (each.is_commit || each.outcome != Outcome::ok || registers[{each.group, each.partition}].may_show(each)) continue;
    report("C9", each.partition,
           fmt::format("client {} of group {} is told the offset {} between {} and {}, which was not the last committed one",
                       each.client, each.group, each.offset, each.start, each.end));
  }
}

void check_owners(History const& history, Report const& report) {
  std::map<Key, std::vector<Ownership const*>> of_key;
  for (auto const& each : history.ownerships) of_key[{each.group, each.partition}].push_back(&each);
  for (auto& [key, list] : of_key) {
    std::stable_sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->from < b->from; });
    Ownership const* before = nullptr;  // the one that lasts longest so far
    for (auto const* each : list) {
      if (before != nullptr && each->from < before->until && each->client != before->client) {
        report("C10", key.second,
               fmt::format("group {}: client {} owns it from {}, and client {} until {}", key.first, each->client, each->from,
                           before->client, before->until));
      }
      if (before == nullptr || each->until > before->until) before = each;
    }
  }
}

}  // namespace

void check_groups(History const& history, Report const& report) {
  check_offsets(history, report);
  check_owners(history, report);
}

}  // namespace millrace::checker
