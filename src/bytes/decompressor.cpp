// Reading. What is an error and what is the end of a stream follows the streams that Kafka 4.4 reads with.
#include <lz4.h>
#include <snappy.h>

#include "codec_state.h"
#include "millrace/bytes/endian.h"

namespace millrace {

namespace {

Error corrupt(std::string message) { return {ErrorKind::corrupt, std::move(message)}; }

constexpr uint8_t kLz4VersionMask = 0xC0, kLz4Version = 0x40, kLz4Independent = 0x20, kLz4BlockChecksum = 0x10,
                  kLz4ContentSize = 0x08, kLz4ContentChecksum = 0x04, kLz4ReservedFlags = 0x03;

// A snappy copy of 64 bytes takes at least 3 bytes, so no block grows more than this.
constexpr size_t kSnappyRatioMax = 22;

constexpr uint32_t kGzipMemberBytesMin = 18;  // header and trailer

}  // namespace

Decompressor::Decompressor(Codec codec, ByteView input, DecompressLimits const& limits, CodecContext& context)
    : codec_(codec), rest_(input), limits_(limits), state_(&context.state()) {}

Result<Decompressor> Decompressor::open(Codec codec, ByteView input, DecompressLimits const& limits,
                                        CodecContext& context) {
  Decompressor stream(codec, input, limits, context);
  MR_TRY(stream.start());
  return stream;
}

Status Decompressor::start() {
  switch (codec_) {
    case Codec::none:
      block_ = rest_;
      rest_ = {};
      return {};
    case Codec::gzip: {
      if (!state_->inflate) state_->inflate = std::make_unique<inflate_state>();
      isal_inflate_init(state_->inflate.get());
      state_->inflate->crc_flag = ISAL_GZIP;
      // The header must be there when the stream is opened, even if nothing is read from it.
      if (rest_.size() < 10 || rest_[0] != std::byte{0x1f} || rest_[1] != std::byte{0x8b}) {
        return corrupt("gzip: no header");
      }
      if (rest_.size() > UINT32_MAX) return Error{ErrorKind::limit, "gzip: more than 4 GiB of input"};
      state_->inflate->next_in = reinterpret_cast<uint8_t*>(const_cast<std::byte*>(rest_.data()));
      state_->inflate->avail_in = static_cast<uint32_t>(rest_.size());
      return {};
    }
    case Codec::zstd:
      if (!state_->zstd_in) state_->zstd_in.reset(ZSTD_createDCtx());
      if (!state_->zstd_in) return Error{ErrorKind::limit, "zstd: no memory for a context"};
      ZSTD_DCtx_reset(state_->zstd_in.get(), ZSTD_reset_session_only);
      return {};
    case Codec::snappy: {
      if (rest_.empty()) return corrupt("snappy: the stream is empty");
      snappy_is_framed_ = rest_.size() >= kSnappyHeaderBytes && std::memcmp(rest_.data(), kSnappyMagic, 8) == 0;
      if (!snappy_is_framed_) {
        auto const block = rest_;
        rest_ = {};
        return unpack_snappy(block);
      }
      rest_ = rest_.subspan(kSnappyHeaderBytes);
      return {};
    }
    case Codec::lz4: {
      if (rest_.size() < 7) return corrupt("lz4: stream ended prematurely");
      if (load_le<uint32_t>(rest_.data()) != kLz4Magic) return corrupt("lz4: invalid magic bytes");
      auto const flags = static_cast<uint8_t>(rest_[4]);
      auto const descriptor = static_cast<uint8_t>(rest_[5]);
      auto const size_code = descriptor >> 4;
      if ((flags & kLz4VersionMask) != kLz4Version || (flags & kLz4ReservedFlags) != 0 || (descriptor & 0x8F) != 0 ||
          size_code < 4) {
        return corrupt("lz4: unsupported frame descriptor");
      }
      if ((flags & kLz4Independent) == 0) return corrupt("lz4: dependent blocks are not supported");
      lz4_block_bytes_max_ = size_t{1} << (8 + 2 * size_code);
      lz4_has_content_checksum_ = (flags & kLz4ContentChecksum) != 0;
      lz4_has_block_checksum_ = (flags & kLz4BlockChecksum) != 0;
      size_t const described = (flags & kLz4ContentSize) != 0 ? 10 : 2;
      if (rest_.size() < 4 + described + 1) return corrupt("lz4: stream ended prematurely");
      auto const hash = static_cast<uint8_t>(xxh32(rest_.subspan(4, described)) >> 8);
      if (!limits_.lz4_header_checksum_is_broken && static_cast<uint8_t>(rest_[4 + described]) != hash) {
        return corrupt("lz4: frame descriptor corrupted");
      }
      rest_ = rest_.subspan(4 + described + 1);
      return {};
    }
  }
  return Error{ErrorKind::unsupported, "unknown codec"};
}

Result<size_t> Decompressor::read(MutableByteView out) {
  MR_ASSERT(!out.empty());
  if (finished_ || ended_) return size_t{0};
  // One byte more than the limit shows that the stream is longer than it.
  auto const allowed = limits_.output_bytes_max - produced_;
  if (allowed < out.size()) out = out.first(static_cast<size_t>(allowed) + 1);
  auto count = codec_ == Codec::gzip ? read_gzip(out) : codec_ == Codec::zstd ? read_zstd(out) : read_blocks(out);
  if (!count || *count == 0) {
    finished_ = true;
    return count;
  }
  produced_ += *count;
  if (produced_ > limits_.output_bytes_max) {
    finished_ = true;
    return Error{ErrorKind::limit, fmt::format("{}: more than {} bytes of decompressed data", codec_name(codec_),
                                               limits_.output_bytes_max)};
  }
  return count;
}

Result<size_t> Decompressor::read_gzip(MutableByteView out) {
  auto& stream = *state_->inflate;
  out = out.first(std::min<size_t>(out.size(), UINT32_MAX));
  while (true) {
    // The input position is isa-l's own: at the end of a member it steps back over bytes that it took in earlier calls.
    auto const left_before = stream.avail_in;
    stream.next_out = reinterpret_cast<uint8_t*>(out.data());
    stream.avail_out = static_cast<uint32_t>(out.size());
    auto const code = isal_inflate(&stream);
    if (code < 0) return corrupt(fmt::format("gzip: damaged data (isa-l code {})", code));
    auto const count = out.size() - stream.avail_out;
    if (stream.block_state == ISAL_BLOCK_FINISH) {
      // Another member may follow; anything else behind the end is not looked at.
      bool const more = stream.avail_in >= kGzipMemberBytesMin && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
      if (!more) {
        stream.avail_in = 0;
        ended_ = true;
        return count;
      }
      auto* const next_in = stream.next_in;
      auto const avail_in = stream.avail_in;
      isal_inflate_reset(&stream);
      stream.crc_flag = ISAL_GZIP;
      stream.next_in = next_in;
      stream.avail_in = avail_in;
    } else if (count == 0 && stream.avail_in == left_before) {
      return corrupt("gzip: unexpected end of the stream");
    }
    if (count > 0) return count;
  }
}

Result<size_t> Decompressor::read_zstd(MutableByteView out) {
  auto* context = state_->zstd_in.get();
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  while (output.pos == 0) {
    if (rest_.empty() && !in_frame_) return size_t{0};
    ZSTD_inBuffer input{rest_.data(), rest_.size(), 0};
    auto const code = ZSTD_decompressStream(context, &output, &input);
    rest_ = rest_.subspan(input.pos);
    if (ZSTD_isError(code)) return corrupt(fmt::format("zstd: {}", ZSTD_getErrorName(code)));
    in_frame_ = code != 0;
    if (output.pos == 0 && input.pos == 0 && in_frame_) return corrupt("zstd: unexpected end of the stream");
  }
  return output.pos;
}

Result<size_t> Decompressor::read_blocks(MutableByteView out) {
  while (block_.empty()) {
    if (codec_ == Codec::none) return size_t{0};
    if (codec_ == Codec::snappy) {
      if (!snappy_is_framed_ || rest_.size() < 4) return size_t{0};  // fewer than 4 bytes are no block, as in Java
      MR_TRY(next_snappy_block());
    } else {
      MR_TRY(next_lz4_block());
      if (ended_) return size_t{0};
    }
  }
  auto const count = std::min(out.size(), block_.size());
  std::memcpy(out.data(), block_.data(), count);
  block_ = block_.subspan(count);
  return count;
}

Status Decompressor::next_snappy_block() {
  auto const head = load_be<uint32_t>(rest_.data());
  if (rest_.size() >= kSnappyHeaderBytes && std::memcmp(rest_.data(), kSnappyMagic, 8) == 0) {
    rest_ = rest_.subspan(kSnappyHeaderBytes);  // streams may be strung together
    return {};
  }
  rest_ = rest_.subspan(4);
  if (head > rest_.size()) return corrupt(fmt::format("snappy: a block of {} bytes, but only {} are left", head, rest_.size()));
  auto const block = rest_.first(head);
  rest_ = rest_.subspan(head);
  return unpack_snappy(block);
}

Status Decompressor::unpack_snappy(ByteView block) {
  size_t unpacked = 0;
  auto const* data = reinterpret_cast<char const*>(block.data());
  if (!snappy::GetUncompressedLength(data, block.size(), &unpacked)) return corrupt("snappy: no length");
  if (unpacked > block.size() * kSnappyRatioMax) {
    return corrupt(fmt::format("snappy: {} bytes cannot expand to {}", block.size(), unpacked));
  }
  if (unpacked > limits_.scratch_bytes_max) {
    return Error{ErrorKind::limit, fmt::format("snappy: a block of {} bytes is more than {}", unpacked,
                                               limits_.scratch_bytes_max)};
  }
  auto& scratch = state_->block;
  if (scratch.size() < unpacked) scratch.resize(unpacked);
  if (!snappy::RawUncompress(data, block.size(), reinterpret_cast<char*>(scratch.data()))) {
    return corrupt("snappy: damaged block");
  }
  block_ = ByteView(scratch).first(unpacked);
  return {};
}

Status Decompressor::next_lz4_block() {
  if (rest_.size() < 4) return corrupt("lz4: stream ended prematurely");
  auto const head = load_le<uint32_t>(rest_.data());
  rest_ = rest_.subspan(4);
  size_t const size = head & ~kLz4StoredFlag;
  if (size == 0) {
    // The checksum of the content is passed over, but must be there.
    if (lz4_has_content_checksum_ && rest_.size() < 4) return corrupt("lz4: stream ended prematurely");
    ended_ = true;
    return {};
  }
  if (size > lz4_block_bytes_max_) return corrupt(fmt::format("lz4: block size {} exceeded max: {}", size, lz4_block_bytes_max_));
  if (rest_.size() < size + (lz4_has_block_checksum_ ? 4 : 0)) return corrupt("lz4: stream ended prematurely");
  auto const packed = rest_.first(size);
  rest_ = rest_.subspan(size);
  if ((head & kLz4StoredFlag) != 0) {
    block_ = packed;
  } else {
    auto& scratch = state_->block;
    if (scratch.size() < lz4_block_bytes_max_) scratch.resize(lz4_block_bytes_max_);
    auto const count = LZ4_decompress_safe(reinterpret_cast<char const*>(packed.data()),
                                           reinterpret_cast<char*>(scratch.data()), static_cast<int>(size),
                                           static_cast<int>(lz4_block_bytes_max_));
    if (count < 0) return corrupt("lz4: damaged block");
    block_ = ByteView(scratch).first(static_cast<size_t>(count));
  }
  if (lz4_has_block_checksum_) {
    if (load_le<uint32_t>(rest_.data()) != xxh32(packed)) return corrupt("lz4: block checksum mismatch");
    rest_ = rest_.subspan(4);
  }
  return {};
}

}  // namespace millrace
