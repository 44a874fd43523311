#include "millrace/runtime/group_lag.h"

namespace millrace::runtime {

std::vector<GroupLag> LagTracker::update(std::vector<GroupFigures> const& groups, bool is_complete, LagSource& source,
                                         Mono now, Wall wall) {
  ++update_;
  std::vector<GroupLag> out;
  out.reserve(groups.size());
  for (auto const& group : groups) {
    auto& row = out.emplace_back(GroupLag{group.id, group.state, group.member_count, {}});
    row.partitions.reserve(group.offsets.size());
    for (auto const& offset : group.offsets) {
      auto& lag = row.partitions.emplace_back();
      lag.topic = offset.topic;
      lag.partition = offset.partition;
      lag.committed = offset.committed;
      auto const marks = source.find(offset);
      if (!marks) continue;
      lag.end = marks->high_watermark;
      lag.lag_records = std::max<int64_t>(marks->high_watermark - offset.committed, 0);

      key_.assign(group.id);
      key_ += '\0';
      key_ += offset.topic;
      key_.append(reinterpret_cast<char const*>(&offset.partition), sizeof offset.partition);
      auto [at, is_new] = history_.try_emplace(key_);
      auto& history = at->second;
      history.seen = update_;
      if (is_new || history.committed != offset.committed || lag.lag_records == 0) {
        history.committed = offset.committed;
        history.progress_at = now;
        history.lag_then = lag.lag_records;
      }
      lag.is_stuck = now - history.progress_at >= stuck_after_ && lag.lag_records > history.lag_then;
      if (lag.lag_records == 0) continue;
      // What retention has taken is not waiting any more.
      auto const first = std::max(offset.committed, marks->log_start);
      if (first >= marks->high_watermark) continue;
      if (history.timed != first) {
        auto const time = source.append_time_ms(first);
        if (!time) continue;
        history.append_time_ms = *time;
        history.timed = first;
      }
      lag.lag_ms = std::max<int64_t>(wall.ms - history.append_time_ms, 0);
    }
  }
  if (is_complete) std::erase_if(history_, [&](auto const& entry) { return entry.second.seen != update_; });
  return out;
}

}  // namespace millrace::runtime
