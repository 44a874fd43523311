// Leader epochs and where each begins (`leader-epoch-checkpoint`). Plain value; the owner saves it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"

namespace millrace::storage {

struct EpochStart {
  LeaderEpoch epoch;
  Offset start;
  friend bool operator==(EpochStart, EpochStart) = default;
};

struct EpochEnd {
  LeaderEpoch epoch = kNoLeaderEpoch;
  Offset end{-1};
  friend bool operator==(EpochEnd, EpochEnd) = default;
};

class LeaderEpochs {
 public:
  // An epoch that is not newer than the latest is ignored, as is a start that repeats it. Returns whether the
  // entries changed.
  bool assign(LeaderEpoch epoch, Offset start);
  // A batch of `epoch` holds the offsets from `first` to `last`: whatever says otherwise goes. Returns as assign().
  bool correct(LeaderEpoch epoch, Offset first, Offset last);
  std::optional<EpochStart> latest() const;
  std::optional<EpochStart> earliest() const;
  std::optional<LeaderEpoch> epoch_of(Offset offset) const;
  // The largest epoch at or below `epoch` and the offset just past its last record; {-1, -1} when unknown.
  EpochEnd end_of(LeaderEpoch epoch, Offset log_end) const;
  bool truncate_from_end(Offset end);      // drops epochs that start at or past `end`
  bool truncate_from_start(Offset start);  // the epoch that holds `start` now starts there
  void clear() { entries_.clear(); }
  std::vector<EpochStart> const& entries() const { return entries_; }

  std::string text() const;
  static Result<LeaderEpochs> parse(std::string_view text);
  friend bool operator==(LeaderEpochs const&, LeaderEpochs const&) = default;

 private:
  std::vector<EpochStart> entries_;  // both columns rise
};

}  // namespace millrace::storage
