// Opening a log that is there: which files count, where the log ends, and what is made anew.
#include <set>

#include "checkpoint_text.h"
#include "partition_body.h"
#include "producer_batches.h"

namespace millrace::storage {
namespace {

constexpr std::string_view kArea = "storage";
constexpr int64_t kSnapshotBytesMax = 1LL << 30;
constexpr int64_t kEpochsBytesMax = 64 << 20;
constexpr size_t kStemDigits = 20;

// `<20 digits><suffix>`; none: another file.
std::optional<std::pair<Offset, std::string_view>> split_name(std::string_view name) {
  if (name.size() <= kStemDigits || name[kStemDigits] != '.') return std::nullopt;
  auto const offset = parse_number<int64_t>(name.substr(0, kStemDigits));
  if (!offset || *offset < 0) return std::nullopt;
  return std::pair(Offset(*offset), name.substr(kStemDigits));
}

// Whether a whole batch that passes its check and fits behind `after` lies anywhere in [from, end).
Result<bool> has_valid_batch(env::File& file, Position from, int64_t end, Offset after) {
  constexpr int64_t kStep = 1 << 20;
  std::vector<std::byte> window;
  std::vector<std::byte> whole;
  for (auto at = from.value; at + static_cast<int64_t>(record::kBatchHeaderBytes) <= end; at += kStep) {
    auto const count =
        static_cast<size_t>(std::min<int64_t>(end - at, kStep + static_cast<int64_t>(record::kBatchHeaderBytes)));
    window.resize(count);
    MR_TRY_ASSIGN(auto const got, file.read(Position(at), window));
    ByteView const bytes(window.data(), got);
    for (size_t i = 0; i + record::kBatchHeaderBytes <= bytes.size() && i < static_cast<size_t>(kStep); ++i) {
      if (bytes[i + record::kMagicPosition] != std::byte{2}) continue;
      auto const head = read_batch_head(bytes.subspan(i));
      if (!head || head->base_offset < after || head->last_offset - after > std::numeric_limits<int32_t>::max())
        continue;
      if (head->size_bytes > end - at - static_cast<int64_t>(i)) continue;
      whole.resize(static_cast<size_t>(head->size_bytes));
      MR_TRY_ASSIGN(auto const size, file.read(Position(at + static_cast<int64_t>(i)), whole));
      if (size == whole.size() && !record::check(record::BatchView(whole))) return true;
    }
  }
  return false;
}

}  // namespace

struct PartitionLog::Body::Files {
  std::map<Offset, Segment::Found> segments;
};

Status PartitionLog::Body::create(Offset start, Wall now) {
  MR_TRY_ASSIGN(auto segment, Segment::create(directory.files(), path(), start, LogPosition(0), rules(), now));
  segments.push_back(std::move(segment));
  end_offset = log_start = recovery_point = high_watermark = synced_end = start.value;
  high_watermark_at_start = start;
  publish();
  return {};
}

// A compaction that was finished but not installed: `.swap` files replace the segments that they cover.
// `.cleaned` and `.deleted` files are leftovers.
Status PartitionLog::Body::finish_swaps(std::vector<env::DirectoryEntry>& entries) {
  auto& disk = directory.disk();
  std::set<Offset> swaps;
  std::optional<Offset> first_cleaned;
  for (auto const& entry : entries) {
    auto const parts = split_name(entry.name);
    if (!parts) continue;
    if (parts->second.ends_with(".cleaned") && (!first_cleaned || parts->first < *first_cleaned))
      first_cleaned = parts->first;
    if (parts->second == ".log.swap") swaps.insert(parts->first);
  }
  // Swap files at or past an unfinished cleaning belong to the same unfinished work: the originals are still whole.
  if (first_cleaned) std::erase_if(swaps, [&](Offset o) { return o >= *first_cleaned; });
  bool is_changed = false;
  for (auto const base : swaps) {
    auto const swap = path(offset_file_stem(base) + ".log.swap");
    MR_TRY_ASSIGN(auto file, disk.open(swap, env::OpenMode::read));
    MR_TRY_ASSIGN(auto const size, file->size());
    BatchScanner scanner(*file, Position(0), Position(size));
    BatchHead head;
    auto next = base + 1;
    for (;;) {
      MR_TRY_ASSIGN(auto const more, scanner.next(head));
      if (!more) break;
      next = head.last_offset + 1;
    }
    for (auto const& entry : entries) {
      auto const parts = split_name(entry.name);
      if (!parts || parts->first < base || parts->first >= next) continue;
      if (parts->second == ".log" || parts->second == ".index" || parts->second == ".timeindex" ||
          parts->second == ".txnindex") {
        MR_TRY(disk.remove_file(path(entry.name)));
      }
    }
    // Durably gone before another takes a name among them.
    MR_TRY(disk.sync_directory(path()));
    MR_TRY(disk.rename(swap, path(offset_file_stem(base) + ".log")));
    is_changed = true;
  }
  for (auto const& entry : entries) {
    if (!entry.name.ends_with(".swap") && !entry.name.ends_with(".cleaned") && !entry.name.ends_with(".deleted"))
      continue;
    if (auto const parts = split_name(entry.name);
        parts && parts->second == ".log.swap" && swaps.contains(parts->first))
      continue;
    MR_TRY(disk.remove_file(path(entry.name)));
    is_changed = true;
  }
  if (!is_changed) return {};
  MR_TRY(disk.sync_directory(path()));
  MR_TRY_ASSIGN(entries, disk.list(path()));
  return {};
}

Result<PartitionLog::Body::Files> PartitionLog::Body::list_files() {
  auto& disk = directory.disk();
  MR_TRY_ASSIGN(auto entries, disk.list(path()));
  MR_TRY(finish_swaps(entries));
  Files files;
  for (auto const& entry : entries) {
    auto const parts = split_name(entry.name);
    if (!parts) continue;
    if (parts->second == ".log") {
      auto& found = files.segments[parts->first];
      found.log_bytes = entry.bytes;
      found.modified_ms = entry.modified_ms;
    } else if (parts->second == ".snapshot") {
      snapshots.insert(parts->first);
    }
  }
  for (auto const& entry : entries) {
    auto const parts = split_name(entry.name);
    if (!parts) continue;
    bool const is_index = parts->second == ".index" || parts->second == ".timeindex" || parts->second == ".txnindex";
    if (!is_index) continue;
    auto const segment = files.segments.find(parts->first);
    if (segment == files.segments.end()) {
      MR_TRY(disk.remove_file(path(entry.name)));  // its log was deleted
    } else if (parts->second == ".index") {
      segment->second.index_bytes = entry.bytes;
    } else if (parts->second == ".timeindex") {
      segment->second.time_index_bytes = entry.bytes;
    } else {
      segment->second.transaction_index_bytes = entry.bytes;
    }
  }
  return files;
}

Status PartitionLog::Body::open(Start const& start, Wall now) {
  first_dirty = start.first_dirty.value_or(Offset(-1)).value;
  MR_TRY_ASSIGN(auto files, list_files());
  // Segments that lie below the log start as a whole were deleted already.
  while (files.segments.size() > 1 && std::next(files.segments.begin())->first <= start.log_start) {
    auto const base = files.segments.begin()->first;
    for (auto const* suffix : {".log", ".index", ".timeindex", ".txnindex"}) {
      auto removed = directory.disk().remove_file(path(offset_file_stem(base) + suffix));
      if (!removed && removed.error().kind != ErrorKind::not_found) return removed;
    }
    files.segments.erase(files.segments.begin());
  }
  LogPosition position(0);
  for (auto const& [base, found] : files.segments) {
    segments.push_back(std::make_shared<Segment>(directory.files(), path(), base, position, found, rules()));
    position += found.log_bytes;
  }
  if (segments.empty()) {
    MR_TRY(create(start.log_start, now));
  } else {
    for (size_t i = 0; i + 1 < segments.size(); ++i) segments[i]->mark_sealed();
    MR_TRY(load_index_checks());
    if (kind == LogKind::partition) MR_TRY(check_transaction_indexes(start));
    MR_TRY(load_epochs());
    MR_TRY(recover_tail(start));
    // Past the recovery point a snapshot may tell of batches that were lost or cut: what removes it is durable only
    // with the next recovery point.
    if (start.stop != PreviousStop::clean) MR_TRY(remove_snapshots_past(start.recovery_point));
    MR_TRY(mend_transaction_indexes());
    log_start = std::max(start.log_start, segments.front()->base()).value;
    publish();
  }
  // Synced bytes do not go away by themselves, whole batches at the end included, and no cut leaves a point past the end.
  if (end() < start.certain()) {
    return Error{ErrorKind::corrupt, fmt::format("ends at offset {}, was synced up to {}", end(), start.certain())};
  }
  append_times.start_at(end());
  if (Offset(log_start.load()) > end()) MR_TRY(truncate_fully_and_start_at(Offset(log_start.load()), now));
  recovery.were_epochs_rebuilt = recovery.were_epochs_rebuilt && (has_epochs_ || active().size() == 0);
  if (recovery.were_epochs_rebuilt) MR_TRY(rebuild_epochs());
  if (epochs.truncate_from_end(end())) are_epochs_dirty = true;
  if (epochs.truncate_from_start(Offset(log_start.load()))) are_epochs_dirty = true;
  auto const point =
      start.stop == PreviousStop::clean ? end() : std::clamp(start.recovery_point, segments.front()->base(), end());
  recovery_point = point.value;
  synced_end = point.value;
  if (start.stop == PreviousStop::clean) durable_first_base = segments.front()->base().value;
  // A process that was killed may have made the directory, or a segment, and not lived to sync its entry.
  is_directory_unsynced = start.stop != PreviousStop::clean;
  flushed_position = end_mark().position.value;
  last_flushed = {
      .end = point, .first_base = Offset(durable_first_base.load()), .cut_count = cut_count, .has_no_producers = start.has_no_producers, .indexes = start.indexes};
  high_watermark_at_start = std::clamp(start.high_watermark, Offset(log_start.load()), end());
  high_watermark = high_watermark_at_start.value;
  if (kind == LogKind::plain) return {};
  return load_producers(now, point, start.has_no_producers ? std::optional(start.recovery_point) : std::nullopt);
}

Status PartitionLog::Body::recover_tail(Start const& start) {
  auto const stop = start.stop;
  auto const point = start.recovery_point;
  bool const is_clean = stop == PreviousStop::clean;
  // Below the recovery point nothing is read. After a clean stop only the last segment's end is found.
  size_t first = segments.size() - 1;
  if (!is_clean) {
    while (first > 0 && segments[first]->base() > point) --first;
  }
  auto expected = segments[first]->base();
  for (size_t i = first; i < segments.size(); ++i) {
    auto& segment = *segments[i];
    auto const file_bytes = segment.size();
    if (i > first && segment.base() > expected && expected >= start.certain() && stop == PreviousStop::machine_lost &&
        !config.is_compacting && !start.first_dirty) {
      // A truncation had removed this segment and those before it; the loss brought only some of them back.
      directory.options().log->warn(kArea, "{}: segment {} follows offset {}; the log is cut there", name,
                                    segment.base(), expected);
      return cut_tail(i - 1, Position(segments[i - 1]->size()), expected, stop);
    }
    expected = std::max(expected, segment.base());
    if (file_bytes == 0) continue;
    auto const from_offset = is_clean     ? Offset(std::numeric_limits<int64_t>::max())
                             : i == first ? point
                                          : segment.base();
    if (is_clean) MR_TRY(segment.apply_checks());
    auto const saved = !is_clean && segment.base() == start.indexes.base ? std::optional(start.indexes) : std::nullopt;
    MR_TRY_ASSIGN(auto const from, segment.begin_rescan(from_offset, saved));
    if (start.is_cache_suspect) MR_TRY(write_again(segment, from));
    MR_TRY_ASSIGN(auto file, segment.file().acquire());
    BatchScanner scanner(*file, from, Position(file_bytes));
    std::optional<Position> bad;
    std::string why;
    for (BatchHead head;;) {
      auto const more = scanner.next(head);
      if (!more && more.error().kind != ErrorKind::corrupt) return more.error();
      if (more && !*more) break;
      if (!more) {
        why = more.error().message;
      } else if (head.base_offset < expected && from < scanner.position()) {
        why = fmt::format("base offset {} where at least {} must be", head.base_offset, expected);
      } else if (!segment.can_hold(head.last_offset)) {
        why = fmt::format("last offset {} in a segment that begins at {}", head.last_offset, segment.base());
      } else if (!is_clean && head.last_offset >= point) {
        MR_TRY_ASSIGN(auto const bytes, scanner.bytes());
        if (auto const fault = record::check(record::BatchView(bytes))) why = fault.message;
      }
      if (!why.empty()) {
        bad = scanner.position();
        break;
      }
      expected = head.last_offset + 1;
      segment.account(scanner.position(), head);
      has_epochs_ = has_epochs_ || head.leader_epoch.value >= 0;
      // The file may be older than a cut, and tell of epochs whose records went with it.
      if (head.last_offset >= point && epochs.correct(head.leader_epoch, head.base_offset, head.last_offset)) {
        are_epochs_dirty = true;
      }
    }
    segment.commit_found(bad ? bad->value : file_bytes);
    if (!is_clean) recovery.scanned_bytes += segment.size() - from.value;
    if (!bad) continue;

    bool const is_last = i + 1 == segments.size();
    MR_TRY_ASSIGN(bool const is_followed, has_valid_batch(*file, *bad, file_bytes, expected));
    auto const describe = [&] { return fmt::format("segment {} at {}: {}", segment.base(), *bad, why); };
    // Only what a lost machine had not written may be missing in the middle. Whatever was synced or only passed
    // through the page cache of a machine that lived on is damage, to be repaired from a peer.
    bool const may_cut = stop == PreviousStop::machine_lost
                             ? expected >= start.certain()
                             : is_last && !is_followed && (is_clean ? false : expected >= point);
    if (!may_cut) return Error{ErrorKind::corrupt, describe()};
    directory.options().log->warn(kArea, "{}: {}; the log is cut at offset {}", name, describe(), expected);
    return cut_tail(i, *bad, expected, stop);
  }
  if (!is_clean) active().expect_preallocation();
  end_offset = expected.value;
  return {};
}

// What the page cache holds is given to the disk once more, and is from then on what can be read.
Status PartitionLog::Body::write_again(Segment& segment, Position from) {
  MR_TRY_ASSIGN(auto file, segment.file().acquire_for_write());
  MR_TRY_ASSIGN(auto const file_bytes, file->size());
  std::vector<std::byte> block(1 << 20);
  for (auto at = from.value; at < file_bytes;) {
    MR_TRY_ASSIGN(auto const got, file->read(Position(at), block));
    if (got == 0) break;
    ByteView const piece(block.data(), got);
    MR_TRY(file->write(Position(at), {&piece, 1}));
    at += static_cast<int64_t>(got);
  }
  return checked(file->sync(), "sync");
}

Status PartitionLog::Body::cut_tail(size_t index, Position position, Offset end, PreviousStop stop) {
  auto& disk = directory.disk();
  recovery.first_cut_offset = end;
  // The cut bytes stay in a side file: on a sole replica they may be the only copy.
  for (size_t i = segments.size(); i-- > index;) {
    auto& segment = *segments[i];
    auto const from = i == index ? position : Position(0);
    MR_TRY_ASSIGN(auto file, segment.file().acquire_for_write());
    MR_TRY_ASSIGN(auto const file_bytes, file->size());
    recovery.cut_bytes += file_bytes - from.value;
    if (stop == PreviousStop::machine_lost && directory.options().keeps_cut_bytes && file_bytes > from.value) {
      std::vector<std::byte> block(1 << 20);
      std::shared_ptr<env::File> kept;
      bool is_zero = true;
      for (auto at = from.value; at < file_bytes;) {
        MR_TRY_ASSIGN(auto const got, file->read(Position(at), block));
        if (got == 0) break;
        ByteView const piece(block.data(), got);
        is_zero = is_zero && std::all_of(piece.begin(), piece.end(), [](std::byte b) { return b == std::byte{0}; });
        if (!is_zero && !kept) {
          MR_TRY_ASSIGN(kept, disk.open(path(fmt::format("{}.cut-{}", offset_file_stem(segment.base()), from)),
                                        env::OpenMode::create_empty));
        }
        if (kept) MR_TRY(kept->write(Position(at - from.value), {&piece, 1}));
        at += static_cast<int64_t>(got);
      }
      // The last offset that can still be read there, for the report.
      for (Position at = from; at.value < file_bytes;) {
        BatchScanner scanner(*file, at, Position(file_bytes));
        BatchHead head;
        auto const more = scanner.next(head);
        if (!more || !*more) break;
        if (!recovery.last_cut_offset || *recovery.last_cut_offset < head.last_offset)
          recovery.last_cut_offset = head.last_offset;
        at = scanner.next_position();
      }
    }
    if (i > index) {
      MR_TRY(remove_files(segment));
      segments.pop_back();
    } else {
      MR_TRY(file->truncate(position.value));
    }
  }
  end_offset = end.value;
  active().mark_active();
  return active().save_indexes();
}

Status PartitionLog::Body::load_epochs() {
  auto content = directory.disk().read_file(path(kEpochsFile), kEpochsBytesMax);
  if (content) {
    auto parsed = LeaderEpochs::parse(*content);
    if (parsed) {
      epochs = *std::move(parsed);
      return {};
    }
    directory.options().log->warn(kArea, "{}: {}; epochs are read from the log", name, parsed.error().message);
  } else if (content.error().kind != ErrorKind::not_found) {
    return std::move(content).error();
  }
  recovery.were_epochs_rebuilt =
      std::any_of(segments.begin(), segments.end(), [](auto const& s) { return s->size() > 0; });
  return {};
}

Status PartitionLog::Body::rebuild_epochs() {
  epochs.clear();
  are_epochs_dirty = true;
  for (auto const& segment : segments) {
    MR_TRY_ASSIGN(auto file, segment->file().acquire());
    BatchScanner scanner(*file, Position(0), Position(segment->size()));
    for (BatchHead head;;) {
      MR_TRY_ASSIGN(auto const more, scanner.next(head));
      if (!more) break;
      epochs.assign(head.leader_epoch, head.base_offset);
    }
  }
  return {};
}

// Transaction indexes are small, and a lost one would show aborted records: they are looked at before anybody reads.
Status PartitionLog::Body::check_transaction_indexes(Start const& start) {
  bool const is_clean = start.stop == PreviousStop::clean;
  for (size_t i = 0; i < segments.size(); ++i) {
    bool const is_last = i + 1 == segments.size();
    auto const saved =
        !is_clean && segments[i]->base() == start.indexes.base ? std::optional(start.indexes) : std::nullopt;
    auto const next = is_last ? std::nullopt : std::optional(segments[i + 1]->base());
    MR_TRY_ASSIGN(bool const is_good, segments[i]->is_transaction_index_good(next, saved));
    if (!is_good) damaged_transactions_.push_back(i);
  }
  return {};
}

Status PartitionLog::Body::mend_transaction_indexes() {
  for (auto const i : std::exchange(damaged_transactions_, {})) {
    if (i >= segments.size()) continue;  // cut meanwhile
    directory.options().log->warn(kArea, "{}: the transaction index of segment {} is damaged and made again", name,
                                  segments[i]->base());
    MR_TRY_ASSIGN(auto aborted, find_aborted(i));
    segments[i]->replace_aborted(std::move(aborted));
    MR_TRY(segments[i]->save_indexes());
  }
  return {};
}

// Replays the producers from the newest usable snapshot to the end of the segment.
Result<std::vector<AbortedTransaction>> PartitionLog::Body::find_aborted(size_t index) {
  ProducerState state;
  auto from = segments.front()->base();
  for (auto i = snapshots.upper_bound(segments[index]->base()); i != snapshots.begin();) {
    auto const at = *--i;
    auto const content = directory.disk().read_file(path(offset_file_stem(at) + ".snapshot"), kSnapshotBytesMax);
    if (content && state.load(*content, Wall{std::numeric_limits<int64_t>::min() / 2}, 1)) {
      from = at;
      break;
    }
  }
  std::vector<AbortedTransaction> out;
  for (auto i = SegmentList(segments).find(from).value_or(0); i <= index; ++i) {
    MR_TRY(replay(*segments[i], from, state, [&](ProducerState::Ended const& ended) {
      if (i == index)
        out.push_back({ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset});
    }));
  }
  return out;
}

// Applies the batches of a segment that end at or past `from`.
template <class OnAborted>
Status PartitionLog::Body::replay(Segment& segment, Offset from, ProducerState& state, OnAborted&& on_aborted) {
  if (segment.size() == 0) return {};
  Position at(0);
  if (from > segment.base()) {
    MR_TRY_ASSIGN(auto const located, segment.locate(from, Position(segment.size()), env::Wait::yes));
    at = located.position;
  }
  MR_TRY_ASSIGN(auto file, segment.file().acquire());
  BatchScanner scanner(*file, at, Position(segment.size()));
  for (BatchHead head;;) {
    MR_TRY_ASSIGN(auto const more, scanner.next(head));
    if (!more) return {};
    if (head.magic < 2 || head.last_offset < from) continue;
    MR_TRY_ASSIGN(auto const header, scanner.prefix(record::kBatchHeaderBytes));
    record::BatchView const batch(header);
    if (batch.producer_id().value < 0) continue;
    auto const bytes = batch.is_control() ? scanner.bytes() : Result<ByteView>(header);
    if (!bytes) return bytes.error();
    auto const claim = ProducerClaim::of(*bytes);
    if (!claim) continue;
    if (auto const ended = state.apply(*claim); ended && ended->is_aborted) on_aborted(*ended);
  }
}

Status PartitionLog::Body::load_producers(Wall now, Offset newest, std::optional<Offset> empty_at) {
  auto& disk = directory.disk();
  producers.clear();
  Offset const start(log_start.load());
  auto from = start;
  // Newest first. Damaged ones and those ahead of the log are removed.
  MR_TRY(remove_snapshots_past(end()));
  for (auto i = snapshots.end(); i != snapshots.begin();) {
    auto const at = *--i;
    if (at > newest) continue;
    if (empty_at && *empty_at >= at) break;  // nobody had produced then
    auto const file = path(offset_file_stem(at) + ".snapshot");
    MR_TRY_ASSIGN(auto const content, disk.read_file(file, kSnapshotBytesMax));
    auto const loaded = producers.load(content, now, config.producer_expiry_ms);
    if (loaded) {
      auto const batches = disk.read_file(path(kProducerBatchesFile), kSnapshotBytesMax);
      if (!batches && batches.error().kind == ErrorKind::io) return batches.error();
      if (batches) restore_producer_batches(*batches, topic_id, at, content, start, producers);
      from = std::max(from, at);
      break;
    }
    directory.options().log->warn(kArea, "{}: {}; removed", file, loaded.error().message);
    recovery.were_producers_rebuilt = true;
    MR_TRY(disk.remove_file(file));
    i = snapshots.erase(i);
  }
  if (empty_at && *empty_at <= end() && *empty_at > from) {
    producers.clear();
    from = *empty_at;
  }
  snapshot_position = end_mark().position.value;
  if (from >= end()) return {};

  SegmentList const list(segments);
  for (auto i = list.find(from).value_or(0); i < segments.size(); ++i) {
    auto& segment = *segments[i];
    snapshot_position = std::min(snapshot_position, segment.start().value);
    MR_TRY(replay(segment, from, producers, [&](ProducerState::Ended const& ended) {
      segment.restore_aborted({ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset});
    }));
  }
  return {};
}

}  // namespace millrace::storage
