#include "millrace/storage/compaction.h"

#include "batch_filter.h"
#include "millrace/record/record.h"
#include "partition_body.h"

namespace millrace::storage {
namespace {

// What a pass gathers before it writes.
constexpr size_t kOutputBytes = 1 << 20;
// Segments that become one: each holds a descriptor until readers have left it.
constexpr size_t kGroupSegmentsMax = 64;

}  // namespace

struct Compaction::Body {
  enum class Phase : uint8_t { mapping, grouping, cleaning, installing, done };

  Body(std::shared_ptr<PartitionLog> l, PartitionLog::Body& b, CompactionRules const& rules)
      : log(std::move(l)), owner(b), newest(rules.key_map_bytes_max, rules.secret) {}

  // ---- Mapping
  Status map_step(int64_t bytes_max);
  Result<bool> map_batch(record::BatchView batch);  // false: the map is full
  void end_mapping();
  // ---- Cleaning
  Status begin_group();
  Status clean_step(int64_t bytes_max);
  Status put(ByteView batch);
  Status flush();
  Status end_group();
  Status finish();

  Status open_segment(size_t index, Position from);
  Status usable() const;

  std::shared_ptr<PartitionLog> log;
  PartitionLog::Body& owner;
  uint64_t cut_count = 0;
  int64_t now_ms = 0;
  int64_t delete_retention_ms = 0;
  int64_t segment_bytes_max = 0;
  IndexRules index_rules;
  Offset first_dirty, upper;
  std::vector<std::shared_ptr<Segment>> segments;  // closed, below `upper`
  std::vector<AbortedTransaction> aborted;         // that touch those
  std::map<int64_t, LastOfProducer> producers;
  CompactionStats stats;

  Phase phase = Phase::mapping;
  KeyOffsetMap newest;
  Offset mapped_to{-1};
  std::optional<CleanedTransactions> transactions;
  std::optional<BatchFilter> filter;

  size_t index = 0;  // of the segment that is read
  std::shared_ptr<env::File> file;
  std::optional<BatchScanner> scanner;
  CodecContext codecs;
  std::vector<std::byte> opened;

