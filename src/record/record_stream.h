// Records read from a stream that decompresses as it goes, through one small window whatever the records' sizes.
#pragma once
#include <vector>

#include "millrace/bytes/codec.h"
#include "millrace/record/record.h"

namespace millrace::record {

inline constexpr size_t kStreamWindowBytes = size_t{64} << 10;

class RecordStream {
 public:
  struct Head {
    int64_t timestamp_delta{};
    int32_t offset_delta{};
    bool has_key = false;
  };

  RecordStream(Decompressor& source, std::vector<std::byte>& window, int32_t body_bytes_max)
      : source_(&source), window_(&window), body_bytes_max_(body_bytes_max) {
    if (window_->size() < kStreamWindowBytes) window_->resize(kStreamWindowBytes);
    at_ = end_ = window_->data();
  }

  // Reads one record. The sink gets start(timestamp delta, offset delta, bytes that follow) and then those bytes in
  // pieces through tail(), from the key to the end of the record. What it got is worthless if this fails.
  template <class Sink>
  Fault next(Head& head, Sink& sink) {
    using Outcome = ScannedRecord::Outcome;
    ScannedRecord record;
    auto outcome = scan_record(at_, end_, record);
    if (outcome != Outcome::ok) [[unlikely]] {
      if (auto fault = make_whole(outcome, record)) return fault;
      if (outcome != Outcome::ok) return next_in_pieces(head, sink);
    }
    if (record.body_bytes > body_bytes_max_) return too_large(record.body_bytes);
    head = {record.timestamp_delta, record.offset_delta, record.key_bytes >= 0};
    ByteView const tail(record.tail, record.end);
    sink.start(record.timestamp_delta, record.offset_delta, tail.size());
    sink.tail(tail);
    at_ = record.end;
    return {};
  }

  // After the last record: nothing may follow, and the stream must end well.
  Fault finish();

 private:
  size_t available() const { return static_cast<size_t>(end_ - at_); }
  // False if the stream ends before there are `count` bytes in the window; why_short() then tells why.
  bool need(size_t count);
  Fault why_short() const;
  static Fault too_large(int32_t body_bytes);
  // Brings a record into the window and scans it. `outcome` stays `incomplete` if it is larger than the window.
  Fault make_whole(ScannedRecord::Outcome& outcome, ScannedRecord& record);
  Fault read_number(int32_t& value, size_t& left);
  Fault read_number(int64_t& value, size_t& left);

  template <class Sink>
  Fault pass(size_t count, size_t& left, Sink& sink) {
    if (count > left) return scan_fault(ScannedRecord::Outcome::malformed);
    left -= count;
    while (count > 0) {
      if (!need(1)) return why_short();
      auto const part = std::min(count, available());
      sink.tail({at_, part});
      at_ += part;
      count -= part;
    }
    return {};
  }
  // A length and that many bytes.
  template <class Sink>
  Fault pass_sized(int32_t& size, size_t& left, Sink& sink) {
    if (auto fault = pass_number(size, left, sink)) return fault;
    return size > 0 ? pass(static_cast<size_t>(size), left, sink) : Fault{};
  }
  template <class Sink>
  Fault pass_number(int32_t& value, size_t& left, Sink& sink) {
    need(kVarint32BytesMax);
    auto const* const start = at_;
    if (auto fault = read_number(value, left)) return fault;
    sink.tail({start, at_});
    return {};
  }

  template <class Sink>
  Fault next_in_pieces(Head& head, Sink& sink) {
    auto const malformed = [] { return scan_fault(ScannedRecord::Outcome::malformed); };
    int32_t body_bytes = 0;
    size_t left = kVarint32BytesMax;
    if (auto fault = read_number(body_bytes, left)) return fault;
    if (body_bytes > body_bytes_max_) return too_large(body_bytes);
    left = static_cast<size_t>(body_bytes);
    if (!need(1)) return why_short();
    ++at_;  // attributes
    --left;
    if (auto fault = read_number(head.timestamp_delta, left)) return fault;
    if (auto fault = read_number(head.offset_delta, left)) return fault;
    sink.start(head.timestamp_delta, head.offset_delta, left);
    int32_t size = 0;
    if (auto fault = pass_sized(size, left, sink)) return fault;
    head.has_key = size >= 0;
    if (auto fault = pass_sized(size, left, sink)) return fault;
    int32_t header_count = 0;
    if (auto fault = pass_number(header_count, left, sink)) return fault;
    if (header_count < 0 || static_cast<size_t>(header_count) > left) return malformed();
    for (int32_t i = 0; i < header_count; ++i) {
      if (auto fault = pass_sized(size, left, sink)) return fault;
      if (size < 0) return malformed();
      if (auto fault = pass_sized(size, left, sink)) return fault;
    }
    return left == 0 ? Fault{} : malformed();
  }

  Decompressor* source_;
  std::vector<std::byte>* window_;
  int32_t body_bytes_max_;
  std::byte const* at_;
  std::byte const* end_;
  bool ended_ = false;
  Fault fault_;
};

}  // namespace millrace::record
