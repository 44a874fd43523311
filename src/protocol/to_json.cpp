#include <cmath>

#include <fmt/format.h>

#include "millrace/bytes/text.h"
#include "millrace/protocol/json.h"

namespace millrace::protocol {

namespace {

template <class T>
T const& as(std::byte const* at) {
  return *reinterpret_cast<T const*>(at);
}

class Printer {
 public:
  void structure(StructTable const& table, int16_t version, std::byte const* object) {
    out_ += '{';
    auto is_first = true;
    for (auto const& field : table.fields()) {
      if (!field.versions.contains(version)) continue;
      auto const* at = object + field.offset;
      if (field.tagged.contains(version) && equal_field(field, at, table.prototype() + field.offset)) continue;
      if (!is_first) out_ += ',';
      is_first = false;
      fmt::format_to(std::back_inserter(out_), "\"{}\":", field.json_name);
      value(field, field.kind, version, at);
    }
    out_ += '}';
  }
  std::string take() { return std::move(out_); }

 private:
  void value(Field const& field, Kind kind, int16_t version, std::byte const* at) {
    auto const print = [&](auto number) { fmt::format_to(std::back_inserter(out_), "{}", number); };
    switch (kind) {
      case Kind::boolean: out_ += as<bool>(at) ? "true" : "false"; return;
      case Kind::int8: return print(static_cast<int32_t>(as<int8_t>(at)));
      case Kind::int16: return print(as<int16_t>(at));
      case Kind::uint16: return print(as<uint16_t>(at));
      case Kind::int32: return print(as<int32_t>(at));
      case Kind::uint32: return print(as<uint32_t>(at));
      case Kind::int64: return print(as<int64_t>(at));
      case Kind::float64: return real(as<double>(at));
      case Kind::uuid: return text(as<Uuid>(at).text());
      case Kind::string: return text(as<Str>(at));
      case Kind::nullable_string: {
        auto const& held = as<std::optional<Str>>(at);
        return held ? text(*held) : null();
      }
      case Kind::bytes: return text(base64(as<ByteView>(at)));
      case Kind::nullable_bytes: {
        auto const& held = as<std::optional<ByteView>>(at);
        return held ? text(base64(*held)) : null();
      }
      case Kind::records: {
        auto const& held = as<Records>(at);
        if (held.is_null()) return null();
        return held.is_slot() ? print(held.size()) : text(base64(held.view()));
      }
      case Kind::structure: return structure(*field.structure, version, at);
      case Kind::nullable_structure: {
        auto const* held = field.ops->get(at);
        return held == nullptr ? null() : structure(*field.structure, version, static_cast<std::byte const*>(held));
      }
      case Kind::array: return array(field, version, as<ArrayBase>(at));
    }
  }

  void array(Field const& field, int16_t version, ArrayBase const& array) {
    if (array.raw_count < 0) return null();
    out_ += '[';
    auto const* at = static_cast<std::byte const*>(array.raw_elements);
    for (int32_t i = 0; i < array.raw_count; ++i, at += field.element_bytes) {
      if (i > 0) out_ += ',';
      value(field, field.element, version, at);
    }
    out_ += ']';
  }

  void null() { out_ += "null"; }

  void real(double number) {
    if (!std::isfinite(number)) return text(std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    auto const digits = fmt::format("{}", number);
    out_ += digits;
    if (digits.find_first_of(".e") == std::string::npos) out_ += ".0";
  }

  void text(std::string_view value) {
    out_ += '"';
    for (auto const c : is_utf8(value) ? std::string(value) : replace_malformed_utf8(value)) {
      switch (c) {
        case '"': out_ += "\\\""; break;
        case '\\': out_ += "\\\\"; break;
        case '\n': out_ += "\\n"; break;
        case '\r': out_ += "\\r"; break;
        case '\t': out_ += "\\t"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<int32_t>(c));
          } else {
            out_ += c;
          }
      }
    }
    out_ += '"';
  }

  std::string out_;
};

}  // namespace

std::string to_json(MessageTable const& table, void const* object, int16_t version) {
  Printer printer;
  printer.structure(table.root(), version, static_cast<std::byte const*>(object));
  return printer.take();
}

}  // namespace millrace::protocol
