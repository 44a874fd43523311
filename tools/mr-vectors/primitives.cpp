#include <fmt/format.h>

#include "millrace/base/ids.h"
#include "millrace/bytes/crc32c.h"
#include "millrace/bytes/cursor.h"
#include "millrace/bytes/hash.h"
#include "vectors.h"

namespace millrace::vectors {

namespace {

template <class T, class Read, class Write>
std::string check_number(T value, ByteView bytes, size_t size, Read read, Write write) {
  Reader in(bytes);
  auto const got = read(in);
  if (!in.ok() || in.remaining() > 0) return "is not read whole";
  if (got != value) return fmt::format("reads as {}", got);
  if (size != bytes.size()) return fmt::format("is measured as {} bytes", size);
  std::vector<std::byte> written(bytes.size());
  Writer out(written);
  write(out);
  return as_text(written) == as_text(bytes) ? "" : "is written otherwise";
}

std::string check_uuid(Json const& vector) {
  auto const text = vector.at("s").get<std::string>();
  std::vector<std::byte> bytes(16);
  Writer out(bytes);
  out.i64(vector.at("msb").get<int64_t>());
  out.i64(vector.at("lsb").get<int64_t>());
  Reader in(bytes);
  auto const id = in.uuid();
  if (id.text() != text) return fmt::format("prints as {}", id.text());
  auto const parsed = Uuid::parse(text);
  return parsed && *parsed == id ? "" : "is parsed otherwise";
}

std::string check_string_hash(Json const& vector) {
  auto const text = vector.at("s").get<std::string>();
  if (auto const hash = java_string_hash(text); hash != vector.at("javaHashCode").get<int32_t>()) {
    return fmt::format("Java hash {}", hash);
  }
  if (auto const partition = coordinator_partition(text, 50); partition != vector.at("partitionOf50").get<int32_t>()) {
    return fmt::format("partition {}", partition);
  }
  if (auto const sum = crc32c(as_bytes(text)); sum != vector.at("crc32c").get<uint32_t>()) {
    return fmt::format("CRC32C {}", sum);
  }
  if (auto const hash = murmur2(as_bytes(text)); hash != vector.at("murmur2").get<int32_t>()) {
    return fmt::format("murmur2 {}", hash);
  }
  return {};
}

// The hash of a topic or of a group's topics, over bytes that the vector gives; no topics hash to zero.
std::string check_metadata_hash(Json const& vector) {
  if (!vector.contains("input")) return vector.at("hash").get<int64_t>() == 0 ? "" : "a hash of nothing";
  auto const bytes = parse_hex(vector.at("input").get<std::string>());
  auto const hash = static_cast<int64_t>(xxh3_64(bytes));
  return hash == vector.at("hash").get<int64_t>() ? "" : fmt::format("hash {}", hash);
}

}  // namespace

std::string check_primitive(Json const& vector) {
  auto const kind = vector.at("c").get<std::string>();
  if (kind == "uuid") return check_uuid(vector);
  if (kind == "string-hash") return check_string_hash(vector);
  if (kind == "topic-hash" || kind == "group-hash") return check_metadata_hash(vector);
  auto const bytes = parse_hex(vector.at("h").get<std::string>());
  if (kind == "varint") {
    auto const n = vector.at("n").get<int32_t>();
    return check_number(
        n, bytes, varint_bytes(n), [](Reader& in) { return in.varint(); }, [&](Writer& out) { out.varint(n); });
  }
  if (kind == "uvarint32") {
    auto const n = vector.at("n").get<uint32_t>();
    return check_number(
        n, bytes, uvarint_bytes(n), [](Reader& in) { return in.uvarint(); }, [&](Writer& out) { out.uvarint(n); });
  }
  if (kind == "varlong") {
    auto const n = vector.at("n").get<int64_t>();
    return check_number(
        n, bytes, varlong_bytes(n), [](Reader& in) { return in.varlong(); }, [&](Writer& out) { out.varlong(n); });
  }
  return "no such kind of primitive";
}

}  // namespace millrace::vectors
