// Truncation, record deletion and retention.
#include "partition_body.h"

namespace millrace::storage {
namespace {

// A time at which no producer has expired.
constexpr Wall kExpireNone{std::numeric_limits<int64_t>::min() / 2};

}  // namespace

Status PartitionLog::Body::remove_files(Segment& segment) {
  auto& disk = directory.disk();
  auto paths = segment.index_paths();
  paths.insert(paths.begin(), segment.path(".log"));
  segment.retire();
  for (auto const& file : paths) {
    if (auto removed = disk.remove_file(file); !removed && removed.error().kind != ErrorKind::not_found) return removed;
  }
  return {};
}

Status PartitionLog::Body::remove_snapshots_past(Offset offset) {
  // It is the newest one's. Another snapshot at the same offset, with the same content, may get other batches.
  if (!snapshots.empty() && *snapshots.rbegin() > offset) MR_TRY(remove_producer_batches());
  while (!snapshots.empty() && *snapshots.rbegin() > offset) {
    auto removed = directory.disk().remove_file(path(offset_file_stem(*snapshots.rbegin()) + ".snapshot"));
    if (!removed && removed.error().kind != ErrorKind::not_found) return removed;
    snapshots.erase(std::prev(snapshots.end()));
  }
  return {};
}

void PartitionLog::Body::retire() {
  std::lock_guard compaction_lock(compaction_mutex);
  std::lock_guard lock(io_mutex);
  is_deleted = true;
  std::lock_guard state(state_mutex);
  for (auto const& segment : published->all()) segment->retire();
}

// What is written past a cut was never compacted.
Status PartitionLog::Body::lower_first_dirty(Offset to) {
  if (first_dirty.load() <= to.value) return {};
  auto const before = first_dirty.exchange(to.value);
  auto lowered = directory.write_cleaner_checkpoint(LogDirectory::IfFull::refuse);
  if (!lowered) first_dirty = before;
  return checked(std::move(lowered), "lower the cleaned offset of");
}

// What the directory's files say of this log beyond `point` and `mark` would vouch for bytes that are written there
// later. It is taken back durably before the log is cut; where there is no room for that, the log stays as it is.
Status PartitionLog::Body::lower_promises(int64_t point, int64_t mark) {
  auto const old_point = recovery_point.load(), old_mark = high_watermark.load();
  Status lowered;
  if (old_point > point) {
    recovery_point = point;
    lowered = checked(directory.write_recovery_points(LogDirectory::IfFull::refuse), "lower the recovery point of");
  }
  if (lowered && kind == LogKind::partition && old_mark > mark) {
    high_watermark = mark;
    lowered = checked(directory.write_checkpoints(LogDirectory::IfFull::refuse), "lower the high watermark of");
  }
  if (lowered) return {};
  recovery_point = old_point;
  high_watermark = old_mark;
  return lowered;
}

Status PartitionLog::Body::truncate_to(Offset offset) {
  MR_TRY(usable());
  if (offset >= end()) {
    if (kind == LogKind::plain) return {};
    // An epoch whose leader was replaced before it wrote anything leaves no trace, or its replica would be told to cut
    // it again and again.
    bool is_changed = false;
    {
      std::lock_guard state(state_mutex);
      is_changed = epochs.truncate_from_end(end());
      are_epochs_dirty = are_epochs_dirty || is_changed;
    }
    if (is_changed) mark_dirty();
    return {};
  }
  if (offset < segments.front()->base()) return truncate_fully_and_start_at(offset, Wall{active().touched_ms()});
  std::lock_guard lock(io_mutex);
  // Where compaction has been the cut may fall between batches, and the next start finds an earlier end.
  bool const is_compacted = offset.value < first_dirty.load();
  auto const point = is_compacted ? segments[SegmentList(segments).find(offset).value_or(0)]->base() : offset;
  MR_TRY(lower_first_dirty(offset));
  MR_TRY(lower_promises(point.value, offset.value));
  ++cut_count;
  auto const work = [&]() -> Status {
    // Newest first: a crash on the way leaves a whole log.
    std::vector<std::shared_ptr<Segment>> removed;
    while (segments.size() > 1 && active().base() >= offset) {
      removed.push_back(segments.back());
      segments.pop_back();
    }
    auto& last = active();
    MR_TRY_ASSIGN(auto const located, last.locate(offset, Position(last.size()), env::Wait::yes));
    if (kind == LogKind::partition) {
      MR_TRY(append_times.truncate_to({offset, last.base(), located.position.value}));
    }
    // Readers stop first.
    publish();
    for (auto const& segment : removed) {
      segment->revoke_leases_past(Position(0));
      MR_TRY(remove_files(*segment));
      // Durably one by one, or a power loss could bring back a newer one without an older.
      MR_TRY(directory.disk().sync_directory(path()));
    }
    MR_TRY(last.truncate(located.is_past_end ? Position(last.size()) : located.position, offset));
    {
      std::lock_guard state(state_mutex);
      end_offset.store(offset.value, std::memory_order_release);
      epochs.truncate_from_end(offset);
      are_epochs_dirty = true;
    }
    if (log_start.load() > offset.value) log_start = offset.value;
    if (synced_end.load() > offset.value) synced_end = offset.value;
    flushed_position = std::min(flushed_position.load(), end_mark().position.value);
    MR_TRY(remove_snapshots_past(offset));
    if (kind == LogKind::plain) return {};
    return load_producers(kExpireNone, offset, std::nullopt);
  };
  auto done = work();
  if (!done) {
    // Half of it is done: this log cannot go on.
    auto error = failed(std::move(done).error(), "truncate");
    directory.mark_offline(error.message);
    return error;
  }
  mark_dirty();
  return {};
}

Status PartitionLog::Body::truncate_fully_and_start_at(Offset offset, Wall now) {
  MR_TRY(usable());
  std::lock_guard lock(io_mutex);
  MR_TRY(lower_first_dirty(offset));
  // Until the new segment is durable a crash may leave no segment at all, or only the oldest. Then the log begins at the
  // start that was last noted, which may be long past: nothing may be vouched for. The next sync raises the point again.
  MR_TRY(lower_promises(0, 0));
  ++cut_count;
  auto const work = [&]() -> Status {
    auto const removed = std::exchange(segments, {});
    auto const position = removed.empty() ? LogPosition(0) : removed.back()->log_end();
    for (auto i = removed.rbegin(); i != removed.rend(); ++i) {
      (*i)->revoke_all();
      MR_TRY(remove_files(**i));
      MR_TRY(directory.disk().sync_directory(path()));
    }
    MR_TRY(remove_snapshots_past(Offset(-1)));
    if (kind == LogKind::partition) MR_TRY(append_times.truncate_fully());
    MR_TRY_ASSIGN(auto segment, Segment::create(directory.files(), path(), offset, position, rules(), now));
    segments.push_back(std::move(segment));
    publish();
    std::lock_guard state(state_mutex);
    epochs.clear();
    are_epochs_dirty = true;
    producers.clear();
    snapshot_position = position.value;
    end_offset.store(offset.value, std::memory_order_release);
    log_start = offset.value;
    high_watermark = offset.value;
    synced_end = offset.value;
    durable_first_base = 0;
    flushed_position = position.value;
    is_directory_unsynced = true;
    return {};
  };
  auto done = work();
  if (!done) {
    auto error = failed(std::move(done).error(), "empty");
    directory.mark_offline(error.message);
    return error;
  }
  mark_dirty();
  return {};
}

void PartitionLog::Body::advance_log_start(Offset to) {
  if (to.value <= log_start.load()) return;
  log_start.store(to.value, std::memory_order_release);
  std::lock_guard lock(state_mutex);
  if (epochs.truncate_from_start(to)) are_epochs_dirty = true;
}

// Takes the oldest segments out of the log. Their files get Kafka's `.deleted` at once, since a log that is emptied
// later may need the names, and wait for unlink(). Oldest first, the log before its indexes: what a crash leaves is a
// log that begins a little earlier.
Result<std::shared_ptr<DeletedSegments>> PartitionLog::Body::take_front(size_t count, RetentionResult& result) {
  auto& disk = directory.disk();
  auto files = std::make_shared<DeletedSegments>();
  files->disk = &disk;
  auto const set_aside = [&](std::string const& file) -> Status {
    auto renamed = disk.rename(file, file + ".deleted");
    if (renamed) files->paths.push_back(file + ".deleted");
    if (!renamed && renamed.error().kind == ErrorKind::not_found) return {};
    return renamed;
  };
  std::vector<std::shared_ptr<Segment>> const removed(segments.begin(),
                                                      segments.begin() + static_cast<ptrdiff_t>(count));
  segments.erase(segments.begin(), segments.begin() + static_cast<ptrdiff_t>(count));
  publish();
  for (auto const& segment : removed) {
    result.bytes += segment->size();
    segment->retire();
    MR_TRY(checked(set_aside(segment->path(".log")), "delete from"));
    for (auto const& file : segment->index_paths()) MR_TRY(checked(set_aside(file), "delete from"));
  }
  while (!snapshots.empty() && *snapshots.begin() < segments.front()->base()) {
    MR_TRY(checked(set_aside(path(offset_file_stem(*snapshots.begin()) + ".snapshot")), "delete from"));
    snapshots.erase(snapshots.begin());
  }
  result.segment_count = count;
  return files;
}

Result<RetentionResult> PartitionLog::Body::delete_records(Offset before, Offset mark) {
  MR_TRY(usable());
  if (before > mark) {
    return Error{ErrorKind::out_of_range,
                 fmt::format("delete records of {} before {}: the high watermark is {}", name, before, mark)};
  }
  RetentionResult result;
  result.log_start = Offset(log_start.load());
  if (before <= result.log_start) return result;
  // On the disk before anybody sees it. A full disk refuses it.
  log_start_wanted = before.value;
  auto saved = directory.write_checkpoints(LogDirectory::IfFull::refuse);
  log_start_wanted = 0;
  MR_TRY(checked(std::move(saved), "save the log start of"));
  advance_log_start(before);
  std::lock_guard lock(io_mutex);
  size_t count = 0;
  while (count + 1 < segments.size() && segments[count + 1]->base() <= before) ++count;
  if (count > 0) {
    MR_TRY_ASSIGN(result.files, take_front(count, result));
  }
  result.log_start = before;
  mark_dirty();
  return result;
}

// The oldest segments that may go. A segment is as old as its latest record; records that claim to come from the
// future, or that have no time, are as old as the last append to their segment.
Result<size_t> PartitionLog::Body::count_expired(Wall now, Offset mark) {
  auto const upper = [&](size_t i) { return i + 1 < segments.size() ? segments[i + 1]->base() : end(); };
  auto const may_go = [&](size_t i) {
    bool const is_last = i + 1 == segments.size();
    return upper(i) <= mark && !(is_last && segments[i]->size() == 0);
  };
  size_t count = 0;
  while (count + 1 < segments.size() && upper(count).value <= log_start.load() && may_go(count)) ++count;
  if (!config.is_deleting) return count;
  if (config.retention_bytes >= 0) {
    int64_t excess = -config.retention_bytes;
    for (auto i = count; i < segments.size(); ++i) excess += segments[i]->size();
    while (count < segments.size() && may_go(count) && excess - segments[count]->size() >= 0)
      excess -= segments[count++]->size();
  }
  if (config.retention_ms >= 0) {
    for (; count < segments.size() && may_go(count); ++count) {
      auto const largest = segments[count]->largest_timestamp();
      if (!largest) return largest.error();
      auto time = largest->timestamp_ms;
      if (time < 0 || time > now.ms) time = segments[count]->touched_ms();
      if (now.ms - time <= config.retention_ms) break;
    }
  }
  return count;
}

Result<RetentionResult> PartitionLog::Body::apply_retention(Wall now, Offset mark) {
  MR_TRY(usable());
  RetentionResult result;
  result.log_start = Offset(log_start.load());
  auto counted = count_expired(now, mark);
  if (!counted) return failed(std::move(counted).error(), "apply retention to");
  auto const count = *counted;
  if (count == 0) return result;
  // The log always has a segment: the last one of a quiet topic goes once an empty one follows it.
  if (count == segments.size()) {
    if (auto rolled = roll(end(), now); !rolled) return failed(std::move(rolled).error(), "roll");
  }
  std::lock_guard lock(io_mutex);
  MR_TRY_ASSIGN(result.files, take_front(count, result));
  advance_log_start(segments.front()->base());
  if (kind == LogKind::partition) {
    if (auto trimmed = append_times.trim(segments.front()->base());
        !trimmed && trimmed.error().kind != ErrorKind::no_space) {
      return failed(std::move(trimmed).error(), "trim the append times of");
    }
  }
  result.log_start = Offset(log_start.load());
  mark_dirty();
  return result;
}

Status PartitionLog::unlink(DeletedSegments& files) {
  for (auto const& path : std::exchange(files.paths, {})) {
    if (auto removed = files.disk->remove_file(path); !removed && removed.error().kind != ErrorKind::not_found)
      return removed;
  }
  return {};
}

Wall RetentionClock::observe(Wall wall, Mono mono) {
  if (!last_) {
    last_ = {wall, mono};
    return wall;
  }
  auto const& [last_wall, last_mono] = *last_;
  Wall const expected{last_wall.ms + to_ms(mono - last_mono)};
  bool const is_ahead = wall.ms - expected.ms > to_ms(kJumpMax);
  if (is_ahead && !jumped_) jumped_ = mono;
  if (!is_ahead) jumped_.reset();
  if (is_ahead && mono - *jumped_ < kHold) return expected;
  jumped_.reset();
  last_ = {wall, mono};
  return wall;
}

}  // namespace millrace::storage
