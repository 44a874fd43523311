// What one thread counts of the requests that it serves. Raised by that thread, read by any; nothing is shared.
#pragma once
#include <array>
#include <bit>
#include <string_view>
#include <utility>
#include <vector>

#include "millrace/base/counter.h"
#include "millrace/base/time.h"
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::broker {

// Upper bounds of the times from a request's arrival to its answer, the last one open.
inline constexpr std::array<double, 16> kRequestSeconds{0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                        0.025,   0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};

struct ApiCounters {
  // Reading the clock for each request of a busy API would cost more than everything else here.
  static constexpr int64_t kTimedAll = 1024;  // the first ones are all timed
  static constexpr int64_t kTimedEvery = 16;  // of the others

  Counter came, errors;
  Counter timed, timed_us;
  std::array<Counter, kRequestSeconds.size() + 1> times;

  bool is_timed_now() const { return came.value() < kTimedAll || came.value() % kTimedEvery == 0; }
  void add_time(Duration time) {
    auto const seconds = static_cast<double>(time.count()) / 1e9;
    size_t i = 0;
    while (i < kRequestSeconds.size() && seconds > kRequestSeconds[i]) ++i;
    times[i].add(1);
    timed.add(1);
    timed_us.add(time.count() / 1000);
  }
};

struct RequestCounters {
  static constexpr size_t kApiCount = 128;
  static constexpr size_t kErrorCount = 160;  // codes from -1 on; what is beyond counts as the last

  std::array<ApiCounters, kApiCount> apis;
  std::array<Counter, kErrorCount> errors;
  Counter parked_fetches;  // now

  ApiCounters& of(ApiKey key) { return apis[static_cast<size_t>(key)]; }
  ApiCounters const& of(ApiKey key) const { return apis[static_cast<size_t>(key)]; }
  Counter& error(int16_t code) {
    auto const i = static_cast<size_t>(code + 1);
    return errors[i < kErrorCount ? i : kErrorCount - 1];
  }
  static ErrorCode error_at(size_t index) { return static_cast<ErrorCode>(static_cast<int16_t>(index) - 1); }
};

// The sum over all threads.
struct ApiFigures {
  std::string_view name;
  int64_t came = 0, errors = 0;
  int64_t timed = 0;
  double timed_seconds = 0;
  std::array<int64_t, kRequestSeconds.size() + 1> times{};

  void add(ApiCounters const& counters);
};

struct RequestFigures {
  std::vector<ApiFigures> apis;                              // that are served
  std::vector<std::pair<std::string_view, int64_t>> errors;  // that were answered, by name
  int64_t parked_fetches = 0;
  int64_t fetch_sessions = 0, fetch_session_partitions = 0;
};

inline void ApiFigures::add(ApiCounters const& counters) {
  came += counters.came.value();
  errors += counters.errors.value();
  timed += counters.timed.value();
  timed_seconds += static_cast<double>(counters.timed_us.value()) / 1e6;
  for (size_t i = 0; i < times.size(); ++i) times[i] += counters.times[i].value();
}

}  // namespace millrace::broker
