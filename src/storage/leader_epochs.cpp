#include "millrace/storage/leader_epochs.h"

#include <algorithm>

#include "checkpoint_text.h"

namespace millrace::storage {

bool LeaderEpochs::assign(LeaderEpoch epoch, Offset start) {
  if (epoch.value < 0 || start.value < 0) return false;
  if (!entries_.empty() && epoch <= entries_.back().epoch) return false;
  // An epoch in which nothing was written leaves no trace once the next one begins at the same offset.
  while (!entries_.empty() && entries_.back().start >= start) entries_.pop_back();
  entries_.push_back({epoch, start});
  return true;
}

bool LeaderEpochs::correct(LeaderEpoch epoch, Offset first, Offset last) {
  if (epoch.value < 0 || first.value < 0) return false;
  auto const gone = std::erase_if(entries_, [&](EpochStart const& e) {
    if (e.epoch > epoch) return e.start <= last;
    return e.start > first || (e.epoch < epoch && e.start == first);
  });
  auto const after = std::find_if(entries_.begin(), entries_.end(), [&](EpochStart const& e) { return e.epoch > epoch; });
  if (after != entries_.begin() && std::prev(after)->epoch == epoch) return gone > 0;
  entries_.insert(after, {epoch, first});
  return true;
}

std::optional<EpochStart> LeaderEpochs::latest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.back();
}

std::optional<EpochStart> LeaderEpochs::earliest() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front();
}

std::optional<LeaderEpoch> LeaderEpochs::epoch_of(Offset offset) const {
  auto const after = std::upper_bound(entries_.begin(), entries_.end(), offset,
                                      [](Offset o, EpochStart const& e) { return o < e.start; });
  if (after == entries_.begin()) return std::nullopt;
  return std::prev(after)->epoch;
}

EpochEnd LeaderEpochs::end_of(LeaderEpoch epoch, Offset log_end) const {
  // Kafka takes -1 alone for "unknown"; any other epoch before the first one is merely older than all.
  if (epoch == kNoLeaderEpoch || entries_.empty()) return {};
  // Also for an epoch that has no records yet: it ends where the log ends.
  if (epoch == entries_.back().epoch) return {epoch, log_end};
  auto const after = std::upper_bound(entries_.begin(), entries_.end(), epoch,
                                      [](LeaderEpoch e, EpochStart const& entry) { return e < entry.epoch; });
  if (after == entries_.end()) return {};                       // newer than all that is known
  if (after == entries_.begin()) return {epoch, after->start};  // older than all: it ended before the first
  return {std::prev(after)->epoch, after->start};
}

bool LeaderEpochs::truncate_from_end(Offset end) {
  auto const before = entries_.size();
  while (!entries_.empty() && entries_.back().start >= end) entries_.pop_back();
  return entries_.size() != before;
}

bool LeaderEpochs::truncate_from_start(Offset start) {
  auto const after = std::upper_bound(entries_.begin(), entries_.end(), start,
                                      [](Offset o, EpochStart const& e) { return o < e.start; });
  if (after == entries_.begin()) return false;
  auto const holder = std::prev(after);
  if (holder == entries_.begin() && holder->start == start) return false;
  holder->start = start;
  entries_.erase(entries_.begin(), holder);
  return true;
}

std::string LeaderEpochs::text() const {
  auto out = fmt::format("0\n{}\n", entries_.size());
  for (auto const& entry : entries_) out += fmt::format("{} {}\n", entry.epoch, entry.start);
  return out;
}

Result<LeaderEpochs> LeaderEpochs::parse(std::string_view text) {
  LeaderEpochs out;
  CheckpointReader reader(text);
  MR_TRY(reader.read_head());
  std::array<std::string_view, 2> fields;
  while (reader.next(fields)) {
    auto const epoch = parse_number<int32_t>(fields[0]);
    auto const start = parse_number<int64_t>(fields[1]);
    if (!epoch || !start || *epoch < 0 || *start < 0) return reader.broken("not two numbers");
    if (!out.entries_.empty() &&
        (LeaderEpoch(*epoch) <= out.entries_.back().epoch || Offset(*start) < out.entries_.back().start)) {
      return reader.broken("epochs do not rise");
    }
    out.entries_.push_back({LeaderEpoch(*epoch), Offset(*start)});
  }
  MR_TRY(reader.finish());
  return out;
}

}  // namespace millrace::storage
