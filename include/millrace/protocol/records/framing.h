// How stored records carry their type and version: what stands before the bodies that protocol/records/ describes.
#pragma once
#include <string>

#include "millrace/protocol/message.h"
#include "millrace/protocol/records/registry.h"

namespace millrace::protocol {

// A value of the metadata log: uvarint frame version 1, uvarint record type, uvarint version, body.
struct MetadataFrame {
  int16_t type = 0;
  int16_t version = 0;
};
inline constexpr uint32_t kMetadataFrameVersion = 1;

Result<SharedBytes> encode_metadata_record(MessageTable const& table, void const* record, int16_t version);
template <Message M>
Result<SharedBytes> encode_metadata_record(M const& record, int16_t version) {
  return encode_metadata_record(M::table(), &record, version);
}
// Reads the frame and leaves `in` at the body: decode(in, frame.version, arena, record) is next.
Result<MetadataFrame> read_metadata_frame(Reader& in);

// Coordinator keys are int16 type, body (in version 0); coordinator values, and other data that is stored or sent by
// itself (consumer protocol, principals), are int16 version, body.
Result<SharedBytes> encode_coordinator_key(MessageTable const& table, void const* key);
template <Message M>
Result<SharedBytes> encode_coordinator_key(M const& key) {
  return encode_coordinator_key(M::table(), &key);
}
Result<SharedBytes> encode_versioned(MessageTable const& table, void const* value, int16_t version);
template <Message M>
Result<SharedBytes> encode_versioned(M const& value, int16_t version) {
  return encode_versioned(M::table(), &value, version);
}
// The number before a coordinator key (a type) or before a value (a version); `in` is left at the body.
Result<int16_t> read_int16_prefix(Reader& in);

// Any record of a log as JSON, for dumps: {"type":"TOPIC_RECORD","version":0,"data":{...}}, as Kafka's dump tool prints
// the metadata log.
Result<std::string> metadata_record_to_json(ByteView value);

}  // namespace millrace::protocol
