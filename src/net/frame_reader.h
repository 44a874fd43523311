// Cuts a stream of bytes into frames. Each frame is a slice of the buffer that it was read into; several frames of one
// read share it. Between frames no buffer is held.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "buffer_pool.h"
#include "millrace/base/result.h"
#include "millrace/bytes/shared_bytes.h"

namespace millrace::net {

class FrameReader {
 public:
  static constexpr size_t kLengthBytes = 4;
  // A frame of up to this size gets its whole buffer as soon as its length is known; a larger one as its bytes come,
  // so that an announced length alone costs nobody memory.
  static constexpr size_t kAtOnceBytesMax = 2_MiB;

  explicit FrameReader(std::shared_ptr<BufferPool> pool) : pool_(std::move(pool)) {}

  // Who asks for room, and so what it is given although the memory of requests is spent.
  struct Standing {
    bool holds_requests = false;  // no: a small buffer always
    bool is_first = false;        // of those that wait: room for its whole frame, unless another has been favoured so
  };
  // Where the next bytes go; empty when there is no memory for them: ask again later.
  MutableByteView room(Standing standing);
  // `count` bytes have been read into room().
  void on_read(size_t count);
  // The next whole frame without its length; none when more bytes are needed. An error: the length is negative or
  // above `frame_bytes_max`, and the stream is beyond repair.
  Result<std::optional<SharedBytes>> next_frame(int64_t frame_bytes_max);

  // How many bytes are worth waking up for.
  size_t low_water() const;
  bool is_inside_frame() const { return begin_ != end_; }
  // More memory than anybody is given for the asking belongs to a frame that is not complete.
  bool is_inside_large_frame() const { return frame_bytes_ && buffer_.size() > BufferPool::kBytesMin; }
  size_t held_bytes() const { return buffer_.size(); }
  size_t frame_bytes() const { return frame_bytes_.value_or(0); }  // announced, with its length; 0: not known yet
  size_t received_bytes() const { return end_ - begin_; }          // of the frame being read
  // Of the next request for room; with what is held now it is what the frame needs to go on.
  size_t wanted_bytes() const;
  // That the frame which is being read needs at least to be whole.
  size_t missing_bytes() const { return std::max(frame_bytes_.value_or(kLengthBytes), pending()) - pending(); }

 private:
  using Claim = RequestMemory::Claim;
  size_t pending() const { return end_ - begin_; }
  void drop_buffer();
  bool move_to(size_t bytes, Claim claim);  // a new buffer of at least `bytes` with what is pending in front
  bool move_beyond_limit(Standing standing);

  std::shared_ptr<BufferPool> pool_;
  SharedBytes buffer_;
  size_t begin_ = 0;                   // the frame being read, with its length
  size_t end_ = 0;                     // of what has been read
  size_t expected_bytes_ = 0;          // of the next frame, from those before: a fresh buffer takes it whole
  std::optional<size_t> frame_bytes_;  // with its length, once that has come and was checked
};

}  // namespace millrace::net
