#include "frame_reader.h"

#include "millrace/base/assert.h"

namespace millrace::net {

MutableByteView FrameReader::room() {
  auto const needed = frame_bytes_.value_or(kLengthBytes);
  if (buffer_.size() - begin_ < std::min(needed, kAtOnceBytesMax) || buffer_.size() == end_) {
    auto const wanted = frame_bytes_ ? needed : std::min(expected_bytes_, kAtOnceBytesMax);
    if (!move_to(std::min(wanted, std::max(kAtOnceBytesMax, 2 * pending())))) return {};
  }
  auto view = buffer_.mutable_view().subspan(end_);
  // A large frame's buffer ends with it: what follows starts in a fresh one instead of being copied there.
  if (frame_bytes_ && begin_ == 0 && *frame_bytes_ > BufferPool::kBytesMin) {
    view = view.first(std::min(view.size(), *frame_bytes_ - end_));
  }
  return view;
}

bool FrameReader::move_to(size_t bytes) {
  auto next = pool_->acquire(std::max(bytes, pending() + 1));
  if (!next) return false;
  auto const rest = buffer_.view().subspan(begin_, pending());
  std::ranges::copy(rest, next->mutable_view().begin());
  end_ = rest.size();
  begin_ = 0;
  buffer_ = *std::move(next);
  return true;
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
    if (pending() == 0) {
      buffer_ = {};
      begin_ = end_ = 0;
    }
    return std::optional<SharedBytes>();
  }
  auto frame = buffer_.slice(begin_ + kLengthBytes, *frame_bytes_ - kLengthBytes);
  expected_bytes_ = std::max(*frame_bytes_, expected_bytes_ / 2);
  begin_ += *frame_bytes_;
  frame_bytes_.reset();
  return std::optional(std::move(frame));
}

size_t FrameReader::low_water() const {
  if (!frame_bytes_ || *frame_bytes_ <= pending() + kLowWaterFrom) return 1;
  return std::min(*frame_bytes_ - pending(), kLowWaterMax);
}

}  // namespace millrace::net
