// The history checker. Each check is one pass over dense arrays (an offset, a client's sequence number is an index),
// so that a history of a hundred million records takes seconds.
//
//   C1 one value per (partition, offset)            C5 recency: what was acknowledged before is shown
//   C2 acknowledged sends are there                 C6 nothing refused is seen, nothing seen is gone
//   C3 an idempotent send is there at most once     C7 polls of one assignment skip and repeat nothing
//   C4 offsets respect real time                    C8 high watermark, last stable offset, log start never go back
//
// Of groups, and of what nodes tell of themselves where a run records it (group_checks.cpp, node_checks.cpp):
//
//   C9 a fetch of committed offsets finds the last one acknowledged, or one that may have come after it
//   C10 a partition has one owner at a time         G3 a commit of a generation that is over is refused
//   R3, M1 one leader an epoch                      M4 one vote a voter and epoch
//   M3 one image an offset                          C14 replicas hold the same batches below their marks
//
// Not flagged, as Kafka allows it: gaps that no consumer ever saw a record in, loss of sends that were
// acknowledged by a leader alone that did not stay, duplicates without idempotence, unknown sends that turn out to have
// happened.
#pragma once
#include <string>
#include <vector>

#include "checker/history.h"

namespace millrace::checker {

struct Violation {
  std::string check;  // "C1" ... "C14", or the invariant: "D4" is a record that nobody sent
  PartitionIndex partition{};
  std::string text;
};

// At most `violations_max`, of each check the first ones.
std::vector<Violation> check(History const& history, size_t violations_max = 16);

// The same where the machine of a sole replica lost power at those times, in rising order, with data in its page cache:
// each may have taken the ends of logs, and nothing but ends. All else must hold between one loss and the next.
std::vector<Violation> check_with_losses(History const& history, std::span<Nanos const> losses,
                                         size_t violations_max = 16);

}  // namespace millrace::checker
