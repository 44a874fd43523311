// Lookups by time, and the transaction index.
#include "millrace/bytes/crc32c.h"
#include "millrace/record/legacy.h"
#include "millrace/record/record.h"
#include "segment.h"

namespace millrace::storage {
namespace {

// Decompressed records of one batch looked at for a timestamp; larger ones were refused when they were produced.
constexpr uint64_t kSearchBytesMax = 1ull << 30;

}  // namespace

Status Segment::learn_times_locked() {
  if (is_rebuild_due_) return rebuild_locked();
  if (are_times_known_) return {};
  MR_TRY(times_locked());
  return {};
}

Result<std::vector<TimeEntry>> Segment::times_locked() {
  if (is_rebuild_due_) MR_TRY(rebuild_locked());
  MR_TRY_ASSIGN(auto const content, read_index_locked(".timeindex"));
  auto entries = parse_time_index(content);
  if (are_times_known_ && static_cast<int64_t>(entries.size()) > times_saved_) {
    entries.resize(static_cast<size_t>(times_saved_));
  }
  bool is_good =
      are_times_known_ ? static_cast<int64_t>(entries.size()) == times_saved_ : !entries.empty() || size() == 0;
  if (checks_) is_good = checks_->times == crc32c(as_bytes(content));
  TimeEntry last{-1, -1};
  for (auto const& entry : entries) {
    is_good =
        is_good && entry.timestamp_ms > last.timestamp_ms && entry.relative_offset >= std::max(last.relative_offset, 0);
    last = entry;
  }
  if (is_good && !times_unsaved_.empty()) is_good = last.timestamp_ms < times_unsaved_.front().timestamp_ms;
  if (!is_good) {
    MR_TRY(rebuild_locked());
    return times_unsaved_;
  }
  if (!are_times_known_) {
    times_saved_ = static_cast<int64_t>(entries.size());
    if (times_unsaved_.empty() && !entries.empty()) last_time_ = last;
    if (last.timestamp_ms > max_timestamp_ms_) {
      max_timestamp_ms_ = last.timestamp_ms;
      max_timestamp_relative_ = last.relative_offset;
    }
    are_times_known_ = true;
  }
  entries.insert(entries.end(), times_unsaved_.begin(), times_unsaved_.end());
  return entries;
}

// An index that rises may still have lost its end or have a wrong number in it. Its last entry must be the batch that
// it says, and nothing behind that batch may be later.
Status Segment::verify_times_locked(std::span<TimeEntry const> entries) {
  if (are_times_verified_) return {};
  MR_TRY_ASSIGN(auto file, file_.acquire());
  TimeEntry last{record::kNoTimestamp, -1};
  if (!entries.empty()) last = entries.back();
  MR_TRY_ASSIGN(auto const hint, hint_locked(base_ + std::max(last.relative_offset, 0), env::Wait::yes));
  BatchScanner scanner(*file, hint.position, Position(size()));
  BatchHead head;
  bool is_good = true;
  bool is_found = entries.empty();
  while (is_good) {
    MR_TRY_ASSIGN(auto const more, scanner.next(head));
    if (!more) break;
    auto const relative = head.last_offset - base_;
    if (relative == last.relative_offset) {
      is_found = true;
      is_good = head.max_timestamp_ms == last.timestamp_ms;
    } else if (relative > last.relative_offset) {
      is_good = is_found && (head.max_timestamp_ms <= last.timestamp_ms || !is_sealed_);
    }
  }
  if (!is_good || !is_found) return rebuild_locked();
  are_times_verified_ = true;
  return {};
}

Result<TimestampOffset> Segment::largest_timestamp() {
  std::lock_guard lock(mutex_);
  MR_TRY(learn_times_locked());
  // A power loss may have torn the file. Retention would take records that only seem to be old.
  if (!are_times_verified_ && !checks_) {
    MR_TRY_ASSIGN(auto const entries, times_locked());
    MR_TRY(verify_times_locked(entries));
  }
  if (max_timestamp_ms_ < 0) return TimestampOffset{};
  return TimestampOffset{max_timestamp_ms_, base_ + max_timestamp_relative_, kNoLeaderEpoch};
}

Result<std::optional<TimestampOffset>> Segment::search_batch(BatchScanner& scanner, BatchHead const& head,
                                                             int64_t timestamp_ms, Offset from) {
  MR_TRY_ASSIGN(auto const bytes, scanner.bytes());
  record::BatchView const batch(bytes);
  DecompressLimits const limits{.output_bytes_max = kSearchBytesMax};
  CodecContext context;
  std::vector<std::byte> scratch;
  if (head.magic < 2) {
    std::vector<record::LegacyMessage> messages;
    if (auto const fault = record::read_legacy_deep(batch, limits, context, scratch, messages)) return fault.to_error();
    for (auto const& message : messages) {
      if (message.offset >= from && message.timestamp >= timestamp_ms) {
        return std::optional(TimestampOffset{message.timestamp, message.offset, kNoLeaderEpoch});
      }
    }
    return std::optional<TimestampOffset>();
  }
  ByteView records;
  if (auto const fault = record::open_records(batch, limits, context, scratch, records)) return fault.to_error();
  record::RecordReader reader(batch, records);
  record::RecordView record;
  while (reader.next(record)) {
    if (record.offset >= from && record.timestamp >= timestamp_ms) {
      return std::optional(TimestampOffset{record.timestamp, record.offset, batch.leader_epoch()});
    }
  }
  if (reader.fault()) return reader.fault().to_error();
  return std::optional<TimestampOffset>();
}

Result<std::optional<TimestampOffset>> Segment::offset_for_timestamp(int64_t timestamp_ms, Offset from,
                                                                     Position limit) {
  limit = std::min(limit, Position(size()));
  if (limit == Position(0)) return std::optional<TimestampOffset>();
  MR_TRY_ASSIGN(auto file, file_.acquire());
  for (int attempt = 0;; ++attempt) {
    Hint hint;
    TimeEntry entry{record::kNoTimestamp, -1};
    {
      std::lock_guard lock(mutex_);
      if (are_times_verified_ && !is_rebuild_due_ && max_timestamp_ms_ < timestamp_ms)
        return std::optional<TimestampOffset>();
      MR_TRY_ASSIGN(auto entries, times_locked());
      if (!are_times_verified_) {
        MR_TRY(verify_times_locked(entries));
        MR_TRY_ASSIGN(entries, times_locked());
      }
      // Everything before the entry's batch is earlier than the entry.
      auto const after = std::upper_bound(entries.begin(), entries.end(), timestamp_ms,
                                          [](int64_t t, TimeEntry const& e) { return t < e.timestamp_ms; });
      if (after != entries.begin()) entry = *std::prev(after);
      MR_TRY_ASSIGN(hint, hint_locked(std::max(from, base_ + std::max(entry.relative_offset, 0)), env::Wait::yes));
    }
    BatchScanner scanner(*file, hint.position, limit);
    BatchHead head;
    bool is_index_wrong = false;
    for (bool is_first = true;; is_first = false) {
      auto const more = scanner.next(head);
      if (!more && (more.error().kind != ErrorKind::corrupt || attempt > 0)) return more.error();
      is_index_wrong =
          !more || (*more && is_first && hint.last_offset && head.last_offset != *hint.last_offset) ||
          (*more && head.last_offset - base_ == entry.relative_offset && head.max_timestamp_ms != entry.timestamp_ms);
      if (is_index_wrong) break;
      if (!*more) return std::optional<TimestampOffset>();
      if (head.last_offset < from || head.max_timestamp_ms < timestamp_ms) continue;
      MR_TRY_ASSIGN(auto found, search_batch(scanner, head, timestamp_ms, from));
      if (found) return found;
    }
    if (attempt > 0)
      return Error{ErrorKind::corrupt, fmt::format("{}: time index is wrong after a rebuild", file_.path())};
    std::lock_guard lock(mutex_);
    MR_TRY(rebuild_locked());
  }
}

Result<std::optional<TimestampOffset>> Segment::offset_of_largest_timestamp(Offset from, Position limit) {
  limit = std::min(limit, Position(size()));
  if (limit == Position(0)) return std::optional<TimestampOffset>();
  Offset last;
  {
    std::lock_guard lock(mutex_);
    MR_TRY_ASSIGN(auto const entries, times_locked());
    MR_TRY(verify_times_locked(entries));
    if (max_timestamp_ms_ < 0) return std::optional<TimestampOffset>();
    last = base_ + max_timestamp_relative_;
  }
  MR_TRY_ASSIGN(auto file, file_.acquire());
  MR_TRY_ASSIGN(auto const located, locate(last, limit, env::Wait::yes));
  if (!located.is_past_end && last >= from) {
    BatchScanner scanner(*file, located.position, limit);
    BatchHead head;
    MR_TRY(scanner.next(head));
    MR_TRY_ASSIGN(auto found, search_batch(scanner, head, head.max_timestamp_ms, from));
    if (found) return found;
  }
  // The latest record is hidden by the limit or deleted: look at the others.
  std::optional<TimestampOffset> best;
  BatchScanner scanner(*file, Position(0), limit);
  BatchHead head;
  for (;;) {
    MR_TRY_ASSIGN(auto const more, scanner.next(head));
    if (!more) return best;
    if (head.last_offset < from || head.max_timestamp_ms <= (best ? best->timestamp_ms : record::kNoTimestamp))
      continue;
    MR_TRY_ASSIGN(auto found, search_batch(scanner, head, head.max_timestamp_ms, from));
    if (found) best = found;
  }
}

Result<bool> Segment::collect_aborted(Offset from, Offset to, env::Wait wait, std::vector<AbortedTransaction>& out) {
  std::lock_guard lock(mutex_);
  MR_TRY(load_aborted_locked(wait));
  for (auto const& entry : aborted_) {
    if (entry.last_offset >= from && entry.first_offset < to) out.push_back(entry);
    if (entry.last_stable_offset >= to) return true;
  }
  return false;
}

Result<std::optional<Offset>> Segment::indexed_offset_at(Position position, env::Wait wait) {
  std::lock_guard lock(mutex_);
  MR_TRY(load_offsets_locked(wait));
  auto const i = std::lower_bound(offsets_.begin(), offsets_.end(), position.value,
                                  [](OffsetEntry const& e, int64_t p) { return e.position < p; });
  if (i == offsets_.end()) return std::optional<Offset>();
  return std::optional(base_ + i->relative_offset);
}

}  // namespace millrace::storage
