// The records inside a magic 2 batch, read where they lie: in the batch itself, or in what its payload decompressed to.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "millrace/bytes/varint.h"
#include "millrace/record/batch.h"

namespace millrace::record {

struct RecordView {
  Offset offset;
  int32_t offset_delta{};
  int64_t timestamp{};               // of a batch with log append time: that time
  int64_t timestamp_delta{};
  std::optional<ByteView> key, value;
  int32_t header_count{};
  ByteView headers;                  // encoded, well-formed
  ByteView tail;                     // encoded, from the key to the end of the record
  size_t size_bytes{};               // with the length before it
};

struct HeaderView {
  std::string_view key;
  std::optional<ByteView> value;
};

// Walks the headers of a record that a RecordReader gave.
class HeaderReader {
 public:
  explicit HeaderReader(RecordView const& record) : rest_(record.headers), left_(record.header_count) {}
  bool next(HeaderView& header);

 private:
  ByteView rest_;
  int32_t left_;
};

// Walks the records of a batch. Nothing is trusted: lengths, counts and varints are checked against the bytes.
class RecordReader {
 public:
  // `records` is the decompressed payload.
  RecordReader(BatchView batch, ByteView records);

  bool next(RecordView& record);
  Fault const& fault() const { return fault_; }  // why next() said no, if not because of the end

 private:
  ByteView rest_;
  int32_t count_;
  int32_t done_ = 0;
  int64_t base_offset_;
  int64_t base_timestamp_;
  std::optional<int64_t> log_append_time_;
  Fault fault_;
};

// The records of a batch as one run of bytes: its payload, or `scratch` with what that decompresses to.
// unknown_server_error is what Kafka answers to an unknown codec and to a damaged stream; message_too_large: a limit.
Fault open_records(BatchView batch, DecompressLimits const& limits, CodecContext& context,
                   std::vector<std::byte>& scratch, ByteView& records);
Fault decompression_fault(Error const& error);

enum class ControlType : int16_t {
  unknown = -1,
  abort = 0,
  commit = 1,
  leader_change = 2,
  snapshot_header = 3,
  snapshot_footer = 4,
  kraft_version = 5,
  kraft_voters = 6,
};
// Of the key of a record in a control batch.
Fault read_control_type(RecordView const& record, ControlType& type);
// The coordinator's epoch in the value of a commit or abort marker.
Fault read_end_transaction(RecordView const& record, int32_t& coordinator_epoch);

// One record, encoded, at the start of a run of bytes. Shared by the readers and the validator.
struct ScannedRecord {
  enum class Outcome : uint8_t { ok, length_too_long, incomplete, malformed };
  int64_t timestamp_delta{};
  int32_t offset_delta{};
  int32_t body_bytes{};     // without the length itself
  int32_t key_bytes{};      // -1: null
  int32_t value_bytes{};
  int32_t header_count{};
  std::byte const* tail{};  // at the length of the key
  std::byte const* key{};
  std::byte const* value{};
  std::byte const* headers{};
  std::byte const* end{};
};

namespace detail {

// False at the end of the bytes and after too many bytes. Bits that do not fit are dropped, as in Kafka.
template <class Raw, size_t kBytesMax, class Value>
[[gnu::noinline]] bool scan_long_number(std::byte const*& at, std::byte const* end, Value& value) {
  Raw raw = 0;
  for (size_t i = 0; i < kBytesMax && at != end; ++i) {
    auto const byte = static_cast<Raw>(*at++);
    raw |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      value = unzigzag(raw);
      return true;
    }
  }
  return false;
}

// Numbers of one to three bytes are nearly all there are, and are read without a loop.
template <class Raw, size_t kBytesMax, class Value>
[[gnu::always_inline]] inline bool scan_number(std::byte const*& at, std::byte const* end, Value& value) {
  if (end - at >= 3) [[likely]] {
    auto const low = static_cast<uint32_t>(at[0]);
    if (low < 0x80) {
      value = unzigzag(static_cast<Raw>(low));
      ++at;
      return true;
    }
    auto const high = static_cast<uint32_t>(at[1]);
    if (high < 0x80) [[likely]] {
      value = unzigzag(static_cast<Raw>((low & 0x7f) | high << 7));
      at += 2;
      return true;
    }
    auto const top = static_cast<uint32_t>(at[2]);
    if (top < 0x80) {
      value = unzigzag(static_cast<Raw>((low & 0x7f) | (high & 0x7f) << 7 | top << 14));
      at += 3;
      return true;
    }
  }
  return scan_long_number<Raw, kBytesMax>(at, end, value);
}

[[gnu::always_inline]] inline bool scan_varint(std::byte const*& at, std::byte const* end, int32_t& value) {
  return scan_number<uint32_t, kVarint32BytesMax>(at, end, value);
}
[[gnu::always_inline]] inline bool scan_varlong(std::byte const*& at, std::byte const* end, int64_t& value) {
  return scan_number<uint64_t, kVarint64BytesMax>(at, end, value);
}

// Reads a length and passes over that many bytes; a negative length is null.
[[gnu::always_inline]] inline bool scan_sized(std::byte const*& at, std::byte const* end, int32_t& count, std::byte const*& bytes) {
  if (!scan_varint(at, end, count)) return false;
  bytes = at;
  if (count < 0) {
    count = -1;
    return true;
  }
  if (count > end - at) return false;
  at += count;
  return true;
}

inline bool scan_headers(std::byte const*& at, std::byte const* end, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    int32_t size = 0;
    std::byte const* bytes = nullptr;
    if (!scan_sized(at, end, size, bytes) || size < 0) return false;
    if (!scan_sized(at, end, size, bytes)) return false;
  }
  return true;
}

}  // namespace detail

// `incomplete`: the record is longer than the bytes.
[[gnu::always_inline]] inline ScannedRecord::Outcome scan_record(std::byte const* at, std::byte const* end, ScannedRecord& record) {
  using Outcome = ScannedRecord::Outcome;
  auto const* const start = at;
  if (!detail::scan_varint(at, end, record.body_bytes)) {
    return at - start == static_cast<ptrdiff_t>(kVarint32BytesMax) ? Outcome::length_too_long : Outcome::incomplete;
  }
  if (record.body_bytes < 1) return Outcome::malformed;
  if (record.body_bytes > end - at) return Outcome::incomplete;
  end = at + record.body_bytes;
  ++at;  // attributes, of which none is in use
  if (!detail::scan_varlong(at, end, record.timestamp_delta)) return Outcome::malformed;
  if (!detail::scan_varint(at, end, record.offset_delta)) return Outcome::malformed;
  record.tail = at;
  if (!detail::scan_sized(at, end, record.key_bytes, record.key)) return Outcome::malformed;
  if (!detail::scan_sized(at, end, record.value_bytes, record.value)) return Outcome::malformed;
  // The last byte of nearly every record: no headers. Too near the end for the fast way through scan_varint().
  record.header_count = 0;
  if (end - at == 1 && *at == std::byte{0}) [[likely]] {
    record.headers = record.end = end;
    return Outcome::ok;
  }
  if (!detail::scan_varint(at, end, record.header_count)) return Outcome::malformed;
  if (record.header_count < 0 || record.header_count > end - at) return Outcome::malformed;
  record.headers = at;
  if (record.header_count != 0 && !detail::scan_headers(at, end, record.header_count)) return Outcome::malformed;
  if (at != end) return Outcome::malformed;
  record.end = end;
  return Outcome::ok;
}
Fault scan_fault(ScannedRecord::Outcome outcome);

}  // namespace millrace::record
