#include "frame_reader.h"

#include <cstring>

#include "millrace/base/assert.h"
#include "millrace/env/network.h"

namespace millrace::net {

size_t FrameReader::wanted_bytes() const {
  auto const wanted = frame_bytes_ ? *frame_bytes_ : std::min(expected_bytes_, kAtOnceBytesMax);
  return std::max(std::min(wanted, std::max(kAtOnceBytesMax, 2 * pending())), pending() + 1);
}

MutableByteView FrameReader::room(Standing standing) {
  // Nothing of the next frame is here yet: it starts where there is room for all of it, and is not copied there later.
  if (end_ != 0 && pending() == 0 && buffer_.size() - end_ < expected_bytes_) drop_buffer();
  auto const needed = frame_bytes_.value_or(kLengthBytes);
  if (buffer_.size() - begin_ < std::min(needed, kAtOnceBytesMax) || buffer_.size() == end_) {
    if (!move_to(wanted_bytes(), Claim::within_limit) && !move_beyond_limit(standing)) return {};
  }
  auto view = buffer_.mutable_view().subspan(end_);
  // A large frame's buffer ends with it: what follows starts in a fresh one instead of being copied there.
  if (frame_bytes_ && begin_ == 0 && *frame_bytes_ > BufferPool::kBytesMin) {
    view = view.first(std::min(view.size(), *frame_bytes_ - end_));
  }
  return view;
}

// The one that is favoured gets all that its frame needs, so that it never has to ask again.
bool FrameReader::move_beyond_limit(Standing standing) {
  auto const needed = std::max(frame_bytes_.value_or(kLengthBytes), pending() + 1);
  if (needed <= BufferPool::kBytesMin && !standing.holds_requests) return move_to(needed, Claim::out_of_turn);
  return standing.is_first && move_to(needed, Claim::in_turn);
}

bool FrameReader::move_to(size_t bytes, Claim claim) {
  auto next = pool_->acquire(bytes, claim);
  if (!next) return false;
  auto const rest = buffer_.view().subspan(begin_, pending());
  if (!rest.empty()) std::memcpy(next->mutable_view().data(), rest.data(), rest.size());
  end_ = rest.size();
  begin_ = 0;
  buffer_ = *std::move(next);
  return true;
}

void FrameReader::drop_buffer() {
  buffer_ = {};
  begin_ = end_ = 0;
}

void FrameReader::on_read(size_t count) {
  end_ += count;
  MR_ASSERT(end_ <= buffer_.size());
}

Result<std::optional<SharedBytes>> FrameReader::next_frame(int64_t frame_bytes_max) {
  if (!frame_bytes_ && pending() >= kLengthBytes) {
    uint32_t raw = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) raw = raw << 8 | static_cast<uint32_t>(buffer_.data()[begin_ + i]);
    auto const length = static_cast<int32_t>(raw);
    if (length < 0 || length > frame_bytes_max) {
      return Error{ErrorKind::invalid, fmt::format("frame length {} is not within 0..{}", length, frame_bytes_max)};
    }
    frame_bytes_ = kLengthBytes + static_cast<size_t>(length);
  }
  if (!frame_bytes_ || pending() < *frame_bytes_) {
    if (pending() == 0) drop_buffer();
    return std::optional<SharedBytes>();
  }
  auto frame = buffer_.slice(begin_ + kLengthBytes, *frame_bytes_ - kLengthBytes);
  expected_bytes_ = std::max(*frame_bytes_, expected_bytes_ / 2);
  begin_ += *frame_bytes_;
  frame_bytes_.reset();
  return std::optional(std::move(frame));
}

size_t FrameReader::low_water() const {
  return frame_bytes_ && *frame_bytes_ > pending() ? env::read_low_water(*frame_bytes_ - pending()) : 1;
}

}  // namespace millrace::net
