// Writing, with the parameters that Kafka writes with: gzip with the header of Java's streams, snappy in blocks of 32 KiB,
// lz4 in independent blocks of 64 KiB, zstd without the content size.
#include <lz4.h>
#include <lz4hc.h>
#include <snappy.h>

#include "codec_state.h"
#include "millrace/bytes/endian.h"

namespace millrace {

namespace {

constexpr int kLz4FastLevel = 9;  // Kafka's default level names the fast compressor, every other the slow one

size_t block_bytes(Codec codec) { return codec == Codec::snappy ? kSnappyBlockBytes : kLz4BlockBytes; }

}  // namespace

Compressor::Compressor(Codec codec, int level, std::vector<std::byte>& output, size_t output_bytes_max,
                       CodecContext& context)
    : codec_(codec), level_(level), output_(&output), output_bytes_max_(output_bytes_max), state_(&context.state()) {
  auto& s = *state_;
  s.pending.clear();
  switch (codec) {
    case Codec::none: break;
    case Codec::gzip: {
      if (s.deflate && s.deflate_level != level) s.deflate.reset();
      if (!s.deflate) {
        auto* fresh = new z_stream{};
        // 16 added to the window bits asks for a gzip header.
        MR_ASSERT(deflateInit2(fresh, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
        s.deflate.reset(fresh);
        s.deflate_level = level;
      } else {
        deflateReset(s.deflate.get());
      }
      s.gzip_header = {};
      s.gzip_header.os = 255;  // unknown, as Java writes
      deflateSetHeader(s.deflate.get(), &s.gzip_header);
      break;
    }
    case Codec::zstd:
      if (!s.zstd_out) s.zstd_out.reset(ZSTD_createCCtx());
      MR_ASSERT(s.zstd_out != nullptr);
      ZSTD_CCtx_reset(s.zstd_out.get(), ZSTD_reset_session_and_parameters);
      ZSTD_CCtx_setParameter(s.zstd_out.get(), ZSTD_c_compressionLevel, level);
      ZSTD_CCtx_setParameter(s.zstd_out.get(), ZSTD_c_contentSizeFlag, 0);
      break;
    case Codec::snappy: {
      std::byte header[kSnappyHeaderBytes];
      std::memcpy(header, kSnappyMagic, 8);
      store_be(header + 8, int32_t{1});
      store_be(header + 12, int32_t{1});
      put(header);
      break;
    }
    case Codec::lz4: {
      std::byte header[7];
      store_le(header, kLz4Magic);
      header[4] = std::byte{0x60};  // version 1, independent blocks
      header[5] = std::byte{0x40};  // blocks of up to 64 KiB
      header[6] = static_cast<std::byte>(xxh32(ByteView(header).subspan(4, 2)) >> 8);
      put(header);
      break;
    }
  }
}

void Compressor::put(ByteView bytes) {
  if (overflowed_ || bytes.size() > output_bytes_max_ - written_) {
    overflowed_ = true;
    return;
  }
  output_->insert(output_->end(), bytes.begin(), bytes.end());
  written_ += bytes.size();
}

void Compressor::write(ByteView bytes) {
  if (overflowed_ || bytes.empty()) return;
  switch (codec_) {
    case Codec::none: return put(bytes);
    case Codec::gzip: return write_gzip(bytes, false);
    case Codec::zstd: return write_zstd(bytes, false);
    case Codec::snappy:
    case Codec::lz4: break;
  }
  auto const full = block_bytes(codec_);
  auto& pending = state_->pending;
  while (!bytes.empty() && !overflowed_) {
    if (pending.empty() && bytes.size() >= full) {
      write_block(bytes.first(full));
      bytes = bytes.subspan(full);
      continue;
    }
    auto const part = bytes.first(std::min(bytes.size(), full - pending.size()));
    pending.insert(pending.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (pending.size() == full) {
      write_block(pending);
      pending.clear();
    }
  }
}

bool Compressor::finish() {
  if (overflowed_) return false;
  switch (codec_) {
    case Codec::none: break;
    case Codec::gzip: write_gzip({}, true); break;
    case Codec::zstd: write_zstd({}, true); break;
    case Codec::snappy:
    case Codec::lz4:
      if (!state_->pending.empty()) write_block(state_->pending);
      state_->pending.clear();
      if (codec_ == Codec::lz4) put(ByteView(std::array<std::byte, 4>{}));  // end mark
      break;
  }
  return !overflowed_;
}

void Compressor::write_gzip(ByteView bytes, bool last) {
  auto* stream = state_->deflate.get();
  std::byte chunk[size_t{16} << 10];
  do {
    auto const part = bytes.first(std::min<size_t>(bytes.size(), UINT32_MAX));
    bytes = bytes.subspan(part.size());
    stream->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
    stream->avail_in = static_cast<uInt>(part.size());
    do {
      stream->next_out = reinterpret_cast<Bytef*>(chunk);
      stream->avail_out = sizeof chunk;
      auto const code = ::deflate(stream, last && bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
      MR_ASSERT(code != Z_STREAM_ERROR);
      put(ByteView(chunk).first(sizeof chunk - stream->avail_out));
    } while (stream->avail_out == 0 && !overflowed_);
  } while (!bytes.empty() && !overflowed_);
}

void Compressor::write_zstd(ByteView bytes, bool last) {
  auto* context = state_->zstd_out.get();
  std::byte chunk[size_t{16} << 10];
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  while (!overflowed_) {
    ZSTD_outBuffer output{chunk, sizeof chunk, 0};
    auto const left = ZSTD_compressStream2(context, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
    MR_ASSERT(!ZSTD_isError(left));
    put(ByteView(chunk).first(output.pos));
    if (last ? left == 0 : input.pos == input.size) return;
  }
}

void Compressor::write_block(ByteView block) {
  auto& s = *state_;
  auto const* data = reinterpret_cast<char const*>(block.data());
  if (codec_ == Codec::snappy) {
    s.packed_block.resize(snappy::MaxCompressedLength(block.size()));
    size_t packed = 0;
    snappy::RawCompress(data, block.size(), reinterpret_cast<char*>(s.packed_block.data()), &packed);
    std::byte head[4];
    store_be(head, static_cast<uint32_t>(packed));
    put(head);
    put(ByteView(s.packed_block).first(packed));
    return;
  }
  s.packed_block.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(block.size()))));
  auto* to = reinterpret_cast<char*>(s.packed_block.data());
  auto const room = static_cast<int>(s.packed_block.size());
  auto const size = static_cast<int>(block.size());
  int packed = 0;
  if (level_ == kLz4FastLevel) {
    s.lz4_hash.resize(std::max(s.lz4_hash.size(), static_cast<size_t>(LZ4_sizeofState())));
    packed = LZ4_compress_fast_extState(s.lz4_hash.data(), data, to, size, room, 1);
  } else {
    s.lz4_hash.resize(std::max(s.lz4_hash.size(), static_cast<size_t>(LZ4_sizeofStateHC())));
    packed = LZ4_compress_HC_extStateHC(s.lz4_hash.data(), data, to, size, room, level_);
  }
  MR_ASSERT(packed > 0);
  std::byte head[4];
  if (static_cast<size_t>(packed) < block.size()) {
    store_le(head, static_cast<uint32_t>(packed));
    put(head);
    put(ByteView(s.packed_block).first(static_cast<size_t>(packed)));
  } else {
    store_le(head, static_cast<uint32_t>(block.size()) | kLz4StoredFlag);
    put(head);
    put(block);
  }
}

}  // namespace millrace
