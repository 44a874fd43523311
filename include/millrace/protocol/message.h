// Reading and writing messages. One struct per request, response and record: protocol/api/<name>.h has FetchRequest and
// FetchResponse, protocol/records/<family>.h has TopicRecord and its like. Fields are plain members; text, bytes and
// records are views, arrays live in an Arena.
//
//   // A request, from a frame without its four bytes of size:
//   Reader in(frame);
//   auto const prefix = peek_request(frame);            // key, version, correlation id; any bytes
//   RequestHeader header;
//   MR_TRY(decode_request_header(in, arena, header));   // unsupported if we do not know the API or version
//   FetchRequest request;
//   MR_TRY(decode(in, header.request_api_version, arena, request));
//   for (auto const& topic : request.topics) ...
//
//   // Its response, the record bytes of which are sent from elsewhere:
//   FetchResponse response;
//   response.responses = arena.array<FetchResponse::FetchableTopicResponse>(1);
//   response.responses[0].partitions = arena.array<FetchResponse::PartitionData>(1);
//   response.responses[0].partitions[0].records = Records::slot(region_bytes, region_index);
//   MR_TRY_ASSIGN(auto encoded, encode_response(header.correlation_id, header.request_api_version, response));
//   encoded.for_each_piece([&](SharedBytes bytes) {...}, [&](RecordSlot const& slot) {...});
//
//   // A stored record or any body alone:
//   MR_TRY_ASSIGN(auto body, encode_body(topic_record, 0));
//
// Decoding checks each count against the bytes left before it allocates, takes no more than the frame's size and 16 KiB
// for a frame that turns out malformed, and never more than the arena's limit. Views live
// as long as the frame, arrays as long as the arena. Everything here may be called by any thread.
#pragma once
#include "millrace/bytes/shared_bytes.h"
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/codec.h"
#include "millrace/protocol/errors.h"
#include "millrace/protocol/header.h"

namespace millrace::protocol {

template <class M>
concept Message = requires {
  { M::table() } -> std::same_as<MessageTable const&>;
};

// `out` must be default-made. Errors as decode() in codec.h.
template <Message M>
Status decode(Reader& in, int16_t version, Arena& arena, M& out) {
  return decode(M::table(), in, version, arena, &out);
}
template <Message M>
Result<MessageSize> encoded_size(M const& message, int16_t version) {
  return encoded_size(M::table(), &message, version);
}
// Only after encoded_size() accepted the same message and version.
template <Message M>
void encode(M const& message, int16_t version, Writer& out, std::vector<RecordSlot>* slots = nullptr) {
  encode(M::table(), &message, version, out, slots);
}
template <Message M>
bool equal(M const& a, M const& b) {
  return equal(M::table().root(), &a, &b);
}

// A body alone, without slots.
Result<SharedBytes> encode_body(MessageTable const& table, void const* object, int16_t version);
template <Message M>
Result<SharedBytes> encode_body(M const& message, int16_t version) {
  return encode_body(M::table(), &message, version);
}

// The first bytes of every request, whatever the API and version.
struct RequestPrefix {
  int16_t api_key = 0;
  int16_t api_version = 0;
  int32_t correlation_id = 0;
};
Result<RequestPrefix> peek_request(ByteView frame);

// Reads the header in the version that the API and its version ask for. ApiVersions is read at any version, since a
// client with a version that we do not know must get an answer. Errors: unsupported (no such API or version), invalid.
Status decode_request_header(Reader& in, Arena& arena, RequestHeader& out);

// A frame ready to be sent: its size, header and body. `total_bytes` counts the slots, and so does the size in the
// frame.
struct EncodedFrame {
  SharedBytes bytes;
  std::vector<RecordSlot> slots;  // by ascending position
  size_t total_bytes = 0;

  // The pieces in the order in which they must be sent.
  template <class OnBytes, class OnSlot>
  void for_each_piece(OnBytes&& on_bytes, OnSlot&& on_slot) const {
    size_t at = 0;
    for (auto const& slot : slots) {
      if (slot.position > at) on_bytes(bytes.slice(at, slot.position - at));
      on_slot(slot);
      at = slot.position;
    }
    if (bytes.size() > at) on_bytes(bytes.slice(at, bytes.size() - at));
  }
};

// Calls `found` with each error that a response tells, its parts' included.
template <class F>
void for_each_error(StructTable const& table, void const* object, F&& found) {
  auto const* const at = static_cast<std::byte const*>(object);
  for (auto const offset : table.error_offsets()) {
    auto const code = *reinterpret_cast<int16_t const*>(at + offset);
    if (code != 0) [[unlikely]] found(code);
  }
  for (auto const& array : table.error_arrays()) {
    auto const& elements = *reinterpret_cast<ArrayBase const*>(at + array.offset);
    auto const* element = static_cast<std::byte const*>(elements.raw_elements);
    for (int32_t i = 0; i < elements.raw_count; ++i, element += array.element_bytes) {
      for_each_error(*array.element, element, found);
    }
  }
}

Result<EncodedFrame> encode_response(MessageTable const& table, void const* object, int32_t correlation_id,
                                     int16_t version, int16_t header_version);
template <Message M>
Result<EncodedFrame> encode_response(int32_t correlation_id, int16_t version, M const& response) {
  return encode_response(M::table(), &response, correlation_id, version,
                         api_info(M::kKey).response_header_version(version));
}

Result<SharedBytes> encode_request(MessageTable const& table, void const* object, int32_t correlation_id,
                                   std::optional<Str> client_id, int16_t version);
template <Message M>
Result<SharedBytes> encode_request(int32_t correlation_id, std::optional<Str> client_id, int16_t version,
                                   M const& request) {
  return encode_request(M::table(), &request, correlation_id, client_id, version);
}

}  // namespace millrace::protocol
