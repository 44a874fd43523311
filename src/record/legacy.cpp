#include "millrace/record/legacy.h"

#include "millrace/bytes/crc32c.h"

namespace millrace::record {

namespace {

constexpr size_t kMessageCrcPosition = 12;    // counted from the entry's offset
constexpr size_t kMessageMagicPosition = 16;
constexpr size_t kMessageAttributesPosition = 17;
constexpr size_t kMessageTimestampPosition = 18;

size_t overhead_bytes(int8_t magic) { return magic == 0 ? kLegacyOverheadV0 : kLegacyOverheadV1; }

// Reads a length and that many bytes; a negative length is null.
bool read_sized(ByteView bytes, size_t& position, std::optional<ByteView>& out) {
  if (bytes.size() - position < 4) return false;
  auto const count = load_be<int32_t>(bytes.data() + position);
  position += 4;
  out.reset();
  if (count < 0) return true;
  if (static_cast<size_t>(count) > bytes.size() - position) return false;
  out = bytes.subspan(position, static_cast<size_t>(count));
  position += static_cast<size_t>(count);
  return true;
}

void put(std::vector<std::byte>& out, ByteView bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

template <class T>
void put_number(std::vector<std::byte>& out, T value) {
  std::byte raw[sizeof(T)];
  store_be(raw, value);
  put(out, raw);
}

void put_sized(std::vector<std::byte>& out, std::optional<ByteView> const& bytes) {
  put_number(out, bytes ? static_cast<int32_t>(bytes->size()) : int32_t{-1});
  if (bytes) put(out, *bytes);
}

}  // namespace

Fault check_legacy(BatchView batch) {
  auto const bytes = batch.bytes();
  if (bytes.size() < kLogOverheadBytes + kLegacyOverheadV0) {
    return {Code::corrupt_message, fmt::format("Record is corrupt (crc could not be retrieved as the record is too "
                                               "small, size = {})", bytes.size())};
  }
  auto const stored = load_be<uint32_t>(bytes.data() + kMessageCrcPosition);
  auto const computed = crc32_zlib(bytes.subspan(kMessageMagicPosition));
  if (stored != computed) {
    return {Code::corrupt_message,
            fmt::format("Record is corrupt (stored crc = {}, computed crc = {})", stored, computed)};
  }
  return {};
}

Fault read_legacy(BatchView entry, LegacyMessage& message) {
  auto const bytes = entry.bytes();
  auto const magic = entry.magic();
  if (magic > 1 || bytes.size() < kLogOverheadBytes + overhead_bytes(magic)) {
    return {Code::corrupt_message, fmt::format("Message of {} bytes with magic {} is too small", bytes.size(), magic)};
  }
  auto const attributes = load_be<int8_t>(bytes.data() + kMessageAttributesPosition);
  message = {};
  message.magic = magic;
  message.offset = entry.base_offset();
  message.codec_id = attributes & attribute::kCodecMask;
  message.timestamp_type = TimestampType::none;
  if (magic == 1) {
    message.timestamp_type = (attributes & attribute::kLogAppendTime) != 0 ? TimestampType::log_append_time
                                                                           : TimestampType::create_time;
    message.timestamp = load_be<int64_t>(bytes.data() + kMessageTimestampPosition);
  }
  auto position = magic == 0 ? kMessageTimestampPosition : kMessageTimestampPosition + 8;
  if (!read_sized(bytes, position, message.key) || !read_sized(bytes, position, message.value)) {
    return {Code::invalid_record, "Found invalid record structure"};
  }
  return {};
}

Fault read_legacy_deep(BatchView entry, DecompressLimits limits, CodecContext& context,
                       std::vector<std::byte>& scratch, std::vector<LegacyMessage>& messages) {
  messages.clear();
  LegacyMessage wrapper;
  if (auto fault = read_legacy(entry, wrapper)) return fault;
  if (wrapper.codec_id == 0) {
    messages.push_back(wrapper);
    return {};
  }
  auto const codec = codec_from_id(wrapper.codec_id);
  if (!codec) return {Code::unknown_server_error, fmt::format("Unknown compression type id: {}", wrapper.codec_id)};
  if (*codec == Codec::zstd) {
    return {Code::invalid_record, fmt::format("Invalid wrapper compressionType found in legacy deep record iterator {}",
                                              wrapper.magic)};
  }
  if (!wrapper.value) {
    return {Code::invalid_record,
            fmt::format("Found invalid compressed record set with null value (magic = {})", wrapper.magic)};
  }
  limits.lz4_header_checksum_is_broken = wrapper.magic == 0;
  if (auto status = decompress(*codec, *wrapper.value, limits, context, scratch); !status) {
    return {Code::unknown_server_error, status.error().message};
  }
  BatchReader reader{ByteView(scratch)};
  BatchView inner;
  while (reader.next(inner)) {
    LegacyMessage message;
    if (inner.magic() > 1) return {Code::corrupt_message, "Compressed message set holds a record batch"};
    if (auto fault = read_legacy(inner, message)) return fault;
    if (message.codec_id != 0) {
      return {Code::invalid_record, "Compressed outer record should not have an inner record with a compression "
                                    "attribute set"};
    }
    if (message.magic == 1) {
      message.timestamp_type = wrapper.timestamp_type;
      if (wrapper.timestamp_type == TimestampType::log_append_time) message.timestamp = wrapper.timestamp;
    }
    messages.push_back(message);
  }
  if (reader.fault()) return reader.fault();
  if (messages.empty()) return {Code::invalid_record, "Found invalid compressed record set with no inner records"};
  if (wrapper.magic == 1 && wrapper.offset.value != 0) {
    // Inside a wrapper of format 1 offsets count from the first message of the set.
    auto const base = wrapping_difference(wrapper.offset.value, messages.back().offset.value);
    if (wrapper.offset < messages.back().offset) {
      return {Code::invalid_record, fmt::format("Found invalid wrapper offset in compressed v1 message set, wrapper "
                                                "offset '{}' is less than the last inner message offset '{}' and it is "
                                                "not zero.", wrapper.offset, messages.back().offset)};
    }
    for (auto& message : messages) message.offset = Offset(wrapping_sum(message.offset.value, base));
  }
  return {};
}

void append_legacy(LegacyMessage const& message, std::vector<std::byte>& output) {
  auto const start = output.size();
  put_number(output, message.offset.value);
  put_number(output, int32_t{0});
  put_number(output, uint32_t{0});
  put_number(output, message.magic);
  auto attributes = static_cast<int8_t>(message.codec_id);
  if (message.timestamp_type == TimestampType::log_append_time) attributes |= attribute::kLogAppendTime;
  put_number(output, attributes);
  if (message.magic == 1) put_number(output, message.timestamp);
  put_sized(output, message.key);
  put_sized(output, message.value);
  store_be(output.data() + start + kLengthPosition, static_cast<int32_t>(output.size() - start - kLogOverheadBytes));
  store_be(output.data() + start + kMessageCrcPosition,
           crc32_zlib(ByteView(output).subspan(start + kMessageMagicPosition)));
}

}  // namespace millrace::record
