#include "millrace/protocol/records/framing.h"

#include <cctype>
#include <limits>

#include <fmt/format.h>

#include "millrace/protocol/json.h"

namespace millrace::protocol {

namespace {

Result<SharedBytes> encode_prefixed(int16_t prefix, MessageTable const& table, void const* object, int16_t version) {
  MR_TRY_ASSIGN(auto const size, encoded_size(table, object, version));
  MR_ASSERT(size.slot_bytes == 0);
  auto out = SharedBytes::allocate(sizeof(int16_t) + size.bytes);
  Writer writer(out.mutable_view());
  writer.i16(prefix);
  encode(table, object, version, writer);
  MR_ASSERT(writer.remaining() == 0);
  return out;
}

}  // namespace

Result<SharedBytes> encode_metadata_record(MessageTable const& table, void const* record, int16_t version) {
  MR_TRY_ASSIGN(auto const size, encoded_size(table, record, version));
  auto const type = static_cast<uint32_t>(table.key());
  auto const frame_bytes =
      uvarint_bytes(kMetadataFrameVersion) + uvarint_bytes(type) + uvarint_bytes(static_cast<uint32_t>(version));
  auto out = SharedBytes::allocate(frame_bytes + size.bytes);
  Writer writer(out.mutable_view());
  writer.uvarint(kMetadataFrameVersion);
  writer.uvarint(type);
  writer.uvarint(static_cast<uint32_t>(version));
  encode(table, record, version, writer);
  MR_ASSERT(writer.remaining() == 0);
  return out;
}

Result<MetadataFrame> read_metadata_frame(Reader& in) {
  auto const frame_version = in.uvarint();
  auto const type = in.uvarint();
  auto const version = in.uvarint();
  constexpr uint32_t kMax = std::numeric_limits<int16_t>::max();
  if (!in.ok() || frame_version != kMetadataFrameVersion || type > kMax || version > kMax) {
    return Error{ErrorKind::corrupt, fmt::format("read a metadata record: frame version {}, type {}, version {}{}",
                                                 frame_version, type, version, in.ok() ? "" : ", ends too early")};
  }
  return MetadataFrame{static_cast<int16_t>(type), static_cast<int16_t>(version)};
}

Result<SharedBytes> encode_coordinator_key(MessageTable const& table, void const* key) {
  return encode_prefixed(table.key(), table, key, 0);
}

Result<SharedBytes> encode_versioned(MessageTable const& table, void const* value, int16_t version) {
  return encode_prefixed(version, table, value, version);
}

Result<int16_t> read_int16_prefix(Reader& in) {
  auto const prefix = in.i16();
  if (!in.ok()) return Error{ErrorKind::corrupt, "read a stored record: under two bytes"};
  return prefix;
}

Result<std::string> metadata_record_to_json(ByteView value) {
  Reader in(value);
  MR_TRY_ASSIGN(auto const frame, read_metadata_frame(in));
  auto const* record = find_record(RecordLog::metadata, RecordPart::body, frame.type);
  if (record == nullptr) {
    return Error{ErrorKind::unsupported, fmt::format("read a metadata record: no type {}", frame.type)};
  }
  auto const& table = record->table();
  Arena arena;
  auto* const object = arena.allocate(table.root().size(), alignof(std::max_align_t));
  std::memcpy(object, table.root().prototype(), table.root().size());
  MR_TRY(decode(table, in, frame.version, arena, object));
  std::string type;  // "TopicRecord" -> "TOPIC_RECORD"
  for (auto const c : table.name()) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !type.empty()) type += '_';
    type += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return fmt::format(R"({{"type":"{}","version":{},"data":{}}})", type, frame.version,
                     to_json(table, object, frame.version));
}

}  // namespace millrace::protocol
