// Checks the histories of one run of real processes, all files together:
//
//   history-check FILE...
//
// It prints one line of JSON: counts, violations, and for each fault the longest time without an acknowledgement of a partition.
// The exit code is 1 where something is violated.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "chaos/history_reader.h"
#include "checker/checker.h"

namespace {

using namespace millrace::checker;
using millrace::chaos::Run;
using nlohmann::json;

// By partition, in rising order: when something was acknowledged.
std::vector<std::vector<Nanos>> acknowledgements(History const& history) {
  std::vector<std::vector<Nanos>> out(history.partition_count);
  for (auto const& send : history.sends) {
    if (send.outcome == Outcome::ok) out[send.partition].push_back(send.end);
  }
  for (auto& times : out) std::ranges::sort(times);
  return out;
}

// The longest time between two acknowledgements of which a part lies between begin and end.
Nanos longest_gap(std::vector<Nanos> const& times, Nanos begin, Nanos end) {
  Nanos longest = 0;
  auto at = std::ranges::upper_bound(times, begin);
  for (; at != times.end() && at != times.begin() && *std::prev(at) < end; ++at) longest = std::max(longest, *at - *std::prev(at));
  return longest;
}

json gaps(Run const& run) {
  auto const times = acknowledgements(run.history);
  auto out = json::array();
  for (auto const& fault : run.faults) {
    std::vector<Nanos> of_fault;
    for (auto const& of_partition : times) of_fault.push_back(longest_gap(of_partition, fault.begin, fault.settled));
    if (of_fault.empty()) continue;
    std::ranges::sort(of_fault);
    out.push_back({{"number", fault.number},
                   {"longest_ms", of_fault.back() / 1'000'000},
                   {"median_ms", of_fault[of_fault.size() / 2] / 1'000'000}});
  }
  return out;
}

json counts(History const& history) {
  auto const with = [&](Outcome outcome) { return std::ranges::count(history.sends, outcome, &Send::outcome); };
  size_t final_records = 0;
  for (auto const& read : history.final_reads) final_records += read.records.size();
  auto const is_dated = [](auto const& each) { return each.leader_epoch >= 0; };
  return {{"acknowledged", with(Outcome::ok)},
          {"refused", with(Outcome::failed)},
          {"unknown", with(Outcome::unknown)},
          {"final_records", final_records},
          {"polled_records", history.records.size()},
          {"polls", history.polls.size()},
          {"polls_with_epoch", std::ranges::count_if(history.polls, is_dated)},
          {"sends_with_epoch", std::ranges::count_if(history.sends, is_dated)},
          {"ends_asked", history.ends.size()},
          {"commits", history.commits.size()},
          {"commit_reads", history.commit_reads.size()},
          {"ownerships", history.ownerships.size()}};
}

json violations(History const& history) {
  auto out = json::array();
  for (auto const& each : check(history)) {
    out.push_back({{"check", each.check}, {"partition", each.partition}, {"text", each.text}});
  }
  for (PartitionIndex p = 0; p < history.partition_count; ++p) {
    if (std::ranges::find(history.final_reads, p, &FinalRead::partition) != history.final_reads.end()) continue;
    out.push_back({{"check", "C2"}, {"partition", p}, {"text", "nobody has read it to its end"}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "history-check FILE...\n");
    return 2;
  }
  auto const run = millrace::chaos::read_run({argv + 1, argv + argc});
  auto const found = violations(run.history);
  fmt::print("{}\n", json{{"counts", counts(run.history)}, {"gaps", gaps(run)}, {"violations", found}}.dump());
  return found.empty() ? 0 : 1;
}
