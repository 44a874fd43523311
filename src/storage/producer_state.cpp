#include "millrace/storage/producer_state.h"

#include <algorithm>
#include <limits>

#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/endian.h"
#include "millrace/record/record.h"

namespace millrace::storage {
namespace {

constexpr int32_t kSequenceMax = std::numeric_limits<int32_t>::max();
constexpr int16_t kSnapshotVersion = 1;
constexpr size_t kSnapshotHeadBytes = 10;  // version, checksum, count
constexpr size_t kSnapshotChecksumFrom = 6;
constexpr size_t kSnapshotEntryBytes = 46;

int32_t sequence_after(int32_t last) { return last == kSequenceMax ? 0 : last + 1; }
// Within half of the circle that sequences wrap around.
bool is_after(int32_t sequence, int32_t other) {
  auto const distance = (int64_t{sequence} - other) & kSequenceMax;
  return distance != 0 && distance <= kSequenceMax / 2;
}
bool is_next_sequence(int32_t last, int32_t next) { return next == sequence_after(last); }

// An end-transaction marker is the one record of its batch.
bool read_marker(record::BatchView batch, ProducerClaim& claim) {
  record::RecordReader reader(batch, batch.payload());
  record::RecordView record;
  auto type = record::ControlType::unknown;
  if (!reader.next(record) || record::read_control_type(record, type)) return false;
  if (type != record::ControlType::abort && type != record::ControlType::commit) return false;
  claim.is_commit = type == record::ControlType::commit;
  return !record::read_end_transaction(record, claim.coordinator_epoch);
}

bool is_led_to(ProducerBatch const& next, ProducerBatch const& batch, Offset log_start) {
  return batch.last_sequence >= 0 && batch.offset_delta >= 0 && batch.last_offset < next.first_offset() &&
         batch.last_offset >= log_start + batch.offset_delta &&
         is_next_sequence(batch.last_sequence, next.first_sequence());
}

void move_to_epoch(ProducerEntry& entry, ProducerEpoch epoch) {
  if (entry.epoch == epoch) return;
  entry.epoch = epoch;
  entry.batch_count = 0;
}

// The one place where a batch in the log changes a producer's entry.
void step(ProducerEntry& entry, ProducerClaim const& claim) {
  move_to_epoch(entry, claim.epoch);
  entry.last_timestamp_ms = claim.timestamp_ms;
  if (claim.is_control) {
    entry.coordinator_epoch = claim.coordinator_epoch;
    entry.open_transaction_first_offset.reset();
    return;
  }
  entry.add({.last_sequence = claim.last_sequence,
             .offset_delta = static_cast<int32_t>(claim.last_offset - claim.base_offset),
             .last_offset = claim.last_offset,
             .timestamp_ms = claim.timestamp_ms});
  if (claim.is_transactional && !entry.open_transaction_first_offset) {
    entry.open_transaction_first_offset = claim.base_offset;
  }
}

}  // namespace

int32_t ProducerBatch::first_sequence() const {
  if (last_sequence == record::kNoSequence) return record::kNoSequence;
  if (last_sequence >= offset_delta) return last_sequence - offset_delta;
  return kSequenceMax - (offset_delta - last_sequence) + 1;
}

void ProducerEntry::add(ProducerBatch const& batch) {
  if (batch_count == kProducerBatchesKept) {
    std::move(batches.begin() + 1, batches.end(), batches.begin());
    --batch_count;
  }
  batches[batch_count++] = batch;
}

ProducerBatch const* ProducerEntry::find(int32_t first_sequence, int32_t last_sequence) const {
  for (size_t i = 0; i < batch_count; ++i) {
    if (batches[i].last_sequence == last_sequence && batches[i].first_sequence() == first_sequence) return &batches[i];
  }
  return nullptr;
}

Result<ProducerClaim> ProducerClaim::of(ByteView bytes) {
  record::BatchView const batch(bytes);
  ProducerClaim claim;
  if (!batch.has_header()) return claim;  // older formats know no producers
  claim.producer_id = batch.producer_id();
  claim.epoch = batch.producer_epoch();
  claim.first_sequence = batch.base_sequence();
  claim.last_sequence = batch.last_sequence();
  claim.base_offset = batch.base_offset();
  claim.last_offset = batch.last_offset();
  claim.timestamp_ms = batch.max_timestamp();
  claim.is_transactional = batch.is_transactional();
  claim.is_control = batch.is_control();
  if (claim.is_control && batch.has_producer_id() && !read_marker(batch, claim)) {
    return Error{ErrorKind::corrupt,
                 fmt::format("control batch at offset {} is no end-transaction marker", claim.base_offset)};
  }
  return claim;
}

ProducerOverlay::Pending const* ProducerOverlay::find(ProducerId id) const {
  for (auto const& pending : entries_) {
    if (pending.producer_id == id) return &pending;
  }
  return nullptr;
}

void ProducerOverlay::add(ProducerState const& state, ProducerClaim const& claim) {
  if (claim.producer_id < ProducerId(0)) return;
  auto* pending = const_cast<Pending*>(find(claim.producer_id));
  if (!pending) {
    auto const* known = state.find(claim.producer_id);
    pending = &entries_.emplace_back(Pending{claim.producer_id, known ? *known : ProducerEntry{}, claim.base_offset});
  }
  step(pending->entry, claim);
}

ClaimAnswer ProducerState::check(ProducerClaim const& claim, ProducerOverlay const* overlay, ClaimOrigin origin) const {
  if (claim.producer_id < ProducerId(0)) return {};
  auto const* pending = overlay ? overlay->find(claim.producer_id) : nullptr;
  auto const* entry = pending ? &pending->entry : find(claim.producer_id);
  // A producer not known (any more) may begin anywhere.
  if (!entry) {
    return {.next_sequence = 0,
            .is_gap = origin == ClaimOrigin::client && !claim.is_control && claim.first_sequence != 0};
  }

  if (origin == ClaimOrigin::client && !claim.is_control && claim.epoch == entry->epoch) {
    if (auto const* batch = entry->find(claim.first_sequence, claim.last_sequence)) {
      return {ClaimVerdict::duplicate, *batch, pending && batch->last_offset >= pending->first_pending};
    }
  }
  if (origin == ClaimOrigin::replication) return {};
  auto const refuse = [&](ClaimVerdict why) {
    auto const next = sequence_after(entry->last_sequence());
    return ClaimAnswer{.verdict = why,
                       .known_epoch = entry->epoch,
                       .next_sequence = next,
                       .last_offset = entry->batch_count ? entry->batches[entry->batch_count - 1].last_offset : Offset(-1),
                       .is_gap = why == ClaimVerdict::out_of_order_sequence &&
                                 (claim.epoch != entry->epoch || is_after(claim.first_sequence, next))};
  };
  if (claim.epoch < entry->epoch) return refuse(ClaimVerdict::invalid_producer_epoch);
  if (claim.is_control) {
    if (claim.coordinator_epoch < entry->coordinator_epoch) return refuse(ClaimVerdict::transaction_coordinator_fenced);
    return {};
  }
  if (origin == ClaimOrigin::client) {
    bool const is_in_order = claim.epoch == entry->epoch
                                 ? is_next_sequence(entry->last_sequence(), claim.first_sequence)
                                 : claim.first_sequence == 0;
    if (!is_in_order) return refuse(ClaimVerdict::out_of_order_sequence);
  }
  if (entry->open_transaction_first_offset && !claim.is_transactional) {
    return refuse(ClaimVerdict::invalid_transaction_state);
  }
  return {};
}

std::optional<ProducerState::Ended> ProducerState::apply(ProducerClaim const& claim) {
  if (claim.producer_id < ProducerId(0)) return std::nullopt;
  auto& entry = entries_[claim.producer_id.value];
  auto const opened_before = entry.open_transaction_first_offset;
  step(entry, claim);
  auto const opened_now = entry.open_transaction_first_offset;
  if (opened_now == opened_before) return std::nullopt;
  if (opened_now) {
    open_[*opened_now] = claim.producer_id;
    return std::nullopt;
  }
  open_.erase(*opened_before);
  Ended ended{.producer_id = claim.producer_id,
              .first_offset = *opened_before,
              .last_offset = claim.last_offset,
              .is_aborted = !claim.is_commit,
              .last_stable_offset = open_.empty() ? claim.last_offset + 1 : open_.begin()->first};
  completed_[ended.first_offset] = ended;
  return ended;
}

std::optional<Offset> ProducerState::first_open_offset() const {
  if (open_.empty()) return std::nullopt;
  return open_.begin()->first;
}

std::optional<Offset> ProducerState::first_unstable_offset(Offset high_watermark) const {
  auto first = first_open_offset();
  for (auto const& [offset, ended] : completed_) {  // in order of first offset
    if (first && offset >= *first) break;
    if (ended.last_offset >= high_watermark) return offset;
  }
  return first;
}

void ProducerState::forget_completed_below(Offset high_watermark) {
  if (completed_.empty()) return;
  std::erase_if(completed_, [&](auto const& item) { return item.second.last_offset < high_watermark; });
}

ProducerEntry const* ProducerState::find(ProducerId id) const {
  auto const i = entries_.find(id.value);
  return i == entries_.end() ? nullptr : &i->second;
}

void ProducerState::expire(Wall now, int64_t expiry_ms) {
  std::erase_if(entries_, [&](auto const& item) {
    auto const& entry = item.second;
    return !entry.open_transaction_first_offset && now.ms - entry.last_timestamp_ms >= expiry_ms;
  });
}

void ProducerState::clear() {
  entries_.clear();
  open_.clear();
  completed_.clear();
}

std::string ProducerState::snapshot() const {
  std::string out(kSnapshotHeadBytes + entries_.size() * kSnapshotEntryBytes, '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  store_be(at, kSnapshotVersion);
  store_be(at + kSnapshotChecksumFrom, static_cast<int32_t>(entries_.size()));
  auto* to = at + kSnapshotHeadBytes;
  for (auto const& [id, entry] : entries_) {
    auto const last = entry.batch_count ? entry.batches[entry.batch_count - 1] : ProducerBatch{};
    store_be(to, id);
    store_be(to + 8, entry.epoch.value);
    store_be(to + 10, last.last_sequence);
    store_be(to + 14, last.last_offset.value);
    store_be(to + 22, last.offset_delta);
    store_be(to + 26, entry.last_timestamp_ms);
    store_be(to + 34, entry.coordinator_epoch);
    store_be(to + 38, entry.open_transaction_first_offset.value_or(Offset(-1)).value);
    to += kSnapshotEntryBytes;
  }
  store_be(at + 2, crc32c(as_bytes(out).subspan(kSnapshotChecksumFrom)));
  return out;
}

Result<std::vector<std::pair<ProducerId, ProducerEntry>>> parse_producer_snapshot(std::string_view content) {
  auto const* at = reinterpret_cast<std::byte const*>(content.data());
  auto const* const end = at + content.size();
  if (content.size() < kSnapshotHeadBytes || load_be<int16_t>(at) != kSnapshotVersion) {
    return Error{ErrorKind::corrupt, fmt::format("producer snapshot of {} bytes: not version 1", content.size())};
  }
  if (load_be<uint32_t>(at + 2) != crc32c(as_bytes(content).subspan(kSnapshotChecksumFrom))) {
    return Error{ErrorKind::corrupt, "producer snapshot: wrong checksum"};
  }
  auto const count = load_be<int32_t>(at + kSnapshotChecksumFrom);
  if (count < 0 || static_cast<size_t>(count) * kSnapshotEntryBytes != content.size() - kSnapshotHeadBytes) {
    return Error{ErrorKind::corrupt, fmt::format("producer snapshot: {} entries in {} bytes", count, content.size())};
  }
  std::vector<std::pair<ProducerId, ProducerEntry>> out;
  out.reserve(static_cast<size_t>(count));
  for (at += kSnapshotHeadBytes; at != end; at += kSnapshotEntryBytes) {
    ProducerEntry entry;
    entry.epoch = ProducerEpoch(load_be<int16_t>(at + 8));
    entry.last_timestamp_ms = load_be<int64_t>(at + 26);
    entry.coordinator_epoch = load_be<int32_t>(at + 34);
    Offset const open(load_be<int64_t>(at + 38));
    if (open >= Offset(0)) entry.open_transaction_first_offset = open;
    ProducerBatch const last{.last_sequence = load_be<int32_t>(at + 10),
                             .offset_delta = load_be<int32_t>(at + 22),
                             .last_offset = Offset(load_be<int64_t>(at + 14)),
                             .timestamp_ms = entry.last_timestamp_ms};
    if (last.last_offset >= Offset(0)) entry.add(last);
    out.emplace_back(ProducerId(load_be<int64_t>(at)), entry);
  }
  return out;
}

Status ProducerState::load(std::string_view content, Wall now, int64_t expiry_ms) {
  clear();
  MR_TRY_ASSIGN(auto const parsed, parse_producer_snapshot(content));
  for (auto const& [id, entry] : parsed) {
    if (!entry.open_transaction_first_offset && now.ms - entry.last_timestamp_ms >= expiry_ms) continue;
    if (entry.open_transaction_first_offset) open_[*entry.open_transaction_first_offset] = id;
    entries_[id.value] = entry;
  }
  return {};
}

void ProducerState::add_earlier(ProducerId id, ProducerEpoch epoch, std::span<ProducerBatch const> batches,
                                Offset log_start) {
  auto const found = entries_.find(id.value);
  if (found == entries_.end()) return;  // expired
  auto& entry = found->second;
  if (entry.epoch != epoch || entry.batch_count != 1) return;
  auto const last = entry.batches.front();
  auto next = last;
  auto count = batches.size();
  for (; count > 0 && is_led_to(next, batches[count - 1], log_start); --count) next = batches[count - 1];
  entry.batch_count = 0;
  for (auto const& batch : batches.subspan(count)) entry.add(batch);
  entry.add(last);
}

}  // namespace millrace::storage
