// Checks the histories of one run of real processes, all files together:
//
//   history-check [--unfinished] FILE...      --unfinished: not everything was read at the end
//
// It prints one line of JSON: counts, violations, and for each fault, up to the next, the longest time without an acknowledgement of a
// partition; "after" counts from when all replicas were in sync again.
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

// The longest time between begin and end without an acknowledgement.
Nanos longest_gap(std::vector<Nanos> const& times, Nanos begin, Nanos end) {
  Nanos longest = 0;
  auto last = begin;
  for (auto at = std::ranges::upper_bound(times, begin); at != times.end() && *at < end; ++at) {
    longest = std::max(longest, *at - last);
    last = *at;
  }
  return std::max(longest, end - last);
}

// Of all partitions, in rising order.
std::vector<Nanos> longest_gaps(std::vector<std::vector<Nanos>> const& times, Nanos begin, Nanos end) {
  std::vector<Nanos> out;
  for (auto const& of_partition : times) out.push_back(longest_gap(of_partition, begin, end));
  std::ranges::sort(out);
  return out;
}

json gaps(Run const& run) {
  auto const times = acknowledgements(run.history);
  auto out = json::array();
  if (times.empty()) return out;
  Nanos last = 0;
  for (auto const& of_partition : times) last = of_partition.empty() ? last : std::max(last, of_partition.back());
  for (size_t i = 0; i < run.faults.size(); ++i) {
    auto const& fault = run.faults[i];
    auto const next = i + 1 < run.faults.size() ? run.faults[i + 1].begin : std::max(last, fault.settled);
    auto const of_fault = longest_gaps(times, fault.begin, next);
    out.push_back({{"number", fault.number},
                   {"longest_ms", of_fault.back() / 1'000'000},
                   {"median_ms", of_fault[of_fault.size() / 2] / 1'000'000},
                   {"after_ms", longest_gaps(times, fault.settled, next).back() / 1'000'000}});
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

json violations(History const& history, bool is_unfinished) {
  auto out = json::array();
  for (auto const& each : check(history)) {
    out.push_back({{"check", each.check}, {"partition", each.partition}, {"text", each.text}});
  }
  for (PartitionIndex p = 0; !is_unfinished && p < history.partition_count; ++p) {
    if (std::ranges::find(history.final_reads, p, &FinalRead::partition) != history.final_reads.end()) continue;
    out.push_back({{"check", "C2"}, {"partition", p}, {"text", "nobody has read it to its end"}});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files(argv + 1, argv + argc);
  bool const is_unfinished = std::erase(files, "--unfinished") > 0;
  if (files.empty()) {
    fmt::print(stderr, "history-check [--unfinished] FILE...\n");
    return 2;
  }
  auto const run = millrace::chaos::read_run(files);
  auto const found = violations(run.history, is_unfinished);
  fmt::print("{}\n", json{{"counts", counts(run.history)}, {"gaps", gaps(run)}, {"violations", found}}.dump());
  return found.empty() ? 0 : 1;
}
