// Byte quotas of clients, as Kafka enforces them: what a client moved is counted in windows of a second; who is above
// the limit of its user or client id is told how long to wait, and its connection is muted for that time. Any thread.
#pragma once
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "millrace/base/time.h"
#include "millrace/metadata/client_quotas.h"

namespace millrace::broker {

using metadata::QuotaWindows;

// A rate over the last windows. Times never go back by more than threads disagree.
class WindowedRate {
 public:
  explicit WindowedRate(QuotaWindows windows) : windows_(windows), samples_(static_cast<size_t>(windows.count)) {}

  void record(double value, Mono now);
  void unrecord(double value, Mono now) { record(-value, now); }
  double per_second(Mono now);
  // The time that the rate is taken over. Less data than all windows but one hold counts as that much, so that a first
  // burst does not look like a high rate.
  Duration span(Mono now);
  Mono last_used() const { return last_used_; }

 private:
  struct Sample {
    Mono start;
    double sum = 0;
    bool is_used = false;
  };
  void drop_old(Mono now);

  QuotaWindows const windows_;
  std::vector<Sample> samples_;
  size_t current_ = 0;
  Mono last_used_;
};

class ClientQuotas {
 public:
  // Rates that are kept at once; the one that was used longest ago goes first.
  static constexpr size_t kRatesMax = 100'000;

  explicit ClientQuotas(QuotaWindows windows) : windows_(windows) {}

  // Counts `bytes` against the limit of `key`, if there is one, and says how long the client has to wait.
  Duration record(metadata::Image const& image, std::string_view user, std::string_view client_id, std::string_view key,
                  int64_t bytes, Mono now);
  // Takes back what was counted: it was not sent after all.
  void unrecord(metadata::Image const& image, std::string_view user, std::string_view client_id, std::string_view key,
                int64_t bytes, Mono now);
  // The most that one answer may hold, so that it does not use up more than all windows.
  int64_t bytes_max(metadata::Image const& image, std::string_view user, std::string_view client_id,
                    std::string_view key) const;

  size_t rate_count() const;

 private:
  using Name = std::tuple<std::string, std::string, std::string>;  // key, user, client id
  struct Rate {
    Name name;
    WindowedRate rate;
  };
  struct NameHash {
    size_t operator()(Name const& n) const noexcept {
      std::hash<std::string> const hash;
      return (hash(std::get<0>(n)) * 31 + hash(std::get<1>(n))) * 31 + hash(std::get<2>(n));
    }
  };
  WindowedRate& rate_of(std::string_view key, metadata::QuotaLimit const& limit);

  QuotaWindows const windows_;
  mutable std::mutex mutex_;
  std::list<Rate> rates_;  // used last first
  std::unordered_map<Name, std::list<Rate>::iterator, NameHash> by_name_;
};

}  // namespace millrace::broker
