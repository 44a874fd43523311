// Incremental fetch sessions (KIP-227): what a client asked for last time and what it was told, so that a Fetch need
// only carry differences. One bounded cache a node; any thread.
#pragma once
#include <cstddef>

namespace millrace::broker {

class FetchSessions {
 public:
  explicit FetchSessions(size_t session_count_max) : session_count_max_(session_count_max) {}
  size_t session_count_max() const { return session_count_max_; }

 private:
  size_t const session_count_max_;
};

}  // namespace millrace::broker
