#include "millrace/protocol/message.h"

#include <limits>

#include <fmt/format.h>

namespace millrace::protocol {

namespace {

constexpr size_t kFrameBytesMax = std::numeric_limits<int32_t>::max();

Result<EncodedFrame> encode_frame(MessageTable const& header_table, void const* header, int16_t header_version,
                                  MessageTable const& table, void const* object, int16_t version) {
  MR_TRY_ASSIGN(auto const header_size, encoded_size(header_table, header, header_version));
  MR_TRY_ASSIGN(auto const body_size, encoded_size(table, object, version));
  auto const frame_bytes = header_size.total() + body_size.total();
  if (frame_bytes > kFrameBytesMax) {
    return Error{ErrorKind::limit,
                 fmt::format("encode {} v{}: {} bytes in one frame", table.name(), version, frame_bytes)};
  }
  EncodedFrame out;
  out.total_bytes = sizeof(int32_t) + frame_bytes;
  out.bytes = SharedBytes::allocate(sizeof(int32_t) + header_size.bytes + body_size.bytes);
  Writer writer(out.bytes.mutable_view());
  writer.i32(static_cast<int32_t>(frame_bytes));
  encode(header_table, header, header_version, writer);
  encode(table, object, version, writer, &out.slots);
  MR_ASSERT(writer.remaining() == 0);
  return out;
}

}  // namespace

Result<SharedBytes> encode_body(MessageTable const& table, void const* object, int16_t version) {
  MR_TRY_ASSIGN(auto const size, encoded_size(table, object, version));
  MR_ASSERT(size.slot_bytes == 0);
  auto out = SharedBytes::allocate(size.bytes);
  Writer writer(out.mutable_view());
  encode(table, object, version, writer);
  MR_ASSERT(writer.remaining() == 0);
  return out;
}

Result<RequestPrefix> peek_request(ByteView frame) {
  Reader in(frame);
  RequestPrefix out;
  out.api_key = in.i16();
  out.api_version = in.i16();
  out.correlation_id = in.i32();
  if (!in.ok()) return Error{ErrorKind::invalid, fmt::format("read a request header: {} bytes", frame.size())};
  return out;
}

Status decode_request_header(Reader& in, Arena& arena, RequestHeader& out) {
  auto at = in;
  MR_TRY_ASSIGN(auto const prefix, peek_request(at.rest()));
  auto const* api = find_api(prefix.api_key);
  auto const is_served = api != nullptr && (api->key == ApiKey::api_versions || api->valid.contains(prefix.api_version));
  if (!is_served) {
    return Error{ErrorKind::unsupported,
                 fmt::format("read a request header: API {} v{}", prefix.api_key, prefix.api_version)};
  }
  return decode(RequestHeader::table(), in, api->request_header_version(prefix.api_version), arena, &out);
}

Result<EncodedFrame> encode_response(MessageTable const& table, void const* object, int32_t correlation_id,
                                     int16_t version, int16_t header_version) {
  ResponseHeader header;
  header.correlation_id = correlation_id;
  return encode_frame(ResponseHeader::table(), &header, header_version, table, object, version);
}

Result<SharedBytes> encode_request(MessageTable const& table, void const* object, int32_t correlation_id,
                                   std::optional<Str> client_id, int16_t version) {
  RequestHeader header;
  header.request_api_key = table.key();
  header.request_api_version = version;
  header.correlation_id = correlation_id;
  header.client_id = client_id;
  auto const header_version = static_cast<int16_t>(table.is_flexible(version) ? 2 : 1);
  MR_TRY_ASSIGN(auto frame, encode_frame(RequestHeader::table(), &header, header_version, table, object, version));
  MR_ASSERT(frame.slots.empty());
  return std::move(frame.bytes);
}

}  // namespace millrace::protocol
