#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "millrace/bytes/text.h"
#include "millrace/protocol/json.h"

namespace millrace::protocol {

namespace {

template <class T>
T& as(std::byte* at) {
  return *reinterpret_cast<T*>(at);
}

// Reads JSON straight into a described object: nesting is that of the description, so it is bounded.
class Parser {
 public:
  Parser(std::string_view json, int16_t version, Arena& arena) : json_(json), version_(version), arena_(arena) {}

  bool message(StructTable const& table, std::byte* object) {
    if (!structure(table, object)) return false;
    spaces();
    return at_ == json_.size() || fail("more text after the message");
  }
  Error error(MessageTable const& table) const {
    return {ErrorKind::invalid,
            fmt::format("read {} v{} from JSON: {}{}{} at {}", table.name(), version_, what_,
                        field_ == nullptr ? "" : " in ", field_ == nullptr ? "" : field_->name, at_)};
  }

 private:
  bool fail(char const* what) {
    what_ = what;
    return false;
  }
  void spaces() {
    while (at_ < json_.size() && std::string_view(" \t\r\n").find(json_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view token) {
    spaces();
    if (json_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  bool structure(StructTable const& table, std::byte* object) {
    if (!take("{")) return fail("no object");
    std::vector<bool> seen(table.fields().size());
    for (auto is_first = true; !take("}"); is_first = false) {
      if (!is_first && !take(",")) return fail("no comma");
      std::string name;
      if (!text(name) || !take(":")) return fail("no name");
      auto const& fields = table.fields();
      size_t i = 0;
      while (i < fields.size() && !(fields[i].json_name == name && fields[i].versions.contains(version_))) ++i;
      if (i == fields.size()) return fail("a name that this version does not have");
      if (seen[i]) return fail("a name twice");
      seen[i] = true;
      field_ = &fields[i];
      if (!value(fields[i], fields[i].kind, object + fields[i].offset)) return false;
    }
    for (size_t i = 0; i < seen.size(); ++i) {
      auto const& field = table.fields()[i];
      if (seen[i] || !field.versions.contains(version_) || field.tagged.contains(version_)) continue;
      field_ = &field;
      return fail("a field is missing");
    }
    return true;
  }

  bool value(Field const& field, Kind kind, std::byte* at) {
    auto const is_nullable = field.nullable.contains(version_);
    switch (kind) {
      case Kind::boolean:
        if (take("true")) return as<bool>(at) = true;
        as<bool>(at) = false;
        return take("false") || fail("no boolean");
      case Kind::int8: return integer(as<int8_t>(at));
      case Kind::int16: return integer(as<int16_t>(at));
      case Kind::uint16: return integer(as<uint16_t>(at));
      case Kind::int32: return integer(as<int32_t>(at));
      case Kind::uint32: return integer(as<uint32_t>(at));
      case Kind::int64: return integer(as<int64_t>(at));
      case Kind::float64: return real(as<double>(at));
      case Kind::uuid: {
        std::string digits;
        if (!text(digits)) return fail("no uuid");
        auto id = Uuid::parse(digits);
        if (!id) return fail("a malformed uuid");
        as<Uuid>(at) = *id;
        return true;
      }
      case Kind::string: return string(as<Str>(at));
      case Kind::nullable_string: {
        auto& held = as<std::optional<Str>>(at);
        if (is_nullable && take("null")) return held.reset(), true;
        return string(held.emplace());
      }
      case Kind::bytes: return binary(as<ByteView>(at));
      case Kind::nullable_bytes: {
        auto& held = as<std::optional<ByteView>>(at);
        if (is_nullable && take("null")) return held.reset(), true;
        return binary(held.emplace());
      }
      case Kind::records: {
        auto& held = as<Records>(at);
        if (is_nullable && take("null")) return held = Records(), true;
        ByteView view;
        if (!binary(view)) return false;
        held = Records(view);
        return true;
      }
      case Kind::structure: return structure(*field.structure, at);
      case Kind::nullable_structure:
        if (is_nullable && take("null")) return field.ops->reset(at), true;
        return structure(*field.structure, static_cast<std::byte*>(field.ops->emplace(at)));
      case Kind::array: {
        auto& held = as<ArrayBase>(at);
        if (is_nullable && take("null")) return held = {nullptr, -1}, true;
        return array(field, held);
      }
    }
    return fail("an unexpected type");
  }

  bool array(Field const& field, ArrayBase& out) {
    if (!take("[")) return fail("no array");
    std::vector<std::byte> elements;
    int32_t count = 0;
    for (; !take("]"); ++count) {
      if (count > 0 && !take(",")) return fail("no comma");
      auto const before = elements.size();
      elements.resize(before + field.element_bytes);
      auto* const element = elements.data() + before;
      if (field.structure != nullptr) std::memcpy(element, field.structure->prototype(), field.element_bytes);
      if (field.element == Kind::string) new (element) Str();
      if (field.element == Kind::bytes) new (element) ByteView();
      if (!value(field, field.element, element)) return false;
    }
    if (count == 0) return out = {}, true;
    auto* const memory = arena_.try_allocate(elements.size(), kElementAlignment);
    if (memory == nullptr) return fail("more memory than allowed");
    std::memcpy(memory, elements.data(), elements.size());
    out = {memory, count};
    return true;
  }

  template <class T>
  bool integer(T& out) {
    spaces();
    auto const [end, problem] = std::from_chars(json_.data() + at_, json_.data() + json_.size(), out);
    if (problem != std::errc{}) return fail("no number, or one out of range");
    at_ = static_cast<size_t>(end - json_.data());
    if (at_ < json_.size() && std::string_view(".eE").find(json_[at_]) != std::string_view::npos) {
      return fail("a fraction where an integer belongs");
    }
    return true;
  }
  bool real(double& out) {
    spaces();
    for (auto const& [name, number] : {std::pair("\"NaN\"", std::numeric_limits<double>::quiet_NaN()),
                                       std::pair("\"Infinity\"", std::numeric_limits<double>::infinity()),
                                       std::pair("\"-Infinity\"", -std::numeric_limits<double>::infinity())}) {
      if (take(name)) return out = number, true;
    }
    auto const [end, problem] = std::from_chars(json_.data() + at_, json_.data() + json_.size(), out);
    if (problem != std::errc{}) return fail("no number");
    at_ = static_cast<size_t>(end - json_.data());
    return true;
  }

  bool string(Str& out) {
    std::string buffer;
    if (!text(buffer)) return fail("no text");
    return keep(buffer, out);
  }
  bool binary(ByteView& out) {
    std::string buffer;
    if (!text(buffer)) return fail("no base64 text");
    auto const bytes = parse_base64(buffer);
    if (!bytes) return fail("malformed base64");
    Str kept;
    if (!keep(as_text(*bytes), kept)) return false;
    out = as_bytes(kept);
    return true;
  }
  bool keep(std::string_view from, Str& out) {
    out = "";
    if (from.empty()) return true;
    auto* const memory = arena_.try_allocate(from.size(), 1);
    if (memory == nullptr) return fail("more memory than allowed");
    std::memcpy(memory, from.data(), from.size());
    out = {static_cast<char const*>(memory), from.size()};
    return true;
  }

  bool text(std::string& out) {
    if (!take("\"")) return false;
    while (at_ < json_.size()) {
      auto const c = json_[at_++];
      if (c == '"') return true;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ == json_.size()) return false;
      switch (auto const escaped = json_[at_++]; escaped) {
        case 'n': out += '\n'; break;
        case 'r': out += '\r'; break;
        case 't': out += '\t'; break;
        case 'b': out += '\b'; break;
        case 'f': out += '\f'; break;
        case 'u':
          if (!unicode(out)) return false;
          break;
        default: out += escaped;
      }
    }
    return false;
  }
  bool hex4(uint32_t& out) {
    if (json_.size() - at_ < 4) return false;
    auto const* begin = json_.data() + at_;
    auto const [end, problem] = std::from_chars(begin, begin + 4, out, 16);
    at_ += 4;
    return problem == std::errc{} && end == begin + 4;
  }
  bool unicode(std::string& out) {
    uint32_t code = 0;
    if (!hex4(code)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
      uint32_t low = 0;
      if (json_.substr(at_, 2) != "\\u") return false;
      at_ += 2;
      if (!hex4(low) || low < 0xdc00 || low > 0xdfff) return false;
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    auto const add = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | code >> 6), add(0x80 | (code & 63));
    } else if (code < 0x10000) {
      add(0xe0 | code >> 12), add(0x80 | (code >> 6 & 63)), add(0x80 | (code & 63));
    } else {
      add(0xf0 | code >> 18), add(0x80 | (code >> 12 & 63)), add(0x80 | (code >> 6 & 63)), add(0x80 | (code & 63));
    }
    return true;
  }

  std::string_view json_;
  int16_t version_;
  Arena& arena_;
  size_t at_ = 0;
  char const* what_ = "";
  Field const* field_ = nullptr;
};

}  // namespace

Status from_json(MessageTable const& table, std::string_view json, int16_t version, Arena& arena, void* object) {
  if (!table.valid().contains(version)) {
    return Error{ErrorKind::unsupported, fmt::format("read {} from JSON: no version {}", table.name(), version)};
  }
  Parser parser(json, version, arena);
  if (!parser.message(table.root(), static_cast<std::byte*>(object))) return parser.error(table);
  return {};
}

}  // namespace millrace::protocol
