#include "sim/run/tally.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <ctime>

namespace millrace::sim {
namespace {

constexpr double kMsPerHour = 3'600'000;

std::string with_commas(uint64_t number) {
  auto out = fmt::format("{}", number);
  for (auto at = static_cast<int64_t>(out.size()) - 3; at > 0; at -= 3) out.insert(static_cast<size_t>(at), ",");
  return out;
}

std::string output_of(char const* command) {
  std::string out;
  auto* pipe = ::popen(command, "r");
  if (pipe == nullptr) return out;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) out += buffer;
  ::pclose(pipe);
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

// What the caller's tree is at; with what was changed since.
std::string commit() {
  auto out = output_of("git rev-parse --short HEAD 2>/dev/null");
  if (!output_of("git status --porcelain -- src include tests 2>/dev/null").empty()) out += " and changes";
  return out.empty() ? "unknown" : out;
}

}  // namespace

void Tally::add(Counts const& counts, bool has_passed) {
  ++(has_passed ? passed_ : failed_);
  for (auto const& [name, count] : counts) counts_[name] += count;
}

uint64_t Tally::count(std::string_view name) const {
  auto const found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

double Tally::virtual_hours() const { return static_cast<double>(count(kVirtualMs)) / kMsPerHour; }

std::string Tally::faults() const {
  uint64_t sum = 0;
  std::string kinds;
  for (auto const& [name, count] : counts_) {
    if (!name.starts_with(kFaultPrefix) || count == 0) continue;
    sum += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", name.substr(kFaultPrefix.size()), with_commas(count));
  }
  return sum == 0 ? "0" : fmt::format("{} ({})", with_commas(sum), kinds);
}

std::string Tally::text() const {
  return fmt::format("totals: {} seeds, {:.2f} virtual hours, {} acknowledged records in {} Produce requests, faults: {}", with_commas(seeds()),
                     virtual_hours(), with_commas(count(kAcknowledgedRecords)), with_commas(count(kProduceRequests)), faults());
}

bool Tally::append_to(std::string const& file, std::string_view scenario, std::string_view seeds, std::string_view outcome) const {
  auto* out = std::fopen(file.c_str(), "a");
  if (out == nullptr) return false;
  fmt::print(out, "| {:%Y-%m-%d} | {} | {} | {} | {:.2f} | {} | {} | {} | {} |\n", fmt::localtime(std::time(nullptr)), commit(), scenario, seeds,
             virtual_hours(), with_commas(count(kAcknowledgedRecords)), with_commas(count(kProduceRequests)), faults(), outcome);
  return std::fclose(out) == 0;
}

}  // namespace millrace::sim
