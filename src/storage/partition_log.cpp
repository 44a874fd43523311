#include "millrace/storage/partition_log.h"

#include "directory_body.h"
#include "partition_body.h"

namespace millrace::storage {
namespace {

// After this much log a flush also writes a producer snapshot, so that recovery never replays more.
constexpr int64_t kSnapshotDistanceBytes = 4 << 20;

}  // namespace

PartitionLog::Body::Body(LogDirectory& owner, std::string directory_name, TopicPartition tp, TopicId id,
                         LogConfig const& log_config, LogKind log_kind)
    : directory(owner),
      name(std::move(directory_name)),
      partition(std::move(tp)),
      topic_id(id),
      kind(log_kind),
      config(log_config),
      append_times(owner.disk(), path(kAppendTimesFile), id, [this](auto const& covered) { return covers(covered); }) {}

Error PartitionLog::Body::offline_error() const {
  return {ErrorKind::io, fmt::format("log directory {} is offline: {}", directory.path(), directory.offline_reason())};
}

Status PartitionLog::Body::usable() const {
  if (directory.is_offline()) return offline_error();
  if (is_deleted.load(std::memory_order_acquire))
    return Error{ErrorKind::not_found, fmt::format("{} was deleted", name)};
  return {};
}

Error PartitionLog::Body::failed(Error error, std::string_view doing) {
  error.message = fmt::format("{} {}: {}", doing, name, error.message);
  if (error.kind == ErrorKind::io) directory.mark_offline(error.message);
  return error;
}

Status PartitionLog::Body::checked(Status status, std::string_view doing) {
  if (status) return status;
  return failed(std::move(status).error(), doing);
}

void PartitionLog::Body::publish() {
  auto list = std::make_shared<SegmentList const>(segments);
  std::lock_guard lock(state_mutex);
  published.swap(list);
}

void PartitionLog::Body::mark_dirty() {
  if (is_dirty.load(std::memory_order_relaxed) || is_dirty.exchange(true)) return;
  directory.body_->add_dirty(self);
}

int64_t PartitionLog::Body::unflushed_bytes() const {
  std::lock_guard lock(state_mutex);
  return published->all().back()->log_end().value - flushed_position.load();
}

int64_t PartitionLog::Body::jitter_ms() const {
  if (config.segment_jitter_ms_max <= 0) return 0;
  // Spread over partitions and segments, the same after a restart.
  auto const mixed =
      (std::hash<std::string>{}(name) ^ static_cast<size_t>(active().base().value)) * 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>(mixed % static_cast<uint64_t>(config.segment_jitter_ms_max));
}

// Kafka's rule. `gathered_bytes` will stand before the batch.
bool PartitionLog::Body::is_roll_due(BatchHead const& head, int64_t gathered_bytes,
                                     std::optional<int64_t> first_timestamp, Wall now) const {
  auto const& segment = active();
  auto const size = segment.size() + gathered_bytes;
  if (!segment.can_hold(head.last_offset)) return true;
  if (size > config.segment_bytes - head.size_bytes) return size > 0;
  if (size == 0) return false;
  auto const first = first_timestamp.value_or(record::kNoTimestamp);
  auto const waited =
      first >= 0 && head.max_timestamp_ms >= 0 ? head.max_timestamp_ms - first : now.ms - segment.created_ms();
  // Only closed segments are compacted.
  auto const age_ms_max = config.is_compacting ? std::min(config.segment_age_ms_max, config.compaction_lag_ms_max)
                                               : config.segment_age_ms_max;
  return waited > age_ms_max - jitter_ms();
}

bool PartitionLog::Body::is_append_short(std::span<ByteView const> batches, Wall now) {
  auto& segment = active();
  if (!segment.is_first_timestamp_known() || segment.are_indexes_full()) return false;
  if (!segment.file().acquire_if_open()) return false;
  auto first = segment.size() == 0 ? std::optional<int64_t>() : *segment.first_timestamp_ms();
  int64_t bytes = 0;
  for (auto const& batch : batches) {
    auto const head = read_batch_head(batch);
    if (!head) return true;  // will be refused
    if (is_roll_due(*head, bytes, first, now)) return false;
    if (!first) first = head->max_timestamp_ms;
    bytes += head->size_bytes;
  }
  return true;
}

Result<Appended> PartitionLog::Body::append(std::span<ByteView const> batches, Wall now) {
  MR_TRY(usable());
  auto const first_end = end();
  heads_.clear();
  auto next = first_end;
  for (auto const& batch : batches) {
    MR_TRY_ASSIGN(auto const head, read_batch_head(batch));
    if (head.size_bytes != static_cast<int64_t>(batch.size())) {
      return Error{ErrorKind::invalid,
                   fmt::format("append to {}: batch of {} bytes says {}", name, batch.size(), head.size_bytes)};
    }
    if (head.base_offset < next) {
      return Error{ErrorKind::invalid,
                   fmt::format("append to {}: batch base {} is below next offset {}", name, head.base_offset, next)};
    }
    if (head.size_bytes > config.segment_bytes) {
      return Error{ErrorKind::limit, fmt::format("append to {}: batch of {} bytes, segment.bytes is {}", name,
                                                 head.size_bytes, config.segment_bytes)};
    }
    next = head.last_offset + 1;
    heads_.push_back(head);
  }
  if (batches.empty()) return Appended{first_end, end_mark()};

  Status status;
  for (size_t i = 0; i < batches.size() && status;) {
    auto first = active().first_timestamp_ms();
    if (!first) {
      status = std::move(first).error();
      break;
    }
    if (is_roll_due(heads_[i], 0, *first, now) || active().are_indexes_full()) {
      status = roll(heads_[i].base_offset, now);
      if (!status) break;
      *first = std::nullopt;
    }
    // What fits into the segment goes in one write.
    size_t count = 0;
    int64_t bytes = 0;
    while (i + count < batches.size() && (count == 0 || !is_roll_due(heads_[i + count], bytes, *first, now))) {
      if (!*first) *first = heads_[i + count].max_timestamp_ms;
      bytes += heads_[i + count].size_bytes;
      ++count;
    }
    auto& segment = active();
    auto [written, cut] = segment.write(batches.subspan(i, count), bytes, directory.options().preallocate_bytes);
    if (!cut) directory.mark_offline(fmt::format("cut back a failed append to {}: {}", name, cut.error().message));
    if (!written) {
      status = std::move(written);
      break;
    }
    append_times.note(heads_[i].base_offset, now);
    std::lock_guard lock(state_mutex);
    auto at = Position(segment.size());
    for (size_t k = i; k < i + count; ++k) {
      auto const& head = heads_[k];
      segment.account(at, head);
      at += head.size_bytes;
      if (head.leader_epoch.value >= 0 && epochs.assign(head.leader_epoch, head.base_offset)) are_epochs_dirty = true;
      if (kind == LogKind::plain || head.magic < 2 || record::BatchView(batches[k]).producer_id().value < 0) continue;
      auto const claim = ProducerClaim::of(batches[k]);
      if (!claim) continue;  // a control batch that ends nothing
      if (auto const ended = producers.apply(*claim); ended && ended->is_aborted) {
        segment.add_aborted({ended->producer_id, ended->first_offset, ended->last_offset, ended->last_stable_offset});
      }
    }
    segment.commit(bytes, now);
    end_offset.store((heads_[i + count - 1].last_offset + 1).value, std::memory_order_release);
    i += count;
  }
  if (!status) {
    // A part may stand in an earlier segment already.
    if (end() > first_end && !directory.is_offline()) {
      if (auto const cut = truncate_to(first_end); !cut) directory.mark_offline(cut.error().message);
    }
    return failed(std::move(status).error(), "append to");
  }
  mark_dirty();
  return Appended{heads_.front().base_offset, end_mark()};
}

// Everything in the old segment is on the disk before the new one can be, so a crash leaves no hole between segments.
Status PartitionLog::Body::roll(Offset base, Wall now) {
  std::lock_guard lock(io_mutex);
  MR_TRY(usable());
  auto& old = active();
  if (old.size() == 0 && old.base() == base) return {};
  if (auto saved = old.close_indexes(); !saved && saved.error().kind != ErrorKind::no_space) return saved;
  MR_TRY(old.trim_preallocation());
  MR_TRY_ASSIGN(auto file, old.file().acquire());
  MR_TRY(checked(sync_entries(), "sync the directory of"));
  auto const was_evicted = old.file().begin_sync();
  MR_TRY(checked(file->sync(), "sync"));
  if (was_evicted) MR_TRY(checked(directory.disk().sync_file_system(directory.path()), "sync the file system for"));
  MR_TRY_ASSIGN(auto segment, Segment::create(directory.files(), path(), base, old.log_end(), rules(), now));
  if (kind == LogKind::partition && (snapshots.empty() || *snapshots.rbegin() < base)) {
    ProducerFiles files;
    {
      std::lock_guard state(state_mutex);
      files = producer_files(base);
      snapshot_position = old.log_end().value;
    }
    if (auto written = write_producer_files(base, files);
        !written && written.error().kind != ErrorKind::no_space) {
      return written;
    }
  }
  MR_TRY(checked(directory.disk().sync_directory(path()), "sync the directory of"));
  if (old.size() > 0) {
    if (auto saved = save_index_checks(old); !saved && saved.error().kind != ErrorKind::no_space) return saved;
    old.mark_sealed();
  } else {
    MR_TRY(remove_files(old));  // it never held anything, and cannot hold this offset
    segments.pop_back();
  }
  segments.push_back(std::move(segment));
  publish();
  return {};
}

Status PartitionLog::Body::save_append_times() {
  AppendTimes::Covered covered;
  {
    std::lock_guard state(state_mutex);
    auto const& last = *published->all().back();
    covered = {end(), last.base(), last.size()};
  }
  auto saved = append_times.save(covered);
  if (!saved && saved.error().kind == ErrorKind::no_space) return {};
  return saved;
}

// Whether the segment that the file names ends a batch where the file says.
bool PartitionLog::Body::covers(AppendTimes::Covered const& covered) const {
  auto const list = [&] {
    std::lock_guard lock(state_mutex);
    return published;
  }();
  auto const i = list->find(covered.base);
  if (!i || list->all()[*i]->base() != covered.base) return false;
  auto& segment = *list->all()[*i];
  auto const located = segment.locate(covered.end, Position(segment.size()), env::Wait::yes);
  return located && located->position == Position(covered.bytes);
}

// Where the side file is silent, the batch's own time serves, within what is known.
std::optional<int64_t> PartitionLog::Body::append_time_ms(Offset offset) {
  if (offset >= end() || !usable()) return std::nullopt;
  auto const found = append_times.find(offset);
  if (found.time_ms >= 0) return found.time_ms;
  auto const list = [&] {
    std::lock_guard lock(state_mutex);
    return published;
  }();
  for (auto i = list->find(offset).value_or(0); i < list->all().size(); ++i) {
    auto& segment = *list->all()[i];
    auto head = segment.head_at(offset);
    if (!head || !*head) continue;
    auto time = (*head)->max_timestamp_ms;
    auto latest = found.latest_ms >= 0 ? found.latest_ms : segment.touched_ms();
    if (latest < found.earliest_ms) latest = std::max(time, found.earliest_ms);  // a copy's file time says nothing
    if (time < 0 || time > latest) time = latest;
    return std::max(time, found.earliest_ms);
  }
  return std::nullopt;
}

Result<Offset> PartitionLog::Body::sync() {
  MR_TRY(usable());
  MR_TRY(checked(directory.check_earlier_write_back(), "sync the file system for"));
  std::lock_guard lock(io_mutex);
  MR_TRY(usable());
  Offset target;
  std::shared_ptr<Segment> segment;
  {
    std::lock_guard state(state_mutex);
    target = end();
    segment = published->all().back();
  }
  MR_TRY_ASSIGN(auto file, segment->file().acquire());
  auto const was_evicted = segment->file().begin_sync();
  MR_TRY(checked(file->sync(), "sync"));
  if (was_evicted) MR_TRY(checked(directory.disk().sync_file_system(directory.path()), "sync the file system for"));
  MR_TRY(checked(sync_entries(), "sync the directory of"));
  if (synced_end.load() < target.value) synced_end = target.value;
  return target;
}

// Of the directory, once. Where its metadata file does not tell the topic's id, the next start sets it aside.
Status PartitionLog::Body::sync_entries() {
  if (!is_directory_unsynced.exchange(false)) return {};
  auto& disk = directory.disk();
  Status synced;
  if (auto file = disk.open(path(kPartitionMetadataFile), env::OpenMode::read); file) synced = (*file)->sync();
  else if (file.error().kind != ErrorKind::not_found) synced = std::move(file).error();
  if (synced) synced = disk.sync_directory(path());
  if (synced) synced = disk.sync_directory(directory.path());
  if (!synced) is_directory_unsynced = true;
  return synced;
}

// Index entries, epochs and a producer snapshot are written before the file system is synced; the epochs take their
// name after it, so that a name never stands for content that was lost.
Result<FlushTarget> PartitionLog::Body::begin_flush() {
  MR_TRY(usable());
  FlushTarget target;
  target.cut_count = cut_count;
  std::string epochs_text;
  ProducerFiles files;
  LogPosition position;
  {
    std::lock_guard state(state_mutex);
    is_dirty = false;
    target.end = end();
    target.first_base = published->all().front()->base();
    position = published->all().back()->log_end();
    target.has_no_producers = producers.empty();
    if (std::exchange(are_epochs_dirty, false)) epochs_text = epochs.text();
    if (kind == LogKind::partition && !producers.empty() &&
        position.value - snapshot_position >= kSnapshotDistanceBytes) {
      files = producer_files(target.end);
      snapshot_position = position.value;
    }
  }
  flushed_position = position.value;
  if (!epochs_text.empty()) {
    target.has_new_epochs = true;
    MR_TRY_ASSIGN(auto file, directory.disk().open(path(kEpochsFile) + ".tmp", env::OpenMode::create_empty));
    ByteView const piece = as_bytes(epochs_text);
    MR_TRY(file->write(Position(0), {&piece, 1}));
  }
  if (!files.snapshot.empty() && !snapshots.contains(target.end)) MR_TRY(write_producer_files(target.end, files));
  auto segment = [&] {
    std::lock_guard state(state_mutex);
    return published->all().back();
  }();
  MR_TRY(segment->save_indexes());
  if (kind == LogKind::partition && append_times.wants_save()) MR_TRY(save_append_times());
  target.indexes = segment->saved_indexes();
  return target;
}

Status PartitionLog::Body::finish_flush(FlushTarget const& target) {
  MR_TRY(usable());
  if (target.cut_count != cut_count) return {};  // what was synced is not what is there now
  auto& disk = directory.disk();
  if (target.has_new_epochs) MR_TRY(disk.rename(path(kEpochsFile) + ".tmp", path(kEpochsFile)));
  // Snapshots taken between rolls serve only until the next one.
  std::set<Offset> keep;
  {
    std::lock_guard state(state_mutex);
    for (auto const& segment : published->all()) keep.insert(segment->base());
  }
  if (!snapshots.empty()) keep.insert(*snapshots.rbegin());
  for (auto i = snapshots.begin(); i != snapshots.end();) {
    if (keep.contains(*i)) {
      ++i;
      continue;
    }
    if (auto removed = disk.remove_file(path(offset_file_stem(*i) + ".snapshot"));
        !removed && removed.error().kind != ErrorKind::not_found) {
      return removed;
    }
    i = snapshots.erase(i);
  }
  return {};
}

void PartitionLog::Body::complete_flush(FlushTarget const& target) {
  if (target.cut_count != cut_count || target.is_lost) return;
  if (recovery_point.load() < target.end.value) recovery_point = target.end.value;
  if (synced_end.load() < target.end.value) synced_end = target.end.value;
  durable_first_base = target.first_base.value;
  std::lock_guard lock(state_mutex);
  last_flushed = target;
}

void PartitionLog::Body::flush_failed() {
  {
    std::lock_guard lock(state_mutex);
    are_epochs_dirty = true;
  }
  mark_dirty();
}

FlushTarget PartitionLog::Body::flushed() const {
  std::lock_guard lock(state_mutex);
  return last_flushed;
}

Status PartitionLog::Body::close_cleanly() {
  MR_TRY(usable());
  std::lock_guard lock(io_mutex);
  MR_TRY(checked(active().close_indexes(), "save the indexes of"));
  for (size_t i = 0; i + 1 < segments.size(); ++i) {
    if (!segments[i]->has_unsaved_indexes()) continue;  // made again since the log was opened
    MR_TRY(checked(segments[i]->save_indexes(), "save the indexes of"));
    MR_TRY(checked(save_index_checks(*segments[i]), "save the checksums of"));
  }
  MR_TRY(checked(active().trim_preallocation(), "trim"));
  if (active().size() > 0) MR_TRY(checked(save_index_checks(active()), "save the checksums of"));
  if (kind == LogKind::partition) MR_TRY(checked(save_append_times(), "save the append times of"));
  if (kind == LogKind::partition && end().value > 0 && (snapshots.empty() || *snapshots.rbegin() < end())) {
    MR_TRY(checked(write_producer_files(end(), producer_files(end())), "save the producers of"));
  }
  auto target = begin_flush();
  if (!target) return failed(std::move(target).error(), "save the state of");
  MR_TRY(checked(finish_flush(*target), "save the state of"));
  closing = *target;  // counts once the directory has synced the file system
  return {};
}

// ---- PartitionLog: thin calls into the body

PartitionLog::PartitionLog(std::unique_ptr<Body> body) : body_(std::move(body)) {}
PartitionLog::~PartitionLog() = default;

TopicPartition const& PartitionLog::topic_partition() const { return body_->partition; }
TopicId PartitionLog::topic_id() const { return body_->topic_id; }
LogDirectory& PartitionLog::directory() const { return body_->directory; }
RecoveryReport const& PartitionLog::recovery() const { return body_->recovery; }
Offset PartitionLog::high_watermark_at_start() const { return body_->high_watermark_at_start; }

Result<Appended> PartitionLog::append(std::span<ByteView const> batches, Wall now) {
  return body_->append(batches, now);
}
bool PartitionLog::is_append_short(std::span<ByteView const> batches, Wall now) const {
  return body_->is_append_short(batches, now);
}
Status PartitionLog::roll(Wall now) {
  if (body_->active().size() == 0) return {};
  auto rolled = body_->roll(body_->end(), now);
  if (rolled) return rolled;
  return body_->failed(std::move(rolled).error(), "roll");
}

Offset PartitionLog::log_start() const { return Offset(body_->log_start.load(std::memory_order_acquire)); }
LogMark PartitionLog::end() const { return body_->end_mark(); }

int64_t PartitionLog::size_bytes() const {
  int64_t total = 0;
  std::lock_guard lock(body_->state_mutex);
  for (auto const& segment : body_->published->all()) total += segment->size();
  return total;
}
size_t PartitionLog::segment_count() const {
  std::lock_guard lock(body_->state_mutex);
  return body_->published->all().size();
}
int64_t PartitionLog::largest_timestamp_ms() const {
  auto const largest = body_->active().largest_timestamp();
  return largest ? largest->timestamp_ms : record::kNoTimestamp;
}
std::optional<int64_t> PartitionLog::append_time_ms(Offset offset) const { return body_->append_time_ms(offset); }
ReadView PartitionLog::view() const {
  std::lock_guard lock(body_->state_mutex);
  return ReadView(body_->published);
}
LogConfig const& PartitionLog::config() const { return body_->config; }
void PartitionLog::set_config(LogConfig const& config) {
  body_->config = config;
  for (auto const& segment : body_->segments) segment->set_rules(body_->rules());
}

ProducerState const& PartitionLog::producers() const { return body_->producers; }
Offset PartitionLog::last_stable_offset(Offset high_watermark) const {
  auto const unstable = body_->producers.first_unstable_offset(high_watermark);
  return unstable ? std::min(*unstable, high_watermark) : high_watermark;
}
void PartitionLog::on_high_watermark(Offset high_watermark) {
  body_->high_watermark.store(high_watermark.value, std::memory_order_relaxed);
  if (body_->producers.has_completed()) {
    std::lock_guard lock(body_->state_mutex);
    body_->producers.forget_completed_below(high_watermark);
  }
}
void PartitionLog::expire_producers(Wall now) {
  std::lock_guard lock(body_->state_mutex);
  body_->producers.expire(now, body_->config.producer_expiry_ms);
}

LeaderEpochs const& PartitionLog::epochs() const { return body_->epochs; }
void PartitionLog::assign_epoch(LeaderEpoch epoch) {
  {
    std::lock_guard lock(body_->state_mutex);
    if (!body_->epochs.assign(epoch, body_->end())) return;
    body_->are_epochs_dirty = true;
  }
  body_->mark_dirty();
}
EpochEnd PartitionLog::end_of_epoch(LeaderEpoch epoch) const { return body_->epochs.end_of(epoch, body_->end()); }

Status PartitionLog::truncate_to(Offset offset) { return body_->truncate_to(offset); }
Status PartitionLog::truncate_fully_and_start_at(Offset offset) {
  return body_->truncate_fully_and_start_at(offset, Wall{body_->active().touched_ms()});
}
Result<RetentionResult> PartitionLog::delete_records(Offset before, Offset high_watermark) {
  return body_->delete_records(before, high_watermark);
}
void PartitionLog::advance_log_start(Offset log_start) { body_->advance_log_start(log_start); }
Result<RetentionResult> PartitionLog::apply_retention(Wall now, Offset high_watermark) {
  return body_->apply_retention(now, high_watermark);
}

Result<Offset> PartitionLog::sync() { return body_->sync(); }
Offset PartitionLog::recovery_point() const { return Offset(body_->recovery_point.load()); }
Status PartitionLog::close_cleanly() { return body_->close_cleanly(); }

}  // namespace millrace::storage
