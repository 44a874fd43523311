// Adds up what the seeds of one call of mr-sim did, for its last lines and for the ledger.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace millrace::sim {

using Counts = std::map<std::string, uint64_t, std::less<>>;

// Names of counts. Faults are counted by kind: the prefix and the kind's name.
inline constexpr std::string_view kVirtualMs = "virtual_ms";
inline constexpr std::string_view kAcknowledgedRecords = "acknowledged_records";
inline constexpr std::string_view kProduceRequests = "produce_requests";
inline constexpr std::string_view kFaultPrefix = "fault ";

class Tally {
 public:
  void add(Counts const& counts, bool has_passed);
  uint64_t seeds() const { return passed_ + failed_; }
  uint64_t passed() const { return passed_; }
  uint64_t failed() const { return failed_; }
  // One line: `totals: 200 seeds, 2.9 virtual hours, ...`.
  std::string text() const;
  // Appends one row to the table that `file` ends with. False: it cannot be written.
  bool append_to(std::string const& file, std::string_view scenario, std::string_view seeds, std::string_view outcome) const;

 private:
  uint64_t count(std::string_view name) const;
  double virtual_hours() const;
  std::string faults() const;

  Counts counts_;
  uint64_t passed_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace millrace::sim
