// The history checker. Each check is one pass over dense arrays (an offset, a client's sequence number is an index),
// so that a history of a hundred million records takes seconds.
//
//   C1 one value per (partition, offset)            C5 recency: what was acknowledged before is shown
//   C2 acknowledged sends are there                 C6 nothing refused is seen, nothing seen is gone
//   C3 an idempotent send is there at most once     C7 polls of one assignment skip and repeat nothing
//   C4 offsets respect real time                    C8 high watermark, last stable offset, log start never go back
//
// Not flagged, as Kafka allows it: gaps that no consumer ever saw a record in, loss of sends that were not
// acknowledged by all, duplicates without idempotence, unknown sends that turn out to have happened.
#pragma once
#include <string>
#include <vector>

#include "checker/history.h"

namespace millrace::checker {

struct Violation {
  std::string check;  // "C1" ... "C8", or "D4": a record that nobody sent
  PartitionIndex partition{};
  std::string text;
};

// At most `violations_max`, of each check the first ones.
std::vector<Violation> check(History const& history, size_t violations_max = 16);

}  // namespace millrace::checker
