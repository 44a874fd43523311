// Which request of a connection may start, and whose answer leaves next: a pure machine.
//
// Requests start in the order they came, and one starts when those before it are answered. Only a Produce may start
// while Produces before it are unanswered, once all of them are with their partitions. Answers leave in the order of the
// requests. After a closing answer nothing starts. A throttled connection starts nothing until its time is over.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>

#include "millrace/base/time.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/env/response.h"

namespace millrace::net {

class RequestOrder {
 public:
  // Requests that have come and are not answered. At either limit no further frame is taken; one may pass the second.
  static constexpr size_t kRequestsMax = 64;
  static constexpr int64_t kRequestBytesMax = 4 << 20;

  enum class Answered { with_response, with_nothing, by_closing };
  struct Started {
    uint64_t number{};
    SharedBytes frame;
    Mono arrived;
  };
  struct Leaving {
    Answered how{};
    env::Response response;
    std::string close_reason;
  };

  void on_frame(SharedBytes frame, Mono arrived, bool is_produce);
  void on_handed_over(uint64_t number);
  void on_answered(uint64_t number, Leaving answer, Duration throttle, Mono now);
  void stop_starting() { may_start_more_ = false; }

  bool has_startable(Mono now) const;
  Started start_next();                 // requires has_startable()
  std::optional<Leaving> take_leaving();  // the next answer in order, if it is there

  bool is_full() const { return requests_.size() >= kRequestsMax || bytes_ >= kRequestBytesMax; }
  bool is_empty() const { return requests_.empty(); }
  size_t running_count() const { return started_count_; }
  bool is_ending() const { return !may_start_more_; }
  // When a waiting request may start after throttling.
  Mono throttled_until() const { return throttled_until_; }

  void check_invariants() const;

 private:
  struct Entry {
    SharedBytes frame;
    int64_t bytes{};
    Mono arrived;
    bool is_produce = false;
    bool is_handed_over = false;
    std::optional<Leaving> answer;
  };
  Entry* find(uint64_t number);

  std::deque<Entry> requests_;  // oldest first; the first started_count_ have been started
  uint64_t first_number_ = 0;
  size_t started_count_ = 0;
  int64_t bytes_ = 0;
  bool may_start_more_ = true;
  Mono throttled_until_{};
};

}  // namespace millrace::net
