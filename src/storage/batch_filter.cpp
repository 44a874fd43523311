#include "batch_filter.h"

#include <algorithm>

#include "millrace/record/builder.h"
#include "millrace/record/record.h"

namespace millrace::storage {

// ---- Transactions

CleanedTransactions::CleanedTransactions(std::vector<AbortedTransaction> aborted) : aborted_(std::move(aborted)) {
  std::stable_sort(aborted_.begin(), aborted_.end(),
                   [](auto const& a, auto const& b) { return a.first_offset < b.first_offset; });
}

void CleanedTransactions::advance_to(Offset last_offset) {
  for (; next_ < aborted_.size() && aborted_[next_].first_offset <= last_offset; ++next_) {
    ongoing_aborted_.insert_or_assign(aborted_[next_].producer_id.value, Ongoing{aborted_[next_]});
  }
}

bool CleanedTransactions::on_data(record::BatchView batch) {
  advance_to(batch.last_offset());
  if (!batch.is_transactional()) return false;
  auto const found = ongoing_aborted_.find(batch.producer_id().value);
  if (found == ongoing_aborted_.end()) {
    ongoing_committed_.insert(batch.producer_id().value);
    return false;
  }
  found->second.has_data = true;
  return true;
}

CleanedTransactions::Marker CleanedTransactions::on_control(record::BatchView batch) {
  advance_to(batch.last_offset());
  record::RecordReader reader(batch, batch.payload());
  record::RecordView one;
  if (!reader.next(one)) return {.decides_nothing = batch.record_count() == 0, .aborted = {}};
  auto type = record::ControlType::unknown;
  if (record::read_control_type(one, type)) return {};
  auto const producer = batch.producer_id().value;
  if (type == record::ControlType::commit)
    return {.decides_nothing = ongoing_committed_.erase(producer) == 0, .aborted = {}};
  if (type != record::ControlType::abort) return {};
  auto const found = ongoing_aborted_.find(producer);
  if (found == ongoing_aborted_.end()) return {.decides_nothing = true, .aborted = {}};
  auto const ended = found->second;
  ongoing_aborted_.erase(found);
  if (!ended.has_data) return {.decides_nothing = true, .aborted = {}};
  return {.decides_nothing = false, .aborted = ended.transaction};
}

// ---- One batch

bool BatchFilter::is_last_of_producer(record::BatchView batch) const {
  if (!batch.has_producer_id()) return false;
  auto const found = producers_.find(batch.producer_id().value);
  if (found == producers_.end()) return false;
  auto const& last = found->second;
  if (last.last_data_offset) return batch.last_offset() == *last.last_data_offset;
  return batch.is_control() && batch.producer_epoch() == last.epoch;
}

BatchFilter::Outcome BatchFilter::without_records(record::BatchView batch, bool may_drop) {
  if (may_drop) return {.fate = Fate::dropped, .rewritten = {}, .aborted = {}};
  if (batch.record_count() == 0) return {};
  out_.resize(record::kBatchHeaderBytes);
  auto constexpr kKept =
      record::attribute::kLogAppendTime | record::attribute::kTransactional | record::attribute::kControl;
  record::write_header(out_, {.base_offset = batch.base_offset(),
                              .leader_epoch = batch.leader_epoch(),
                              .attributes = static_cast<int16_t>(batch.attributes() & kKept),
                              .last_offset_delta = batch.last_offset_delta(),
                              .base_timestamp = record::kNoTimestamp,
                              .max_timestamp = batch.max_timestamp(),
                              .producer_id = batch.producer_id(),
                              .producer_epoch = batch.producer_epoch(),
                              .base_sequence = batch.base_sequence(),
                              .record_count = 0});
  return {.fate = Fate::rewritten, .rewritten = out_, .aborted = {}};
}

Result<BatchFilter::Outcome> BatchFilter::filter(record::BatchView batch) {
  if (!batch.has_header()) {
    has_unread_ = true;
    return Outcome{};
  }
  bool const must_stay = is_last_of_producer(batch) || batch.next_offset() == rules_.upper;
  auto const horizon = batch.delete_horizon_ms();
  bool const is_past_horizon = horizon && *horizon <= rules_.now_ms && !has_unread_;
  std::optional<AbortedTransaction> aborted;
  bool is_empty_marker = false;
  if (batch.is_control()) {
    auto const marker = transactions_.on_control(batch);
    aborted = marker.aborted;
    is_empty_marker = marker.decides_nothing;
    if (is_empty_marker && is_past_horizon) return without_records(batch, !must_stay);
  } else if (transactions_.on_data(batch)) {
    return without_records(batch, !must_stay);
  }
  if (batch.record_count() == 0) return without_records(batch, !must_stay);

  ByteView records;
  DecompressLimits limits;
  limits.output_bytes_max = kOpenedBytesMax;
  if (auto const fault = record::open_records(batch, limits, codecs_, opened_, records)) {
    has_unread_ = true;
    return Outcome{.fate = Fate::kept, .rewritten = {}, .aborted = aborted};
  }
  struct Kept {
    size_t at, size;
    int64_t timestamp;
    int32_t offset_delta;
    ByteView tail;
  };
  std::vector<Kept> kept;
  bool has_tombstone = false;
  size_t at = 0;
  auto max_timestamp = record::kNoTimestamp;
  record::RecordReader reader(batch, records);
  for (record::RecordView one; reader.next(one); at += one.size_bytes) {
    if (!batch.is_control() && one.offset <= rules_.mapped_to) {
      if (!one.key) continue;
      auto const newest = newest_.find(*one.key);
      if (newest && one.offset < *newest) continue;
      if (!one.value && is_past_horizon) continue;
    }
    if (!one.value) has_tombstone = true;
    max_timestamp = std::max(max_timestamp, one.timestamp);
    kept.push_back({at, one.size_bytes, one.timestamp, one.offset_delta, one.tail});
  }
  if (reader.fault()) {
    has_unread_ = true;
    return Outcome{.fate = Fate::kept, .rewritten = {}, .aborted = aborted};
  }
  if (kept.empty()) {
    auto out = without_records(batch, !must_stay);
    out.aborted = aborted;
    return out;
  }
  // A tombstone, or a marker that decides nothing, is given its time to be seen when compaction first meets it.
  bool const sets_horizon = !horizon && (has_tombstone || is_empty_marker);
  if (kept.size() == static_cast<size_t>(batch.record_count()) && !sets_horizon)
    return Outcome{.fate = Fate::kept, .rewritten = {}, .aborted = aborted};

  auto const base_timestamp =
      sets_horizon ? record::wrapping_sum(rules_.now_ms, rules_.delete_retention_ms) : batch.base_timestamp();
  records_.clear();
  for (auto const& one : kept) {
    if (!sets_horizon) {
      auto const bytes = records.subspan(one.at, one.size);
      records_.insert(records_.end(), bytes.begin(), bytes.end());
      continue;
    }
    record::append_record_start(records_, record::wrapping_difference(one.timestamp, base_timestamp), one.offset_delta,
                                one.tail.size());
    records_.insert(records_.end(), one.tail.begin(), one.tail.end());
  }
  out_.resize(record::kBatchHeaderBytes);
  auto const codec = batch.codec().value_or(Codec::none);
  if (codec == Codec::none)
    out_.insert(out_.end(), records_.begin(), records_.end());
  else
    compress(codec, default_level(codec), records_, codecs_, out_);
  auto const attributes =
      static_cast<int16_t>(batch.attributes() | (sets_horizon ? record::attribute::kDeleteHorizon : 0));
  bool const is_append_time = batch.timestamp_type() == record::TimestampType::log_append_time;
  record::write_header(out_, {.base_offset = batch.base_offset(),
                              .leader_epoch = batch.leader_epoch(),
                              .attributes = attributes,
                              .last_offset_delta = batch.last_offset_delta(),
                              .base_timestamp = base_timestamp,
                              .max_timestamp = is_append_time ? batch.max_timestamp() : max_timestamp,
                              .producer_id = batch.producer_id(),
                              .producer_epoch = batch.producer_epoch(),
                              .base_sequence = batch.base_sequence(),
                              .record_count = static_cast<int32_t>(kept.size())});
  return Outcome{.fate = Fate::rewritten, .rewritten = out_, .aborted = aborted};
}

}  // namespace millrace::storage
