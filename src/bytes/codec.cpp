#include "millrace/bytes/codec.h"

#include <lz4hc.h>

#include "codec_state.h"
#include "millrace/bytes/endian.h"

namespace millrace {

namespace {

struct CodecFacts {
  Codec codec;
  std::string_view name;
  int level;
  LevelRange levels;
};
constexpr CodecFacts kFacts[] = {
    {Codec::none, "none", 0, {0, 0}},   {Codec::gzip, "gzip", -1, {-1, 9}},        {Codec::snappy, "snappy", 0, {0, 0}},
    {Codec::lz4, "lz4", 9, {1, 17}},    {Codec::zstd, "zstd", 3, {-131072, 22}},
};

}  // namespace

std::optional<Codec> codec_from_id(int id) {
  if (id < 0 || id > static_cast<int>(Codec::zstd)) return std::nullopt;
  return static_cast<Codec>(id);
}

std::optional<Codec> codec_from_name(std::string_view name) {
  for (auto const& facts : kFacts) {
    if (facts.name == name) return facts.codec;
  }
  return std::nullopt;
}

std::string_view codec_name(Codec codec) { return kFacts[static_cast<size_t>(codec)].name; }
int default_level(Codec codec) { return kFacts[static_cast<size_t>(codec)].level; }
LevelRange level_range(Codec codec) { return kFacts[static_cast<size_t>(codec)].levels; }

CodecContext::CodecContext() : state_(std::make_unique<State>()) {}
CodecContext::~CodecContext() = default;
CodecContext::CodecContext(CodecContext&&) noexcept = default;
CodecContext& CodecContext::operator=(CodecContext&&) noexcept = default;

size_t CodecContext::memory_bytes() const {
  auto const& s = *state_;
  size_t total = scratch_.capacity() + s.block.capacity() + s.pending.capacity() + s.packed_block.capacity() + s.lz4_hash.capacity();
  if (s.inflate) total += sizeof(inflate_state);
  if (s.deflate) total += size_t{268} << 10;  // zlib's own sum for window 15 and memory level 8
  if (s.zstd_in) total += ZSTD_sizeof_DCtx(s.zstd_in.get());
  if (s.zstd_out) total += ZSTD_sizeof_CCtx(s.zstd_out.get());
  return total;
}

void CodecContext::shed() {
  auto& s = *state_;
  if (s.zstd_in && ZSTD_sizeof_DCtx(s.zstd_in.get()) > kKeptBytesMax) s.zstd_in.reset();
  if (s.zstd_out && ZSTD_sizeof_CCtx(s.zstd_out.get()) > kKeptBytesMax) s.zstd_out.reset();
  if (s.block.capacity() > kKeptBytesMax) s.block = {};
  if (scratch_.capacity() > kKeptBytesMax) scratch_ = {};
}

void CodecContext::trim() {
  state_ = std::make_unique<State>();
  scratch_ = {};
}

Status decompress(Codec codec, ByteView input, DecompressLimits const& limits, CodecContext& context,
                  std::vector<std::byte>& output) {
  output.clear();
  MR_TRY_ASSIGN(auto stream, Decompressor::open(codec, input, limits, context));
  constexpr size_t kStepBytesMin = size_t{16} << 10;
  size_t filled = 0;
  while (true) {
    if (output.size() - filled < kStepBytesMin) output.resize(std::max(filled + kStepBytesMin, filled * 2));
    auto const count = stream.read(MutableByteView(output).subspan(filled));
    if (!count) {
      output.resize(filled);
      return count.error();
    }
    if (*count == 0) break;
    filled += *count;
  }
  output.resize(filled);
  return {};
}

void compress(Codec codec, int level, ByteView input, CodecContext& context, std::vector<std::byte>& output) {
  Compressor stream(codec, level, output, SIZE_MAX, context);
  stream.write(input);
  MR_ASSERT(stream.finish());
}

uint32_t xxh32(ByteView bytes) {
  constexpr uint32_t kPrime1 = 2654435761U, kPrime2 = 2246822519U, kPrime3 = 3266489917U, kPrime4 = 668265263U,
                     kPrime5 = 374761393U;
  auto const* at = bytes.data();
  auto left = bytes.size();
  uint32_t hash = kPrime5;
  if (left >= 16) {
    uint32_t lanes[4] = {kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    for (; left >= 16; left -= 16) {
      for (auto& lane : lanes) {
        lane = std::rotl(lane + load_le<uint32_t>(at) * kPrime2, 13) * kPrime1;
        at += 4;
      }
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
  }
  hash += static_cast<uint32_t>(bytes.size());
  for (; left >= 4; left -= 4, at += 4) hash = std::rotl(hash + load_le<uint32_t>(at) * kPrime3, 17) * kPrime4;
  for (; left > 0; --left, ++at) hash = std::rotl(hash + static_cast<uint32_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ (hash >> 15)) * kPrime2;
  hash = (hash ^ (hash >> 13)) * kPrime3;
  return hash ^ (hash >> 16);
}

}  // namespace millrace
