#include "millrace/bytes/endian.h"
#include "segment.h"

namespace millrace::storage {

std::string offset_file_stem(Offset base) { return fmt::format("{:020}", base.value); }

Result<BatchHead> read_batch_head(ByteView bytes) {
  if (bytes.size() < record::kBatchPrefixBytes) return Error{ErrorKind::corrupt, "too few bytes for a batch"};
  record::BatchPrefix prefix;
  if (auto const fault = record::read_prefix(bytes, prefix)) return fault.to_error();
  BatchHead head{.base_offset = prefix.base_offset,
                 .last_offset = prefix.base_offset,
                 .size_bytes = static_cast<int64_t>(prefix.size_bytes),
                 .magic = prefix.magic};
  if (head.base_offset < Offset(0)) return Error{ErrorKind::corrupt, "negative base offset"};
  if (prefix.magic == 2) {
    if (prefix.size_bytes < record::kBatchHeaderBytes || bytes.size() < record::kBatchHeaderBytes) {
      return Error{ErrorKind::corrupt, "too few bytes for a batch header"};
    }
    record::BatchView const batch(bytes);
    if (batch.last_offset_delta() < 0) return Error{ErrorKind::corrupt, "negative offset delta"};
    head.last_offset = batch.last_offset();
    head.leader_epoch = batch.leader_epoch();
    head.max_timestamp_ms = batch.max_timestamp();
  } else if (prefix.magic == 1 && bytes.size() >= record::kLogOverheadBytes + 14) {
    head.max_timestamp_ms =
        load_be<int64_t>(bytes.data() + record::kLogOverheadBytes + 6);  // after crc, magic, attributes
  }
  return head;
}

Result<ByteView> BatchScanner::window(Position from, size_t count, size_t read_ahead) {
  if (from < buffer_from_ || from + static_cast<int64_t>(count) > buffer_from_ + static_cast<int64_t>(buffer_bytes_)) {
    auto const left = static_cast<size_t>(end_ - from);
    auto const wanted = std::min(std::max(count, read_ahead), left);
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    buffer_bytes_ = 0;
    MR_TRY_ASSIGN(auto const got, file_.read(from, MutableByteView(buffer_).first(wanted), wait_));
    buffer_from_ = from;
    buffer_bytes_ = got;
    if (got < count) {
      if (wait_ == env::Wait::no) return Error{ErrorKind::would_block, "part of the log is not in memory"};
      return Error{ErrorKind::corrupt,
                   fmt::format("file ends at {} inside the bytes wanted", from + static_cast<int64_t>(got))};
    }
  }
  return ByteView(buffer_).subspan(static_cast<size_t>(from - buffer_from_), count);
}

Result<bool> BatchScanner::next(BatchHead& head) {
  at_ = next_;
  auto const left = end_ - at_;
  if (left <= 0) return false;  // below zero: an index entry of batches that the limit hides
  auto const ahead = size_ > kHopBytes ? size_t{512} : std::exchange(read_ahead_, kBlockBytes);
  MR_TRY_ASSIGN(auto const bytes,
                window(at_, static_cast<size_t>(std::min<int64_t>(left, record::kBatchHeaderBytes)), ahead));
  MR_TRY_ASSIGN(head, read_batch_head(bytes));
  if (head.size_bytes > left) {
    return Error{ErrorKind::corrupt, fmt::format("batch of {} bytes at {}, {} are left", head.size_bytes, at_, left)};
  }
  size_ = head.size_bytes;
  next_ = at_ + size_;
  return true;
}

Result<ByteView> BatchScanner::bytes() { return window(at_, static_cast<size_t>(size_), static_cast<size_t>(size_)); }

Result<ByteView> BatchScanner::prefix(size_t count) {
  count = std::min(count, static_cast<size_t>(size_));
  return window(at_, count, count);
}

}  // namespace millrace::storage
