// Kafka's compression codecs as streams: gzip, snappy (raw and in the framing of Java's snappy library), lz4 frames and
// zstd. Input comes from strangers: scratch memory is bounded by named limits and never by what the input announces.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "millrace/base/result.h"
#include "millrace/bytes/view.h"

namespace millrace {

// The ids are those of the attributes field of a record batch.
enum class Codec : uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

std::optional<Codec> codec_from_id(int id);
std::optional<Codec> codec_from_name(std::string_view name);  // Kafka's names: none, gzip, snappy, lz4, zstd
std::string_view codec_name(Codec codec);

// Kafka's default levels: gzip -1, lz4 9 (which is the fast compressor, as in Kafka), zstd 3.
int default_level(Codec codec);
struct LevelRange { int min{}, max{}; };
LevelRange level_range(Codec codec);

// Library states and scratch buffers that outlive one use. One user and one open stream at a time; not for two threads.
class CodecContext {
 public:
  CodecContext();
  ~CodecContext();
  CodecContext(CodecContext&&) noexcept;
  CodecContext& operator=(CodecContext&&) noexcept;

  size_t memory_bytes() const;
  void shed();  // gives back what one large input needed; cheap, for after each use
  void trim();  // frees everything that is kept between uses

  // A buffer for the context's user; the codecs do not touch it.
  std::vector<std::byte>& scratch() { return scratch_; }

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
  std::vector<std::byte> scratch_;
};

struct DecompressLimits {
  uint64_t output_bytes_max = UINT64_MAX;           // more is ErrorKind::limit
  size_t scratch_bytes_max = size_t{64} << 20;      // for a codec that must hold a whole block (snappy)
  bool lz4_header_checksum_is_broken = false;       // message format 0 computed it over the wrong bytes: not checked
};

// Reads one compressed stream. `input` must live as long as the stream; the context serves nothing else meanwhile.
class Decompressor {
 public:
  static Result<Decompressor> open(Codec codec, ByteView input, DecompressLimits const& limits, CodecContext& context);

  // Fills `out` as far as it can; 0 means the end of the stream. After an error the stream is finished.
  // corrupt: the bytes are not what the codec says; limit: a limit of DecompressLimits was met.
  Result<size_t> read(MutableByteView out);

 private:
  Decompressor(Codec codec, ByteView input, DecompressLimits const& limits, CodecContext& context);
  Status start();
  Result<size_t> read_gzip(MutableByteView out);
  Result<size_t> read_zstd(MutableByteView out);
  Result<size_t> read_blocks(MutableByteView out);
  Status next_snappy_block();
  Status next_lz4_block();
  Status unpack_snappy(ByteView block);

  Codec codec_;
  ByteView rest_;
  DecompressLimits limits_;
  CodecContext::State* state_;
  ByteView block_;  // decompressed and not yet read: in the context's scratch, or in the input
  uint64_t produced_ = 0;
  size_t lz4_block_bytes_max_ = 0;
  bool lz4_has_block_checksum_ = false;
  bool lz4_has_content_checksum_ = false;
  bool snappy_is_framed_ = false;
  bool in_frame_ = false;  // of zstd
  bool ended_ = false;     // gzip and lz4: the last mark was seen
  bool finished_ = false;
};

// The whole of `input` at once. `output` is replaced; it grows with what really comes out.
Status decompress(Codec codec, ByteView input, DecompressLimits const& limits, CodecContext& context,
                  std::vector<std::byte>& output);

// Writes one compressed stream at the end of `output`, at most `output_bytes_max` bytes of it.
class Compressor {
 public:
  Compressor(Codec codec, int level, std::vector<std::byte>& output, size_t output_bytes_max, CodecContext& context);

  void write(ByteView bytes);
  // True if everything fit. If not, `output` holds a useless part of the stream.
  bool finish();

 private:
  void put(ByteView bytes);
  void write_gzip(ByteView bytes, bool last);
  void write_zstd(ByteView bytes, bool last);
  void write_block(ByteView block);

  Codec codec_;
  int level_;
  std::vector<std::byte>* output_;
  size_t output_bytes_max_;
  size_t written_ = 0;
  CodecContext::State* state_;
  bool overflowed_ = false;
};

// Appends the compressed form of `input` to `output`.
void compress(Codec codec, int level, ByteView input, CodecContext& context, std::vector<std::byte>& output);

}  // namespace millrace
