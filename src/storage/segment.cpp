#include "segment.h"

#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/endian.h"

namespace millrace::storage {
namespace {

constexpr int64_t kIndexFileBytesMax = 1LL << 30;
// An offset index that leaves more than this behind its last entry without need was cut short, and is made again.
constexpr int64_t kIndexGapBytesMax = 64 * 1024;

bool is_rising(std::span<OffsetEntry const> entries, int64_t log_bytes) {
  OffsetEntry last{-1, 0};
  for (auto const& entry : entries) {
    if (entry.relative_offset <= last.relative_offset || entry.position <= last.position) return false;
    last = entry;
  }
  return last.position < std::max<int64_t>(log_bytes, 1);
}

bool is_rising(std::span<TimeEntry const> entries) {
  TimeEntry last{-1, -1};
  for (auto const& entry : entries) {
    if (entry.timestamp_ms <= last.timestamp_ms || entry.relative_offset < std::max(last.relative_offset, 0))
      return false;
    last = entry;
  }
  return true;
}

// Content of an index file; a missing one is empty.
Result<std::string> read_index(env::Disk& disk, std::string const& path) {
  auto content = disk.read_file(path, kIndexFileBytesMax);
  if (!content && content.error().kind == ErrorKind::not_found) return std::string();
  return content;
}

Status write_index(env::Disk& disk, std::string const& path, int64_t at, std::string_view content, bool cut) {
  MR_TRY_ASSIGN(auto file, disk.open(path, env::OpenMode::create));
  ByteView const piece = as_bytes(content);
  if (!piece.empty()) MR_TRY(file->write(Position(at), {&piece, 1}));
  if (cut) MR_TRY(file->truncate(at + static_cast<int64_t>(content.size())));
  return {};
}

}  // namespace

Segment::Segment(FileCache& cache, std::string directory, Offset base, LogPosition start, Found const& found,
                 IndexRules const& rules, std::string file_suffix)
    : cache_(cache),
      base_(base),
      start_(start),
      directory_(std::move(directory)),
      file_suffix_(std::move(file_suffix)),
      file_(cache, path(".log")),
      size_(found.log_bytes),
      touched_ms_(found.modified_ms),
      created_ms_(found.modified_ms),
      allocated_bytes_(found.log_bytes),
      rules_(rules) {
  if (found.log_bytes == 0) {
    is_scanned_ = true;
    are_offsets_loaded_ = are_times_known_ = are_times_verified_ = true;
  } else if (found.index_bytes < 0 || found.time_index_bytes < 0) {
    is_rebuild_due_ = true;
  }
  offsets_saved_ = std::max<int64_t>(found.index_bytes, 0) / static_cast<int64_t>(kOffsetEntryBytes);
  are_aborted_loaded_ = found.transaction_index_bytes <= 0;
}

Result<std::shared_ptr<Segment>> Segment::create(FileCache& cache, std::string directory, Offset base,
                                                 LogPosition start, IndexRules const& rules, Wall now) {
  auto segment =
      std::make_shared<Segment>(cache, std::move(directory), base, start, Found{.modified_ms = now.ms}, rules);
  MR_TRY_ASSIGN(auto file, cache.disk().open(segment->path(".log"), env::OpenMode::create_empty));
  segment->file_.adopt(std::move(file));
  segment->offsets_saved_ = 0;
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::create_cleaned(FileCache& cache, std::string directory, Offset base,
                                                         LogPosition start, IndexRules const& rules, Wall now) {
  auto segment = std::make_shared<Segment>(cache, std::move(directory), base, start, Found{.modified_ms = now.ms},
                                           rules, ".cleaned");
  MR_TRY_ASSIGN(auto file, cache.disk().open(segment->path(".log"), env::OpenMode::create_empty));
  segment->file_.adopt(std::move(file));
  segment->offsets_saved_ = 0;
  return segment;
}

std::string Segment::path(std::string_view suffix) const {
  return fmt::format("{}/{}{}{}", directory_, offset_file_stem(base_), suffix, file_suffix_);
}

Status Segment::move_to(std::string suffix) {
  auto const from = file_suffix_;
  for (auto const* part : {".log", ".index", ".timeindex", ".txnindex"}) {
    file_suffix_ = from;
    auto const old = path(part);
    file_suffix_ = suffix;
    auto const renamed = cache_.disk().rename(old, path(part));
    if (!renamed && renamed.error().kind != ErrorKind::not_found) return renamed;
  }
  file_.move_to(path(".log"));
  return {};
}

std::vector<std::string> Segment::index_paths() const {
  return {path(".index"), path(".timeindex"), path(".txnindex")};
}

Error Segment::was_cut() const {
  return {ErrorKind::out_of_range, fmt::format("{} was truncated during the read", file_.path())};
}

// ---- Runner

void Segment::set_rules(IndexRules const& rules) {
  std::lock_guard lock(mutex_);
  rules_ = rules;
}

// Kafka keeps room for the last time entry, which closing adds.
bool Segment::are_indexes_full() const {
  std::lock_guard lock(mutex_);
  auto const offsets = offsets_saved_ + static_cast<int64_t>(offsets_unsaved_);
  auto const times = times_saved_ + static_cast<int64_t>(times_unsaved_.size());
  return offsets >= rules_.bytes_max / static_cast<int64_t>(kOffsetEntryBytes) ||
         times >= rules_.bytes_max / static_cast<int64_t>(kTimeEntryBytes) - 1;
}

std::pair<Status, Status> Segment::write(std::span<ByteView const> batches, int64_t bytes, int64_t preallocate_step) {
  auto file = file_.acquire_for_write();
  if (!file) return {std::move(file).error(), {}};
  auto const at = size();
  // A small partition does not take a whole step: the reserve grows with the segment.
  if (preallocate_step > 0 && at + bytes > allocated_bytes_ && at >= kPreallocateFromBytes) {
    auto const step = std::min(preallocate_step, std::max<int64_t>(at, bytes));
    if ((*file)->allocate(Position(at), bytes + step)) allocated_bytes_ = at + bytes + step;
  }
  auto written = (*file)->write(Position(at), batches);
  if (written) return {};
  return {std::move(written), (*file)->truncate(at)};
}

void Segment::account(Position at, BatchHead const& head) {
  if (at == Position(0)) first_timestamp_ms_ = head.max_timestamp_ms;
  std::lock_guard lock(mutex_);
  account_locked(at, head);
}

void Segment::account_locked(Position at, BatchHead const& head) {
  if (is_rebuild_due_) return;  // the rebuild reads this batch too
  auto const relative = static_cast<int32_t>(head.last_offset - base_);
  if (head.max_timestamp_ms > max_timestamp_ms_) {
    max_timestamp_ms_ = head.max_timestamp_ms;
    max_timestamp_relative_ = relative;
  }
  if (bytes_since_entry_ > rules_.interval_bytes) {
    offsets_.push_back({relative, static_cast<int32_t>(at.value)});
    ++offsets_unsaved_;
    append_time_locked(max_timestamp_ms_, max_timestamp_relative_);
    bytes_since_entry_ = 0;
  }
  bytes_since_entry_ += head.size_bytes;
  Recent const recent{static_cast<int32_t>(head.base_offset - base_), relative, static_cast<int32_t>(at.value),
                      static_cast<int32_t>(head.size_bytes)};
  if (recent_.size() < kRecentCount) {
    if (recent_.empty()) recent_.reserve(kRecentCount);
    recent_.push_back(recent);
  } else {
    recent_[recent_next_] = recent;
    recent_next_ = (recent_next_ + 1) % kRecentCount;
  }
}

void Segment::append_time_locked(int64_t timestamp_ms, int32_t relative_offset) {
  if (timestamp_ms <= (last_time_ ? last_time_->timestamp_ms : record::kNoTimestamp)) return;
  last_time_ = TimeEntry{timestamp_ms, relative_offset};
  times_unsaved_.push_back(*last_time_);
}

void Segment::commit(int64_t bytes, Wall now) {
  touched_ms_.store(now.ms, std::memory_order_relaxed);
  size_.store(size() + bytes, std::memory_order_release);
}

void Segment::restore_aborted(AbortedTransaction const& aborted) {
  std::lock_guard lock(mutex_);
  if (!is_scanned_) return;  // its index was not cut
  if (!aborted_.empty() && aborted_.back().last_offset >= aborted.last_offset) return;
  aborted_.push_back(aborted);
  ++aborted_unsaved_;
}

void Segment::add_aborted(AbortedTransaction const& aborted) {
  std::lock_guard lock(mutex_);
  aborted_.push_back(aborted);
  ++aborted_unsaved_;
}

Result<std::optional<int64_t>> Segment::first_timestamp_ms() {
  if (size() == 0) return std::optional<int64_t>();
  if (!first_timestamp_ms_) {
    MR_TRY_ASSIGN(auto file, file_.acquire());
    BatchScanner scanner(*file, Position(0), Position(size()), 512);
    BatchHead head;
    MR_TRY(scanner.next(head));
    first_timestamp_ms_ = head.max_timestamp_ms;
  }
  return first_timestamp_ms_;
}

void Segment::begin_full_rescan() {
  std::lock_guard lock(mutex_);
  forget_loaded_locked();
  checks_.reset();
  is_rebuild_due_ = false;
  is_scanned_ = are_offsets_loaded_ = are_times_known_ = are_times_verified_ = are_aborted_loaded_ = true;
  size_.store(0, std::memory_order_release);
}

void Segment::forget_loaded_locked() {
  offsets_.clear();
  offsets_unsaved_ = 0;
  offsets_saved_ = 0;
  times_unsaved_.clear();
  times_saved_ = 0;
  last_time_.reset();
  max_timestamp_ms_ = record::kNoTimestamp;
  max_timestamp_relative_ = 0;
  bytes_since_entry_ = 0;
  aborted_.clear();
  aborted_unsaved_ = 0;
  recent_.clear();
  recent_next_ = 0;
  are_files_longer_ = true;
}

// The ends of both index files, if they are at or below `offset` and the offset index points at the batch that it says.
Result<std::optional<Segment::Tail>> Segment::read_tail(env::File& log, Offset offset,
                                                        std::optional<SavedIndexes> const& saved) {
  Tail tail;
  std::array<std::byte, kTimeEntryBytes> bytes;
  auto const last = [&](std::string_view suffix, size_t entry_bytes, int64_t bytes_known,
                        int64_t& count) -> Result<bool> {
    auto file = cache_.disk().open(path(suffix), env::OpenMode::read);
    if (!file) return file.error().kind == ErrorKind::not_found ? Result<bool>(false) : std::move(file).error();
    MR_TRY_ASSIGN(auto const size, (*file)->size());
    if (size < bytes_known) return false;
    count = (bytes_known > 0 ? bytes_known : size) / static_cast<int64_t>(entry_bytes);
    if (count == 0) return false;
    MR_TRY_ASSIGN(auto const got, (*file)->read(Position((count - 1) * static_cast<int64_t>(entry_bytes)),
                                                MutableByteView(bytes).first(entry_bytes)));
    return got == entry_bytes;
  };
  MR_TRY_ASSIGN(auto const has_offset,
                last(".index", kOffsetEntryBytes, saved ? saved->offset_bytes : 0, tail.offset_count));
  if (!has_offset) return std::optional<Tail>();
  tail.offset = OffsetEntry{load_be<int32_t>(bytes.data()), load_be<int32_t>(bytes.data() + 4)};
  MR_TRY_ASSIGN(auto const has_time,
                last(".timeindex", kTimeEntryBytes, saved ? saved->time_bytes : 0, tail.time_count));
  if (!has_time) return std::optional<Tail>();
  tail.time = TimeEntry{load_be<int64_t>(bytes.data()), load_be<int32_t>(bytes.data() + 8)};
  auto const limit = offset - base_;
  if (tail.offset->position <= 0 || tail.offset->position >= size() || tail.offset->relative_offset >= limit ||
      tail.time->relative_offset >= limit || tail.time->relative_offset < 0 || tail.time->timestamp_ms <= 0) {
    return std::optional<Tail>();
  }
  BatchScanner scanner(log, Position(tail.offset->position), Position(size()), 4096);
  BatchHead head;
  auto const is_batch = scanner.next(head);
  if (!is_batch && is_batch.error().kind != ErrorKind::corrupt) return is_batch.error();
  if (!is_batch || head.last_offset != base_ + tail.offset->relative_offset) return std::optional<Tail>();
  return std::optional(tail);
}

Result<Position> Segment::begin_rescan(Offset offset, std::optional<SavedIndexes> const& saved) {
  auto const bytes = size();
  std::string transactions;
  if (!are_aborted_loaded_ || !aborted_.empty()) {
    MR_TRY_ASSIGN(transactions, read_index(cache_.disk(), path(".txnindex")));
  }
  std::optional<Tail> tail;
  std::vector<OffsetEntry> offsets;
  std::vector<TimeEntry> times;
  bool is_good = !is_rebuild_due_ && offset > base_ && bytes > 0;
  if (is_good) {
    MR_TRY_ASSIGN(auto file, file_.acquire());
    MR_TRY_ASSIGN(tail, read_tail(*file, offset, saved));
    if (!tail) {
      MR_TRY_ASSIGN(auto const index, read_index(cache_.disk(), path(".index")));
      MR_TRY_ASSIGN(auto const time_index, read_index(cache_.disk(), path(".timeindex")));
      offsets = parse_offset_index(index);
      std::erase_if(offsets, [&](auto const& e) { return e.relative_offset >= offset - base_ || e.position >= bytes; });
      times = parse_time_index(time_index);
      if (saved) {
        is_good = static_cast<int64_t>(index.size()) >= saved->offset_bytes &&
                  static_cast<int64_t>(time_index.size()) >= saved->time_bytes;
      }
      is_good = is_good && !offsets.empty() && is_rising(offsets, bytes);
      if (is_good) {
        BatchScanner scanner(*file, Position(offsets.back().position), Position(bytes), 512);
        BatchHead head;
        auto const is_batch = scanner.next(head);
        if (!is_batch && is_batch.error().kind != ErrorKind::corrupt) return is_batch.error();
        is_good = is_batch && head.last_offset == base_ + offsets.back().relative_offset;
      }
      if (is_good) {
        std::erase_if(times, [&](auto const& e) { return e.relative_offset > offsets.back().relative_offset; });
        is_good = !times.empty() && is_rising(times);
      }
    }
  }
  begin_full_rescan();
  std::lock_guard lock(mutex_);
  aborted_ = parse_transaction_index(transactions);
  std::erase_if(aborted_, [&](auto const& e) { return e.last_offset >= offset; });
  if (!is_good) return Position(0);
  auto const last = tail ? *tail->offset : offsets.back();
  last_time_ = tail ? *tail->time : times.back();
  offsets_saved_ = tail ? tail->offset_count : static_cast<int64_t>(offsets.size());
  times_saved_ = tail ? tail->time_count : static_cast<int64_t>(times.size());
  are_offsets_loaded_ = !tail;
  are_times_verified_ = false;
  offsets_ = std::move(offsets);
  max_timestamp_ms_ = last_time_->timestamp_ms;
  max_timestamp_relative_ = last_time_->relative_offset;
  Position const position(last.position);
  size_.store(position.value, std::memory_order_release);
  return position;
}

void Segment::commit_found(int64_t bytes) { size_.store(bytes, std::memory_order_release); }

Status Segment::close_indexes() {
  {
    std::lock_guard lock(mutex_);
    if (is_rebuild_due_) MR_TRY(rebuild_locked());
    MR_TRY(learn_times_locked());
    append_time_locked(max_timestamp_ms_, max_timestamp_relative_);
  }
  MR_TRY(save_indexes());
  // Kafka takes a missing index file for a reason to read the whole segment.
  for (auto const* suffix : {".index", ".timeindex"}) {
    if (!cache_.disk().exists(path(suffix))) MR_TRY(cache_.disk().open(path(suffix), env::OpenMode::create));
  }
  return {};
}

void Segment::set_checks(IndexChecks const& checks) {
  std::lock_guard lock(mutex_);
  if (checks.log_bytes == size()) checks_ = checks;
}

Result<IndexChecks> Segment::make_checks() const {
  IndexChecks checks{.log_bytes = size()};
  MR_TRY_ASSIGN(auto const offsets, read_index(cache_.disk(), path(".index")));
  MR_TRY_ASSIGN(auto const times, read_index(cache_.disk(), path(".timeindex")));
  MR_TRY_ASSIGN(auto const transactions, read_index(cache_.disk(), path(".txnindex")));
  checks.offsets = crc32c(as_bytes(offsets));
  checks.times = crc32c(as_bytes(times));
  checks.transactions = crc32c(as_bytes(transactions));
  return checks;
}

Status Segment::apply_checks() {
  {
    std::lock_guard lock(mutex_);
    if (!checks_ || is_rebuild_due_) return {};
  }
  MR_TRY_ASSIGN(auto const found, make_checks());
  std::lock_guard lock(mutex_);
  if (found.offsets != checks_->offsets || found.times != checks_->times) is_rebuild_due_ = true;
  return {};
}

Result<bool> Segment::is_transaction_index_good(std::optional<Offset> next_base,
                                                std::optional<SavedIndexes> const& saved) {
  // Nearly always there is none, and none is expected: this spares opening it.
  if (are_aborted_loaded_ && (!checks_ || checks_->transactions == 0) && (!saved || saved->transaction_bytes == 0))
    return true;
  MR_TRY_ASSIGN(auto const content, read_index(cache_.disk(), path(".txnindex")));
  std::lock_guard lock(mutex_);
  if (checks_ && checks_->transactions != crc32c(as_bytes(content))) return false;
  if (saved) {
    if (static_cast<int64_t>(content.size()) < saved->transaction_bytes) return false;
    if (crc32c(as_bytes(content).first(static_cast<size_t>(saved->transaction_bytes))) != saved->transaction_check)
      return false;
    return true;  // what follows is found again by the replay
  }
  auto const entries = parse_transaction_index(content);
  if (content.size() != entries.size() * kTransactionEntryBytes) return false;
  auto last = base_ - 1;
  for (auto const& entry : entries) {
    if (entry.last_offset <= last || entry.first_offset > entry.last_offset || entry.first_offset < Offset(0) ||
        entry.producer_id < ProducerId(0) || (next_base && entry.last_offset >= *next_base)) {
      return false;
    }
    last = entry.last_offset;
  }
  return true;
}

SavedIndexes Segment::saved_indexes() const {
  std::lock_guard lock(mutex_);
  if (is_rebuild_due_ || !are_aborted_loaded_) return {};
  auto const aborted = transaction_index_bytes(std::span(aborted_).first(aborted_.size() - aborted_unsaved_));
  return {.base = base_,
          .offset_bytes = offsets_saved_ * static_cast<int64_t>(kOffsetEntryBytes),
          .time_bytes = times_saved_ * static_cast<int64_t>(kTimeEntryBytes),
          .transaction_bytes = static_cast<int64_t>(aborted.size()),
          .transaction_check = crc32c(as_bytes(aborted))};
}

void Segment::replace_aborted(std::vector<AbortedTransaction> aborted) {
  std::lock_guard lock(mutex_);
  aborted_ = std::move(aborted);
  aborted_unsaved_ = aborted_.size();
  are_aborted_loaded_ = true;
}

void Segment::mark_sealed() {
  std::lock_guard lock(mutex_);
  is_sealed_ = true;
  recent_ = {};
  recent_next_ = 0;
  if (offsets_unsaved_ == 0) thin_locked();
}

void Segment::mark_active() {
  std::lock_guard lock(mutex_);
  is_sealed_ = false;
}

void Segment::revoke_all() {
  cuts_.fetch_add(1, std::memory_order_acq_rel);
  revoke_leases_past(Position(-1));
}

void Segment::retire() {
  std::lock_guard save_lock(save_mutex_);
  std::lock_guard lock(mutex_);
  is_retired_ = true;
  file_.retire();
}

Status Segment::detach() {
  std::lock_guard save_lock(save_mutex_);
  std::lock_guard lock(mutex_);
  MR_TRY(load_offsets_locked(env::Wait::yes));
  MR_TRY(load_aborted_locked(env::Wait::yes));
  MR_TRY(file_.detach());
  is_retired_ = true;
  return {};
}

Result<std::string> Segment::read_index_locked(std::string_view suffix) const {
  if (is_retired_) return Error{ErrorKind::not_found, fmt::format("segment {} was removed", base_)};
  return read_index(cache_.disk(), path(suffix));
}

void Segment::thin_locked() {
  if (!are_offsets_loaded_) return;
  std::vector<OffsetEntry> kept;
  int32_t next = 0;
  for (auto const& entry : offsets_) {
    if (entry.position < next) continue;
    kept.push_back(entry);
    next = entry.position + kClosedIndexStepBytes;
  }
  kept.shrink_to_fit();
  offsets_ = std::move(kept);
}

Status Segment::truncate(Position position, Offset offset) {
  // In this order: a region is listed before it looks at the counter, so one of the two sees the other.
  cuts_.fetch_add(1, std::memory_order_acq_rel);
  revoke_leases_past(position);
  MR_TRY_ASSIGN(auto file, file_.acquire_for_write());
  std::vector<AbortedTransaction> aborted;
  {
    std::lock_guard lock(mutex_);
    MR_TRY(load_aborted_locked(env::Wait::yes));
    aborted = aborted_;
  }
  MR_TRY(save_indexes());
  MR_TRY_ASSIGN(auto const from, begin_rescan(offset));
  BatchScanner scanner(*file, from, position);
  for (BatchHead head;;) {
    MR_TRY_ASSIGN(auto const more, scanner.next(head));
    if (!more) break;
    account(scanner.position(), head);
  }
  {
    std::lock_guard lock(mutex_);
    is_sealed_ = false;
    std::erase_if(aborted, [&](auto const& entry) { return entry.last_offset >= offset; });
    aborted_ = std::move(aborted);
    aborted_unsaved_ = aborted_.size();
  }
  MR_TRY(file->truncate(position.value));
  size_.store(position.value, std::memory_order_release);
  allocated_bytes_ = position.value;
  if (position == Position(0)) first_timestamp_ms_.reset();
  cuts_.fetch_add(1, std::memory_order_acq_rel);
  return save_indexes();
}

Status Segment::trim_preallocation() {
  if (allocated_bytes_ <= size()) return {};
  MR_TRY_ASSIGN(auto file, file_.acquire());
  MR_TRY(file->truncate(size()));
  allocated_bytes_ = size();
  return {};
}

// ---- Any thread

Status Segment::save_indexes() {
  std::lock_guard save_lock(save_mutex_);
  if (is_retired_) return {};
  std::string offsets, times, aborted;
  int64_t offsets_at = 0, times_at = 0, aborted_at = 0;
  size_t offset_count = 0, time_count = 0, aborted_count = 0;
  bool cut = false;
  bool has_transactions = false;
  bool are_transactions_known = false;
  {
    std::lock_guard lock(mutex_);
    if (is_rebuild_due_) return {};
    offset_count = offsets_unsaved_;
    time_count = times_unsaved_.size();
    aborted_count = aborted_unsaved_;
    cut = are_files_longer_ && (is_scanned_ || is_files_scanned_);
    offsets = offset_index_bytes(std::span(offsets_).last(offset_count));
    times = time_index_bytes(times_unsaved_);
    aborted = transaction_index_bytes(std::span(aborted_).last(aborted_count));
    offsets_at = offsets_saved_ * static_cast<int64_t>(kOffsetEntryBytes);
    times_at = times_saved_ * static_cast<int64_t>(kTimeEntryBytes);
    aborted_at = static_cast<int64_t>((aborted_.size() - aborted_count) * kTransactionEntryBytes);
    has_transactions = !aborted_.empty();
    are_transactions_known = are_aborted_loaded_;
  }
  auto& disk = cache_.disk();
  if (offset_count > 0 || cut) MR_TRY(write_index(disk, path(".index"), offsets_at, offsets, cut));
  if (time_count > 0 || cut) MR_TRY(write_index(disk, path(".timeindex"), times_at, times, cut));
  if (aborted_count > 0) {
    MR_TRY(
        write_index(disk, path(".txnindex"), aborted_at, aborted, aborted_at == 0 || (cut && are_transactions_known)));
  } else if (cut && are_transactions_known && (has_transactions || disk.exists(path(".txnindex")))) {
    MR_TRY(write_index(disk, path(".txnindex"), aborted_at, aborted, cut));
  }
  std::lock_guard lock(mutex_);
  offsets_saved_ += static_cast<int64_t>(offset_count);
  offsets_unsaved_ -= offset_count;
  times_saved_ += static_cast<int64_t>(time_count);
  times_unsaved_.erase(times_unsaved_.begin(), times_unsaved_.begin() + static_cast<ptrdiff_t>(time_count));
  aborted_unsaved_ -= aborted_count;
  if (cut) are_files_longer_ = false;
  return {};
}

Result<std::shared_ptr<env::File>> Segment::acquire(env::Wait wait) {
  if (wait == env::Wait::yes) return file_.acquire();
  if (auto file = file_.acquire_if_open()) return file;
  return Error{ErrorKind::would_block, "the segment is not open"};
}

Status Segment::load_offsets_locked(env::Wait wait) {
  if (are_offsets_loaded_ && !is_rebuild_due_) return {};
  if (wait == env::Wait::no) return Error{ErrorKind::would_block, "the offset index is not loaded"};
  if (is_rebuild_due_) return rebuild_locked();
  MR_TRY_ASSIGN(auto const content, read_index_locked(".index"));
  auto entries = parse_offset_index(content);
  if (static_cast<int64_t>(entries.size()) > offsets_saved_) entries.resize(static_cast<size_t>(offsets_saved_));
  std::span const unsaved = std::span(offsets_).last(offsets_unsaved_);
  bool is_good = is_rising(entries, size()) && (!checks_ || checks_->offsets == crc32c(as_bytes(content)));
  if (!unsaved.empty()) {
    // Entries made since the log was opened follow those in the file.
    is_good = is_good && static_cast<int64_t>(entries.size()) == offsets_saved_ &&
              (entries.empty() || entries.back().position < unsaved.front().position);
  }
  auto const last = !unsaved.empty() ? unsaved.back() : entries.empty() ? OffsetEntry{} : entries.back();
  if (is_good && size() - last.position > kIndexGapBytesMax) {
    // An entry is due at the first batch that begins more than an interval behind the last one.
    MR_TRY_ASSIGN(auto file, file_.acquire());
    BatchScanner scanner(*file, Position(last.position), Position(size()));
    for (BatchHead head; is_good && scanner.next_position() - Position(last.position) <= 2 * kIndexGapBytesMax;) {
      auto const more = scanner.next(head);
      if (!more || !*more) break;
      is_good = scanner.position() - Position(last.position) <= std::max(rules_.interval_bytes, kIndexGapBytesMax);
    }
  }
  if (!is_good) return rebuild_locked();
  offsets_saved_ = static_cast<int64_t>(entries.size());
  entries.insert(entries.end(), unsaved.begin(), unsaved.end());
  offsets_ = std::move(entries);
  are_offsets_loaded_ = true;
  if (is_sealed_) thin_locked();
  return {};
}

Status Segment::load_aborted_locked(env::Wait wait) {
  if (are_aborted_loaded_) return {};
  if (wait == env::Wait::no) return Error{ErrorKind::would_block, "the transaction index is not loaded"};
  MR_TRY_ASSIGN(auto const content, read_index_locked(".txnindex"));
  auto entries = parse_transaction_index(content);
  entries.insert(entries.end(), aborted_.begin(), aborted_.end());
  aborted_ = std::move(entries);
  are_aborted_loaded_ = true;
  return {};
}

// Reads the whole segment: the indexes come out as if every batch had just been appended.
Status Segment::rebuild_locked() {
  MR_TRY_ASSIGN(auto file, file_.acquire());
  offsets_.clear();
  offsets_unsaved_ = 0;
  offsets_saved_ = 0;
  times_unsaved_.clear();
  times_saved_ = 0;
  last_time_.reset();
  max_timestamp_ms_ = record::kNoTimestamp;
  max_timestamp_relative_ = 0;
  bytes_since_entry_ = 0;
  recent_.clear();
  recent_next_ = 0;
  are_files_longer_ = true;
  checks_.reset();
  is_rebuild_due_ = false;
  are_offsets_loaded_ = are_times_known_ = are_times_verified_ = is_files_scanned_ = true;
  BatchScanner scanner(*file, Position(0), Position(size()));
  BatchHead head;
  for (;;) {
    auto const more = scanner.next(head);
    if (!more) {
      is_rebuild_due_ = true;
      return more.error();
    }
    if (!*more) break;
    account_locked(scanner.position(), head);
  }
  if (is_sealed_) append_time_locked(max_timestamp_ms_, max_timestamp_relative_);
  return {};
}

Result<Segment::Hint> Segment::hint_locked(Offset offset, env::Wait wait) {
  MR_TRY(load_offsets_locked(wait));
  auto const relative = offset - base_;
  auto const after = std::upper_bound(offsets_.begin(), offsets_.end(), relative,
                                      [](int64_t r, OffsetEntry const& e) { return r < e.relative_offset; });
  if (after == offsets_.begin()) return Hint{};
  auto const& entry = *std::prev(after);
  return Hint{Position(entry.position), base_ + entry.relative_offset};
}

std::optional<Segment::Located> Segment::recent_locked(Offset offset) const {
  auto const relative = offset - base_;
  for (auto const& recent : recent_) {
    if (relative >= recent.first && relative <= recent.last)
      return Located{Position(recent.position), false, recent.bytes};
  }
  return std::nullopt;
}

// Where the batch begins that would be cut at `end`; `end` if none would be, or it is not one of the newest.
Position Segment::before_cut_batch(Position end) const {
  std::lock_guard lock(mutex_);
  for (auto const& recent : recent_) {
    if (Position const start(recent.position); start < end && end < start + recent.bytes) return start;
  }
  return end;
}

Result<Segment::Located> Segment::walk(env::File& file, Hint const& hint, Offset offset, Position limit,
                                       env::Wait wait) {
  if (hint.position >= limit) {
    // The index knows batches that the limit hides; the one before may hold the offset only if there is none.
    return Located{limit, true, 0};
  }
  BatchScanner scanner(file, hint.position, limit, 4096, wait);
  BatchHead head;
  for (bool is_first = true;; is_first = false) {
    auto const more = scanner.next(head);
    if (!more) return more.error();
    if (!*more) return Located{limit, true, 0};
    if (is_first && hint.last_offset && head.last_offset != *hint.last_offset) {
      return Error{ErrorKind::corrupt, fmt::format("{}: the index points at the wrong batch", file_.path())};
    }
    if (head.last_offset >= offset) return Located{scanner.position(), false, head.size_bytes};
  }
}

Result<Segment::Located> Segment::locate(Offset offset, Position limit, env::Wait wait) {
  limit = std::min(limit, Position(size()));
  if (limit == Position(0)) return Located{limit, true, 0};
  MR_TRY_ASSIGN(auto file, acquire(wait));
  for (int attempt = 0;; ++attempt) {
    Hint hint;
    {
      std::lock_guard lock(mutex_);
      if (auto const recent = recent_locked(offset)) {
        if (recent->position < limit) return *recent;
        return Located{limit, true, 0};
      }
      MR_TRY_ASSIGN(hint, hint_locked(offset, wait));
    }
    auto located = walk(*file, hint, offset, limit, wait);
    if (located || located.error().kind != ErrorKind::corrupt || !hint.last_offset || attempt > 0) return located;
    if (wait == env::Wait::no) return Error{ErrorKind::would_block, "the offset index must be rebuilt"};
    std::lock_guard lock(mutex_);
    MR_TRY(rebuild_locked());
  }
}

Result<std::optional<BatchHead>> Segment::head_at(Offset offset) {
  auto const limit = Position(size());
  MR_TRY_ASSIGN(auto const located, locate(offset, limit, env::Wait::yes));
  if (located.is_past_end) return std::optional<BatchHead>();
  MR_TRY_ASSIGN(auto file, file_.acquire());
  BatchScanner scanner(*file, located.position, limit, 512);
  BatchHead head;
  MR_TRY(scanner.next(head));
  return std::optional(head);
}

// Reads what the request wants from the index entry on and finds the batch in those bytes. The entry is at most the
// index interval before it, so nearly always one read serves.
Result<Segment::Piece> Segment::read_from_hint(env::File& file, Hint const& hint, ReadRequest const& request,
                                               Position limit) {
  if (hint.position >= limit) return Piece{{limit, true, 0}, {}};
  auto const wanted = static_cast<size_t>(
      std::min<int64_t>(limit - hint.position, std::max<int64_t>(request.bytes_max, record::kBatchHeaderBytes) + 4096));
  auto buffer = SharedBytes::allocate(wanted);
  MR_TRY_ASSIGN(auto const got, file.read(hint.position, buffer.mutable_view(), request.wait));
  if (got < wanted) {
    if (request.wait == env::Wait::no) return Error{ErrorKind::would_block, "part of the log is not in memory"};
    return Error{ErrorKind::corrupt, fmt::format("{} ends before {}", file_.path(), limit)};
  }
  for (size_t at = 0; at < wanted;) {
    auto const left = buffer.view().subspan(at);
    if (left.size() < record::kBatchHeaderBytes && left.size() < static_cast<size_t>(limit - hint.position) - at) break;
    MR_TRY_ASSIGN(auto const head, read_batch_head(left));
    if (at == 0 && hint.last_offset && head.last_offset != *hint.last_offset) {
      return Error{ErrorKind::corrupt, fmt::format("{}: the index points at the wrong batch", file_.path())};
    }
    if (head.last_offset >= request.from) {
      return Piece{{hint.position + static_cast<int64_t>(at), false, head.size_bytes}, buffer.slice(at, left.size())};
    }
    at += static_cast<size_t>(head.size_bytes);
    if (hint.position + static_cast<int64_t>(at) == limit) return Piece{{limit, true, 0}, {}};
  }
  MR_TRY_ASSIGN(auto const located, walk(file, hint, request.from, limit, request.wait));
  return Piece{located, {}};
}

Result<env::Chunk> Segment::region(std::shared_ptr<env::File> file, Position at, int64_t bytes, env::Wait wait,
                                   uint32_t cuts) {
  if (!file->is_cached(at, bytes)) {
    if (wait == env::Wait::no) return Error{ErrorKind::would_block, "part of the log is not in memory"};
    // The sender must not wait for the disk: read it once here, into the page cache.
    std::vector<std::byte> scratch(static_cast<size_t>(std::min<int64_t>(bytes, BatchScanner::kBlockBytes * 4)));
    for (int64_t done = 0; done < bytes;) {
      auto const count = static_cast<size_t>(std::min<int64_t>(bytes - done, static_cast<int64_t>(scratch.size())));
      MR_TRY_ASSIGN(auto const got, file->read(at + done, MutableByteView(scratch).first(count)));
      if (got < count) {
        if (cuts_.load(std::memory_order_acquire) != cuts) return was_cut();
        return Error{ErrorKind::corrupt, fmt::format("{} ends before {}", file_.path(), at + bytes)};
      }
      done += static_cast<int64_t>(count);
    }
  }
  if (!cache_.take_lease()) return Error{ErrorKind::limit, "all region leases are in use"};
  auto lease = std::make_shared<Lease>(cache_, shared_from_this(), std::move(file), at + bytes);
  {
    std::lock_guard lock(leases_mutex_);
    if (leases_.size() >= 32) std::erase_if(leases_, [](auto const& weak) { return weak.expired(); });
    leases_.push_back(lease);
  }
  // A truncation that began before the lease was listed has moved the counter.
  if (cuts_.load(std::memory_order_acquire) != cuts) return was_cut();
  return env::Chunk(env::FileRegion{std::move(lease), at, bytes});
}

Result<std::optional<ReadResult>> Segment::read(ReadRequest const& request, Position limit) {
  auto const cuts = cuts_.load(std::memory_order_acquire);
  limit = std::min(limit, Position(size()));
  if (limit == Position(0)) return std::optional<ReadResult>();
  MR_TRY_ASSIGN(auto file, acquire(request.wait));
  Piece piece;
  for (int attempt = 0;; ++attempt) {
    Hint hint;
    bool is_exact = false;
    {
      std::lock_guard lock(mutex_);
      if (auto const recent = recent_locked(request.from)) {
        piece.located = recent->position < limit ? *recent : Located{limit, true, 0};
        is_exact = true;
      } else {
        MR_TRY_ASSIGN(hint, hint_locked(request.from, request.wait));
      }
    }
    if (is_exact) break;
    bool const is_small = std::min<int64_t>(request.bytes_max, limit - hint.position) < request.region_bytes_min;
    auto found = is_small ? read_from_hint(*file, hint, request, limit) : [&]() -> Result<Piece> {
      MR_TRY_ASSIGN(auto const located, walk(*file, hint, request.from, limit, request.wait));
      return Piece{located, {}};
    }();
    if (found) {
      piece = *std::move(found);
      break;
    }
    if (found.error().kind != ErrorKind::corrupt) return std::move(found).error();
    if (cuts_.load(std::memory_order_acquire) != cuts) return was_cut();
    if (!hint.last_offset || attempt > 0) return std::move(found).error();
    if (request.wait == env::Wait::no) return Error{ErrorKind::would_block, "the offset index must be rebuilt"};
    std::lock_guard lock(mutex_);
    MR_TRY(rebuild_locked());
  }
  auto const& located = piece.located;
  if (located.is_past_end) return std::optional<ReadResult>();

  ReadResult result;
  result.start = {request.from, start_ + located.position.value};
  auto bytes = std::min<int64_t>(std::max<int64_t>(request.bytes_max, 0), limit - located.position);
  if (request.at_least_one_batch) bytes = std::max(bytes, located.batch_bytes);
  if (bytes > limit - located.position) {
    return Error{ErrorKind::corrupt,
                 fmt::format("{}: batch at {} goes past {}", file_.path(), located.position, limit)};
  }
  if (request.without_cut_batch && bytes > located.batch_bytes) {
    // Of a log that was cut meanwhile the newest batches tell nothing that fits; it is noticed below.
    bytes = std::max(before_cut_batch(located.position + bytes) - located.position, int64_t{located.batch_bytes});
  }
  result.bytes = bytes;
  result.is_first_batch_cut = bytes < located.batch_bytes;
  if (bytes == 0 || result.is_first_batch_cut) return std::optional(std::move(result));
  if (bytes >= request.region_bytes_min) {
    MR_TRY_ASSIGN(result.records, region(std::move(file), located.position, bytes, request.wait, cuts));
    return std::optional(std::move(result));
  }
  if (piece.bytes.size() >= static_cast<size_t>(bytes)) {
    result.records = piece.bytes.slice(0, static_cast<size_t>(bytes));
  } else {
    auto buffer = SharedBytes::allocate(static_cast<size_t>(bytes));
    MR_TRY_ASSIGN(auto const got, file->read(located.position, buffer.mutable_view(), request.wait));
    if (got < buffer.size()) {
      if (request.wait == env::Wait::no) return Error{ErrorKind::would_block, "part of the log is not in memory"};
      if (cuts_.load(std::memory_order_acquire) != cuts) return was_cut();
      return Error{ErrorKind::corrupt, fmt::format("{} ends before {}", file_.path(), located.position + bytes)};
    }
    result.records = std::move(buffer);
  }
  if (cuts_.load(std::memory_order_acquire) != cuts) return was_cut();
  return std::optional(std::move(result));
}

bool Segment::has_unsaved_indexes() const {
  std::lock_guard lock(mutex_);
  return offsets_unsaved_ > 0 || aborted_unsaved_ > 0 || !times_unsaved_.empty();
}

size_t Segment::index_memory_bytes() const {
  std::lock_guard lock(mutex_);
  return offsets_.capacity() * sizeof(OffsetEntry) + times_unsaved_.capacity() * sizeof(TimeEntry) +
         aborted_.capacity() * sizeof(AbortedTransaction) + recent_.capacity() * sizeof(Recent);
}

}  // namespace millrace::storage
