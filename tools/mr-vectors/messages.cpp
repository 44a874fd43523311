#include <map>

#include <fmt/format.h>

#include "millrace/protocol/json.h"
#include "millrace/protocol/records/framing.h"
#include "vectors.h"

namespace millrace::vectors {

using namespace protocol;

namespace {

MessageTable const* find_message(std::string const& name) {
  static auto const tables = [] {
    std::map<std::string, MessageTable const*, std::less<>> all;
    auto const add = [&](MessageTable const& table) { all.emplace(table.name(), &table); };
    add(RequestHeader::table());
    add(ResponseHeader::table());
    for (auto const& api : all_apis()) {
      if (api.request == nullptr) continue;
      add(api.request());
      add(api.response());
    }
    for (auto const& record : all_records()) add(record.table());
    return all;
  }();
  auto const found = tables.find(name);
  return found == tables.end() ? nullptr : found->second;
}

// A message of any type.
class Object {
 public:
  explicit Object(MessageTable const& table)
      : table_(table), memory_(table.root().prototype(), table.root().prototype() + table.root().size()) {}
  MessageTable const& table() const { return table_; }
  std::byte* get() { return memory_.data(); }

 private:
  MessageTable const& table_;
  std::vector<std::byte> memory_;
};

struct Place {
  StructTable const* structure = nullptr;
  std::byte* object = nullptr;
};

// The struct at "topics/0/partitions/1", or nothing.
Place find_place(Object& message, std::string_view path) {
  Place at{&message.table().root(), message.get()};
  while (!path.empty()) {
    auto const take = [&] {
      auto const word = path.substr(0, path.find('/'));
      path.remove_prefix(std::min(path.size(), word.size() + 1));
      return word;
    };
    auto const name = take();
    Field const* field = nullptr;
    for (auto const& candidate : at.structure->fields()) {
      if (candidate.json_name == name) field = &candidate;
    }
    if (field == nullptr || field->structure == nullptr) return {};
    auto* const value = at.object + field->offset;
    if (field->kind == Kind::array) {
      auto const index = std::stoul(std::string(take()));
      auto const& array = *reinterpret_cast<ArrayBase const*>(value);
      if (index >= static_cast<size_t>(std::max(0, array.raw_count))) return {};
      at.object = static_cast<std::byte*>(array.raw_elements) + index * field->element_bytes;
    } else if (field->kind == Kind::nullable_structure) {
      at.object = static_cast<std::byte*>(const_cast<void*>(field->ops->get(value)));
    } else {
      at.object = value;
    }
    if (at.object == nullptr) return {};
    at.structure = field->structure;
  }
  return at;
}

struct Tags {
  UnknownTags tags;
  std::vector<std::vector<std::byte>> storage;
};

std::string place_tags(Json const& paths, Object& message, Tags& out) {
  for (auto const& [path, tags] : paths.items()) {
    auto const place = find_place(message, path);
    if (place.object == nullptr) return fmt::format("no struct at {}", path);
    for (auto const& tag : tags) {
      auto const& bytes = out.storage.emplace_back(parse_hex(tag.at(1).get<std::string>()));
      out.tags.add(*place.structure, place.object, {tag.at(0).get<uint32_t>(), bytes});
    }
  }
  return {};
}

std::string compare_tags(Json const& paths, Object& message, UnknownTags const& decoded) {
  if (decoded.struct_count() != paths.size()) return "unknown tags in other structs";
  Tags expected;
  if (auto problem = place_tags(paths, message, expected); !problem.empty()) return problem;
  for (auto const& [path, ignored] : paths.items()) {
    auto const place = find_place(message, path);
    auto const* want = expected.tags.find(*place.structure, place.object);
    auto const* got = decoded.find(*place.structure, place.object);
    if (got == nullptr || want->size() != got->size()) return fmt::format("unknown tags at {} differ", path);
    for (size_t i = 0; i < want->size(); ++i) {
      if ((*want)[i].tag != (*got)[i].tag || as_text((*want)[i].data) != as_text((*got)[i].data)) {
        return fmt::format("unknown tag {} at {} differs", (*want)[i].tag, path);
      }
    }
  }
  return {};
}

// Decodes `bytes` into something whose JSON must be `json`, then writes `json` and expects `bytes`.
std::string check_body(MessageTable const& table, int16_t version, Json const& json, ByteView bytes,
                       Json const& tags = Json::object()) {
  Arena arena;
  Object decoded(table);
  UnknownTags unknown;
  Reader in(bytes);
  if (auto const status = decode(table, in, version, arena, decoded.get(), &unknown); !status)
    return status.error().message;
  if (in.remaining() > 0) return fmt::format("{} bytes left after decoding", in.remaining());
  auto const printed = to_json(table, decoded.get(), version);
  if (Json::parse(printed) != json) return fmt::format("decodes to {}", printed);
  if (auto problem = compare_tags(tags, decoded, unknown); !problem.empty()) return problem;

  Object built(table);
  if (auto const status = from_json(table, json.dump(), version, arena, built.get()); !status)
    return status.error().message;
  Tags placed;
  if (auto problem = place_tags(tags, built, placed); !problem.empty()) return problem;
  auto const size = encoded_size(table, built.get(), version, &placed.tags);
  if (!size) return size.error().message;
  if (size->total() != bytes.size()) return fmt::format("encodes to {} bytes, not {}", size->total(), bytes.size());
  std::vector<std::byte> encoded(size->bytes);
  Writer out(encoded);
  encode(table, built.get(), version, out, nullptr, &placed.tags);
  if (as_text(encoded) != as_text(bytes)) return "encodes to other bytes";
  return {};
}

int16_t version_of(Json const& vector) { return vector.at("v").get<int16_t>(); }

// The frame's size, then a header and a body that lie one behind the other.
std::string check_whole_frame(Json const& vector, ByteView frame, MessageTable const& header_table,
                              MessageTable const& table, int16_t header_version) {
  if (vector.at("hv").get<int16_t>() != header_version) return fmt::format("header version {}", header_version);
  if (frame.size() < 4) return "no size";
  Reader in(frame);
  if (static_cast<size_t>(in.i32()) != in.remaining()) return "the size is not that of the frame";
  Arena arena;
  Object header(header_table);
  if (auto const status = decode(header_table, in, header_version, arena, header.get()); !status)
    return status.error().message;
  auto const body_at = in.position();
  if (auto problem = check_body(header_table, header_version, vector.at("header"), frame.subspan(4, body_at - 4));
      !problem.empty()) {
    return "header: " + problem;
  }
  return check_body(table, version_of(vector), vector.at("body"), frame.subspan(body_at));
}

std::string check_request(Json const& vector, ByteView frame, MessageTable const& table) {
  auto const* api = find_api(table.key());
  auto const version = version_of(vector);
  if (auto problem =
          check_whole_frame(vector, frame, RequestHeader::table(), table, api->request_header_version(version));
      !problem.empty()) {
    return problem;
  }
  // The same through the calls that a broker and a client use.
  Arena arena;
  Reader in(frame.subspan(4));
  RequestHeader header;
  if (auto const status = decode_request_header(in, arena, header); !status) return status.error().message;
  if (header.request_api_key != table.key() || header.request_api_version != version)
    return "the header names another API";
  Object body(table);
  if (auto const status = decode(table, in, version, arena, body.get()); !status) return status.error().message;
  auto const again = encode_request(table, body.get(), header.correlation_id, header.client_id, version);
  if (!again) return again.error().message;
  return as_text(again->view()) == as_text(frame) ? "" : "encodes to another frame";
}

std::string check_response(Json const& vector, ByteView frame, MessageTable const& table) {
  auto const version = version_of(vector);
  auto const header_version = find_api(table.key())->response_header_version(version);
  if (auto problem = check_whole_frame(vector, frame, ResponseHeader::table(), table, header_version);
      !problem.empty()) {
    return problem;
  }
  Arena arena;
  Object body(table);
  auto const json = vector.at("body").dump();
  if (auto const status = from_json(table, json, version, arena, body.get()); !status) return status.error().message;
  auto const again = encode_response(table, body.get(), vector.at("header").at("correlationId").get<int32_t>(), version,
                                     header_version);
  if (!again) return again.error().message;
  return as_text(again->bytes.view()) == as_text(frame) ? "" : "encodes to another frame";
}

std::string check_metadata_record(Json const& vector, ByteView bytes, MessageTable const& table) {
  Reader in(bytes);
  auto const frame = read_metadata_frame(in);
  if (!frame) return frame.error().message;
  if (frame->type != table.key() || frame->version != version_of(vector)) return "the frame names another record";
  if (auto problem = check_body(table, frame->version, vector.at("j"), in.rest()); !problem.empty()) return problem;
  Arena arena;
  Object record(table);
  auto const json = vector.at("j").dump();
  if (auto const status = from_json(table, json, frame->version, arena, record.get()); !status)
    return status.error().message;
  auto const again = encode_metadata_record(table, record.get(), frame->version);
  if (!again) return again.error().message;
  return as_text(again->view()) == as_text(bytes) ? "" : "encodes to other bytes";
}

std::string check_prefixed(Json const& vector, ByteView bytes, MessageTable const& table, bool is_key) {
  Reader in(bytes);
  auto const prefix = read_int16_prefix(in);
  if (!prefix) return prefix.error().message;
  auto const version = version_of(vector);
  if (*prefix != (is_key ? table.key() : version)) return fmt::format("prefix {}", *prefix);
  if (auto problem = check_body(table, version, vector.at("j"), in.rest()); !problem.empty()) return problem;
  Arena arena;
  Object object(table);
  auto const json = vector.at("j").dump();
  if (auto const status = from_json(table, json, version, arena, object.get()); !status) return status.error().message;
  auto const again =
      is_key ? encode_coordinator_key(table, object.get()) : encode_versioned(table, object.get(), version);
  if (!again) return again.error().message;
  return as_text(again->view()) == as_text(bytes) ? "" : "encodes to other bytes";
}

// A client that is newer than we are: its header can be read, its version is not ours, and the answer is in version 0.
std::string check_unsupported_api_versions(Json const& vector, ByteView bytes) {
  Arena arena;
  Reader in(bytes.subspan(4));
  RequestHeader header;
  if (auto const status = decode_request_header(in, arena, header); !status) return status.error().message;
  auto const& api = api_info(ApiKey::api_versions);
  if (header.request_api_version != version_of(vector)) return "the header names another version";
  if (api.valid.contains(header.request_api_version)) return "the version is known after all";
  auto const version = vector.at("responseVersion").get<int16_t>();
  Object response(api.response());
  auto const json = vector.at("responseBody").dump();
  if (auto const status = from_json(api.response(), json, version, arena, response.get()); !status) {
    return status.error().message;
  }
  auto const answer = encode_response(api.response(), response.get(), header.correlation_id, version, 0);
  if (!answer) return answer.error().message;
  auto const expected = parse_hex(vector.at("response").get<std::string>());
  return as_text(answer->bytes.view()) == as_text(expected) ? "" : "answers with other bytes";
}

}  // namespace

std::string check_message(Json const& vector) {
  auto const* table = find_message(vector.at("m").get<std::string>());
  if (table == nullptr) return "no such message";
  auto const bytes = parse_hex(vector.at("h").get<std::string>());
  return check_body(*table, version_of(vector), vector.at("j"), bytes, vector.value("ut", Json::object()));
}

std::string check_frame(Json const& vector) {
  auto const kind = vector.at("c").get<std::string>();
  auto const bytes = parse_hex(vector.at("h").get<std::string>());
  if (kind == "apiversions-unsupported") return check_unsupported_api_versions(vector, bytes);
  auto const* table = find_message(vector.at("m").get<std::string>());
  if (table == nullptr) return "no such message";
  if (kind == "request") return check_request(vector, bytes, *table);
  if (kind == "response") return check_response(vector, bytes, *table);
  if (kind == "metadata-record") return check_metadata_record(vector, bytes, *table);
  if (kind == "coordinator-key") return check_prefixed(vector, bytes, *table, true);
  if (kind == "coordinator-value" || kind == "version-prefixed") return check_prefixed(vector, bytes, *table, false);
  return "no such kind of frame";
}

}  // namespace millrace::vectors
