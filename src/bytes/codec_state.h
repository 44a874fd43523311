// What a CodecContext keeps between uses. Private to the codec sources.
#pragma once
#include <isa-l/igzip_lib.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <memory>
#include <vector>

#include "millrace/bytes/codec.h"

namespace millrace {

struct DeflateEnd {
  void operator()(z_stream* stream) const {
    deflateEnd(stream);
    delete stream;
  }
};
struct ZstdFree {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

struct CodecContext::State {
  std::unique_ptr<inflate_state> inflate;
  std::unique_ptr<z_stream, DeflateEnd> deflate;
  gz_header gzip_header{};
  int deflate_level = 0;
  std::unique_ptr<ZSTD_DCtx, ZstdFree> zstd_in;
  std::unique_ptr<ZSTD_CCtx, ZstdFree> zstd_out;
  std::vector<std::byte> block;         // one decompressed block of snappy or lz4
  std::vector<std::byte> pending;       // input of a block that is not full yet
  std::vector<std::byte> packed_block;  // one compressed block
  std::vector<std::byte> lz4_hash;      // working memory of the lz4 compressors
};

// The hash that lz4 frames use (xxHash, 32 bits, seed 0).
uint32_t xxh32(ByteView bytes);

inline constexpr size_t kSnappyBlockBytes = size_t{32} << 10;  // as Java's snappy writes
inline constexpr size_t kLz4BlockBytes = size_t{64} << 10;     // as Kafka writes
inline constexpr uint32_t kLz4Magic = 0x184D2204;
inline constexpr uint32_t kLz4StoredFlag = 0x80000000;
inline constexpr unsigned char kSnappyMagic[8] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
inline constexpr size_t kSnappyHeaderBytes = 16;               // magic, version, lowest compatible version
inline constexpr size_t kKeptBytesMax = size_t{8} << 20;       // larger scratch is given back after use

}  // namespace millrace