  size_t group_begin = 0, group_end = 0;
  std::shared_ptr<Segment> fresh;
  bool is_changed = false;
  std::vector<std::byte> output;
  struct Gathered {
    size_t at, size;
    BatchHead head;
  };
  std::vector<Gathered> gathered;
};

Status Compaction::Body::usable() const {
  MR_TRY(owner.usable());
  std::lock_guard lock(owner.io_mutex);
  if (owner.cut_count == cut_count) return {};
  return Error{ErrorKind::cancelled, fmt::format("{} was cut while it was compacted", owner.name)};
}

Status Compaction::Body::open_segment(size_t i, Position from) {
  index = i;
  MR_TRY_ASSIGN(file, segments[i]->file().acquire());
  scanner.emplace(*file, from, Position(segments[i]->size()));
  return {};
}

// ---- Which offset is the newest of each key

Result<bool> Compaction::Body::map_batch(record::BatchView batch) {
  if (!batch.has_header()) return true;
  if (batch.is_control()) {
    transactions->on_control(batch);
    return true;
  }
  if (transactions->on_data(batch) || batch.record_count() == 0) return true;
  ByteView records;
  DecompressLimits limits;
  limits.output_bytes_max = BatchFilter::kOpenedBytesMax;
  if (record::open_records(batch, limits, codecs, opened, records)) return true;
  record::RecordReader reader(batch, records);
  for (record::RecordView one; reader.next(one);) {
    if (!one.key || one.offset < first_dirty) continue;
    if (!newest.put(*one.key, one.offset)) return false;
    mapped_to = std::max(mapped_to, one.offset);
  }
  return true;
}

Status Compaction::Body::map_step(int64_t bytes_max) {
  for (int64_t done = 0; done < bytes_max;) {
    BatchHead head;
    MR_TRY_ASSIGN(auto const is_batch, scanner->next(head));
    if (!is_batch) {
      if (index + 1 == segments.size()) {
        mapped_to = upper - 1;
        end_mapping();
        return {};
      }
      MR_TRY(open_segment(index + 1, Position(0)));
      continue;
    }
    done += head.size_bytes;
    stats.bytes_read += head.size_bytes;
    if (head.last_offset < first_dirty) continue;
    if (head.base_offset >= upper) {
      mapped_to = upper - 1;
      end_mapping();
      return {};
    }
    MR_TRY_ASSIGN(auto const bytes, scanner->bytes());
    record::BatchView const batch(bytes);
    if (auto const fault = record::check(batch))
      return Error{ErrorKind::corrupt, fmt::format("batch at {}: {}", head.base_offset, fault.message)};
    MR_TRY_ASSIGN(auto const has_room, map_batch(batch));
    if (!has_room) {
      // What lies behind stays dirty for the next pass.
      end_mapping();
      return {};
    }
    mapped_to = std::max(mapped_to, head.last_offset);
  }
  return {};
}

void Compaction::Body::end_mapping() {
  stats.key_count = newest.size();
  stats.key_map_bytes = newest.bytes();
  scanner.reset();
  file.reset();
  transactions.emplace(aborted);
  filter.emplace(
      newest,
      FilterRules{.mapped_to = mapped_to, .upper = upper, .now_ms = now_ms, .delete_retention_ms = delete_retention_ms},
      producers, *transactions);
  while (segments.size() > 1 && segments.back()->base() > mapped_to) segments.pop_back();
  phase = Phase::grouping;
}

// ---- What stays

// Neighbours that fit into one segment become one.
Status Compaction::Body::begin_group() {
  if (group_end == segments.size()) {
    MR_TRY(finish());
    phase = Phase::done;
    return {};
  }
  group_begin = group_end++;
  auto bytes = segments[group_begin]->size();
  auto const base = segments[group_begin]->base();
  while (group_end < segments.size() && group_end - group_begin < kGroupSegmentsMax) {
    auto const next = group_end + 1 < segments.size() ? segments[group_end + 1]->base() : upper;
    if (bytes + segments[group_end]->size() > segment_bytes_max) break;
    if (next - base > std::numeric_limits<int32_t>::max()) break;
    bytes += segments[group_end++]->size();
  }
  is_changed = group_end - group_begin > 1;
  MR_TRY_ASSIGN(fresh,
                Segment::create_cleaned(owner.directory.files(), owner.path(), base, segments[group_begin]->start(),
                                        index_rules, Wall{segments[group_end - 1]->touched_ms()}));
  MR_TRY(open_segment(group_begin, Position(0)));
  phase = Phase::cleaning;
  return {};
}

Status Compaction::Body::put(ByteView batch) {
  MR_TRY_ASSIGN(auto const head, read_batch_head(batch));
  gathered.push_back({output.size(), batch.size(), head});
  output.insert(output.end(), batch.begin(), batch.end());
  return output.size() < kOutputBytes ? Status() : flush();
}

Status Compaction::Body::flush() {
  if (gathered.empty()) return {};
  ByteView const piece(output);
  auto const bytes = static_cast<int64_t>(output.size());
  auto [written, cut] = fresh->write({&piece, 1}, bytes, 0);
  MR_TRY(std::move(written));
  auto const start = Position(fresh->size());
  for (auto const& one : gathered) fresh->account(start + static_cast<int64_t>(one.at), one.head);
  fresh->commit(bytes, Wall{fresh->touched_ms()});
  stats.bytes_written += bytes;
  output.clear();
  gathered.clear();
  return {};
}

Status Compaction::Body::clean_step(int64_t bytes_max) {
  for (int64_t done = 0; done < bytes_max;) {
    BatchHead head;
    MR_TRY_ASSIGN(auto const is_batch, scanner->next(head));
    if (!is_batch) {
      if (index + 1 < group_end) {
        MR_TRY(open_segment(index + 1, Position(0)));
        continue;
      }
      return end_group();
    }
    done += head.size_bytes;
    stats.bytes_read += head.size_bytes;
    MR_TRY_ASSIGN(auto const bytes, scanner->bytes());
    record::BatchView const batch(bytes);
    if (auto const fault = record::check(batch))
      return Error{ErrorKind::corrupt, fmt::format("batch at {}: {}", head.base_offset, fault.message)};
    MR_TRY_ASSIGN(auto const outcome, filter->filter(batch));
    if (outcome.aborted) fresh->add_aborted(*outcome.aborted);
    if (outcome.fate != BatchFilter::Fate::kept) is_changed = true;
    if (outcome.fate == BatchFilter::Fate::kept)
      MR_TRY(put(bytes));
    else if (outcome.fate == BatchFilter::Fate::rewritten)
      MR_TRY(put(outcome.rewritten));
  }
  return {};
}

Status Compaction::Body::end_group() {
  MR_TRY(flush());
  scanner.reset();
  file.reset();
  if (!is_changed) {
    MR_TRY(owner.remove_files(*fresh));
    fresh.reset();
    phase = Phase::grouping;
    return {};
  }
  MR_TRY(fresh->close_indexes());
  auto& disk = owner.directory.disk();
  // Whole and durable under names that a start throws away, before any name that a start would take.
  for (auto const* suffix : {".log", ".index", ".timeindex", ".txnindex"}) {
    if (!disk.exists(fresh->path(suffix))) continue;
    MR_TRY_ASSIGN(auto const written, disk.open(fresh->path(suffix), env::OpenMode::read_write));
    MR_TRY(owner.checked(written->sync(), "sync"));
  }
  MR_TRY(owner.checked(disk.sync_directory(owner.path()), "sync the directory of"));
  phase = Phase::installing;
  return {};
}

Status Compaction::Body::finish() {
  {
    std::lock_guard lock(owner.io_mutex);
    if (owner.cut_count != cut_count) return Error{ErrorKind::cancelled, "cut"};
    owner.first_dirty = std::max(first_dirty, mapped_to + 1).value;
  }
  return owner.directory.write_cleaner_checkpoint();
}

// ---- Compaction

Compaction::Compaction(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Compaction::~Compaction() = default;
CompactionStats const& Compaction::stats() const { return body_->stats; }
PartitionLog& Compaction::log() const { return *body_->log; }

Result<Compaction::Next> Compaction::step(int64_t bytes_max) {
  using Phase = Body::Phase;
  auto& body = *body_;
  std::lock_guard lock(body.owner.compaction_mutex);
  MR_TRY(body.usable());
  auto const work = [&]() -> Status {
    switch (body.phase) {
      case Phase::mapping: return body.map_step(bytes_max);
      case Phase::grouping: return body.begin_group();
      case Phase::cleaning: return body.clean_step(bytes_max);
      case Phase::installing:
      case Phase::done: return {};
    }
    return {};
  };
  if (auto done = work(); !done) {
    // A cut explains whatever was read meanwhile.
    MR_TRY(body.usable());
    return body.owner.failed(std::move(done).error(), "compact");
  }
  return body.phase == Phase::installing ? Next::install : body.phase == Phase::done ? Next::done : Next::step;
}

void Compaction::drop() {
  auto& body = *body_;
  std::lock_guard lock(body.owner.compaction_mutex);
  auto const fresh = std::exchange(body.fresh, nullptr);
  if (!fresh || !body.owner.usable()) return;
  if (auto const removed = body.owner.remove_files(*fresh); !removed) {
    body.owner.directory.options().log->warn("storage", "{}: {}", body.owner.name, removed.error().message);
  }
}

// ---- PartitionLog

bool PartitionLog::has_closed_dirty_segments() const {
  std::lock_guard lock(body_->state_mutex);
  auto const& all = body_->published->all();
  return all.size() > 1 && all.back()->base().value > std::max(body_->first_dirty.load(), body_->log_start.load());
}

Offset PartitionLog::first_dirty_offset() const {
  auto const start = Offset(body_->log_start.load());
  auto const dirty = Offset(body_->first_dirty.load());
  return dirty < start || dirty > end().offset ? start : dirty;
}

Result<Offset> PartitionLog::Body::compaction_end(Offset first, Wall now, Offset stable) const {
  auto upper = std::min(stable, active().base());
  if (config.compaction_lag_ms_min <= 0) return upper;
  for (auto const& segment : segments) {
    if (segment == segments.back() || segment->base() >= upper) break;
    if (segment->base() < first) continue;
    MR_TRY_ASSIGN(auto const largest, segment->largest_timestamp());
    if (largest.timestamp_ms > now.ms - config.compaction_lag_ms_min) return std::min(upper, segment->base());
  }
  return upper;
}

Result<CompactionNeed> PartitionLog::compaction_need(Wall now, Offset high_watermark) const {
  auto const& body = *body_;
  CompactionNeed need;
  auto const first = first_dirty_offset();
  MR_TRY_ASSIGN(auto const upper, body.compaction_end(first, now, last_stable_offset(high_watermark)));
  for (size_t i = 0; i + 1 < body.segments.size(); ++i) {
    auto const& segment = *body.segments[i];
    if (segment.base() >= upper) break;
    if (body.segments[i + 1]->base() <= first) {
      need.clean_bytes += segment.size();
      continue;
    }
    if (segment.base() < first) {
      // A pass that ran out of room for keys ended inside.
      auto located = body.segments[i]->locate(first, Position(segment.size()), env::Wait::yes);
      if (!located) return std::move(located).error();
      need.clean_bytes += located->position.value;
      need.dirty_bytes += segment.size() - located->position.value;
    } else {
      need.dirty_bytes += segment.size();
    }
    if (body.config.compaction_lag_ms_max < std::numeric_limits<int64_t>::max() && !need.is_overdue) {
      MR_TRY_ASSIGN(auto const time, body.segments[i]->first_timestamp_ms());
      need.is_overdue = time && *time >= 0 && now.ms - *time > body.config.compaction_lag_ms_max;
    }
  }
  return need;
}

Result<std::unique_ptr<Compaction>> PartitionLog::begin_compaction(CompactionRules const& rules, Wall now,
                                                                   Offset high_watermark) {
  auto& body = *body_;
  MR_TRY(body.usable());
  auto pass = std::make_unique<Compaction::Body>(body.self.lock(), body, rules);
  pass->now_ms = now.ms;
  pass->first_dirty = first_dirty_offset();
  MR_TRY_ASSIGN(pass->upper, body.compaction_end(pass->first_dirty, now, last_stable_offset(high_watermark)));
  pass->delete_retention_ms = body.config.delete_retention_ms;
  pass->segment_bytes_max = body.config.segment_bytes;
  pass->index_rules = body.rules();
  for (auto const& segment : body.segments) {
    if (segment == body.segments.back() || segment->base() >= pass->upper) break;
    pass->segments.push_back(segment);
  }
  if (pass->segments.empty() || pass->first_dirty >= pass->upper)
    return Error{ErrorKind::invalid, fmt::format("{} has nothing to compact", body.name)};
  body.producers.for_each([&](ProducerId id, ProducerEntry const& entry) {
    LastOfProducer last{.last_data_offset = {}, .epoch = entry.epoch};
    if (entry.batch_count > 0) last.last_data_offset = entry.batches[entry.batch_count - 1].last_offset;
    pass->producers.emplace(id.value, last);
  });
  MR_TRY_ASSIGN(pass->aborted, view().aborted_transactions(pass->segments.front()->base(), pass->upper));
  {
    std::lock_guard lock(body.io_mutex);
    pass->cut_count = body.cut_count;
  }
  pass->transactions.emplace(pass->aborted);
  auto const first = SegmentList(pass->segments).find(pass->first_dirty).value_or(0);
  MR_TRY_ASSIGN(auto const located, pass->segments[first]->locate(
                                        pass->first_dirty, Position(pass->segments[first]->size()), env::Wait::yes));
  MR_TRY(pass->open_segment(first, located.position));
  if (body.first_dirty.load() < 0) {
    // From the first swap on offsets may be missing between segments: a start must know before.
    body.first_dirty = pass->first_dirty.value;
    MR_TRY(body.directory.write_cleaner_checkpoint());
  }
  return std::unique_ptr<Compaction>(new Compaction(std::move(pass)));
}

Result<std::shared_ptr<DeletedSegments>> PartitionLog::install(Compaction& compaction) {
  auto& pass = *compaction.body_;
  MR_ASSERT(&pass.owner == body_.get());
  MR_ASSERT(pass.phase == Compaction::Body::Phase::installing);
  std::lock_guard lock(pass.owner.compaction_mutex);
  auto const old = std::span(pass.segments).subspan(pass.group_begin, pass.group_end - pass.group_begin);
  for (auto const& segment : old) pass.stats.bytes_before += segment->size();
  pass.stats.bytes_after += pass.fresh->size();
  MR_TRY_ASSIGN(auto files, pass.owner.replace_segments(old, pass.fresh, pass.cut_count));
  pass.fresh.reset();
  pass.phase = Compaction::Body::Phase::grouping;
  return files;
}

// Kafka's order and names. From the moment the new files are durably called `.swap` a start finishes the exchange;
// before, it throws them away. The old ones lose their names durably before the new ones take them: a power loss may
// keep any of the renames that no sync covers, and an old segment beside one that holds its records would be there
// twice.
Result<std::shared_ptr<DeletedSegments>> PartitionLog::Body::replace_segments(
    std::span<std::shared_ptr<Segment> const> old, std::shared_ptr<Segment> const& fresh, uint64_t cuts) {
  std::lock_guard lock(io_mutex);
  MR_TRY(usable());
  auto const first = std::find(segments.begin(), segments.end(), old.front());
  if (cut_count != cuts || first == segments.end() || static_cast<size_t>(segments.end() - first) <= old.size() ||
      !std::equal(old.begin(), old.end(), first)) {
    return Error{ErrorKind::cancelled, fmt::format("segments of {} are gone", name)};
  }
  auto& disk = directory.disk();
  auto files = std::make_shared<DeletedSegments>();
  files->disk = &disk;
  auto const work = [&]() -> Status {
    for (auto const& segment : old) MR_TRY(segment->detach());
    MR_TRY(fresh->move_to(".swap"));
    MR_TRY(disk.sync_directory(path()));
    for (auto const& segment : old) {
      auto paths = segment->index_paths();
      paths.insert(paths.begin(), segment->path(".log"));
      for (auto const& file : paths) {
        auto renamed = disk.rename(file, file + ".deleted");
        if (renamed)
          files->paths.push_back(file + ".deleted");
        else if (renamed.error().kind != ErrorKind::not_found)
          return renamed;
      }
    }
    MR_TRY(disk.sync_directory(path()));
    MR_TRY(fresh->move_to(""));
    return disk.sync_directory(path());
  };
  if (auto done = work(); !done) {
    // Half of it is done: this log cannot go on.
    auto error = failed(std::move(done).error(), "swap segments of");
    directory.mark_offline(error.message);
    return error;
  }
  fresh->mark_sealed();
  *first = fresh;
  segments.erase(first + 1, first + static_cast<ptrdiff_t>(old.size()));
  publish();
  if (auto saved = save_index_checks(*fresh); !saved && saved.error().kind != ErrorKind::no_space)
    return failed(std::move(saved).error(), "save the checksums of");
  return files;
}

}  // namespace millrace::storage
