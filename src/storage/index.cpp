#include "millrace/bytes/endian.h"
#include "segment.h"

namespace millrace::storage {
namespace {

std::byte const* at(std::string_view bytes, size_t position) {
  return reinterpret_cast<std::byte const*>(bytes.data() + position);
}
std::byte* at(std::string& bytes, size_t position) { return reinterpret_cast<std::byte*>(bytes.data() + position); }

}  // namespace

// No entry points at the first batch, so a position of zero begins the part that was only reserved.
std::vector<OffsetEntry> parse_offset_index(std::string_view bytes) {
  std::vector<OffsetEntry> entries;
  entries.reserve(bytes.size() / kOffsetEntryBytes);
  for (size_t p = 0; p + kOffsetEntryBytes <= bytes.size(); p += kOffsetEntryBytes) {
    OffsetEntry const entry{load_be<int32_t>(at(bytes, p)), load_be<int32_t>(at(bytes, p + 4))};
    if (entry.position == 0) break;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<TimeEntry> parse_time_index(std::string_view bytes) {
  std::vector<TimeEntry> entries;
  entries.reserve(bytes.size() / kTimeEntryBytes);
  for (size_t p = 0; p + kTimeEntryBytes <= bytes.size(); p += kTimeEntryBytes) {
    TimeEntry const entry{load_be<int64_t>(at(bytes, p)), load_be<int32_t>(at(bytes, p + 8))};
    if (entry.timestamp_ms == 0 && entry.relative_offset == 0) break;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<AbortedTransaction> parse_transaction_index(std::string_view bytes) {
  std::vector<AbortedTransaction> entries;
  for (size_t p = 0; p + kTransactionEntryBytes <= bytes.size(); p += kTransactionEntryBytes) {
    if (load_be<int16_t>(at(bytes, p)) != 0) break;  // version
    entries.push_back({ProducerId(load_be<int64_t>(at(bytes, p + 2))), Offset(load_be<int64_t>(at(bytes, p + 10))),
                       Offset(load_be<int64_t>(at(bytes, p + 18))), Offset(load_be<int64_t>(at(bytes, p + 26)))});
  }
  return entries;
}

std::string offset_index_bytes(std::span<OffsetEntry const> entries) {
  std::string out(entries.size() * kOffsetEntryBytes, '\0');
  size_t p = 0;
  for (auto const& entry : entries) {
    store_be(at(out, p), entry.relative_offset);
    store_be(at(out, p + 4), entry.position);
    p += kOffsetEntryBytes;
  }
  return out;
}

std::string time_index_bytes(std::span<TimeEntry const> entries) {
  std::string out(entries.size() * kTimeEntryBytes, '\0');
  size_t p = 0;
  for (auto const& entry : entries) {
    store_be(at(out, p), entry.timestamp_ms);
    store_be(at(out, p + 8), entry.relative_offset);
    p += kTimeEntryBytes;
  }
  return out;
}

std::string transaction_index_bytes(std::span<AbortedTransaction const> entries) {
  std::string out(entries.size() * kTransactionEntryBytes, '\0');
  size_t p = 0;
  for (auto const& entry : entries) {
    store_be(at(out, p), int16_t{0});
    store_be(at(out, p + 2), entry.producer_id.value);
    store_be(at(out, p + 10), entry.first_offset.value);
    store_be(at(out, p + 18), entry.last_offset.value);
    store_be(at(out, p + 26), entry.last_stable_offset.value);
    p += kTransactionEntryBytes;
  }
  return out;
}

}  // namespace millrace::storage
