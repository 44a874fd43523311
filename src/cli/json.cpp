#include "json.h"

#include <cmath>

#include <fmt/format.h>

#include "millrace/base/assert.h"
#include "millrace/bytes/text.h"

namespace millrace::cli {
namespace {

constexpr size_t kIndent = 2;

void write_text(std::string& out, std::string_view text) {
  std::string repaired;
  if (!is_utf8(text)) {
    repaired = replace_malformed_utf8(text);
    text = repaired;
  }
  out += '"';
  for (char const c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        else
          out += c;
    }
  }
  out += '"';
}

void begin_line(std::string& out, int indent) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<size_t>(indent) * kIndent, ' ');
}

}  // namespace

Json Json::object(std::initializer_list<std::pair<std::string_view, Json>> members) {
  Json object((Members()));
  for (auto const& [name, value] : members) object.set(name, value);
  return object;
}

Json& Json::add(Json element) {
  MR_ASSERT(std::holds_alternative<Elements>(value_));
  std::get<Elements>(value_).push_back(std::move(element));
  return *this;
}

Json& Json::set(std::string_view name, Json value) {
  MR_ASSERT(std::holds_alternative<Members>(value_));
  std::get<Members>(value_).emplace_back(name, std::move(value));
  return *this;
}

void Json::write(std::string& out, int indent) const {
  int const inner = indent < 0 ? indent : indent + 1;
  if (is_null()) {
    out += "null";
  } else if (auto const* flag = std::get_if<bool>(&value_)) {
    out += *flag ? "true" : "false";
  } else if (auto const* integer = std::get_if<int64_t>(&value_)) {
    out += fmt::to_string(*integer);
  } else if (auto const* real = std::get_if<double>(&value_)) {
    out += std::isfinite(*real) ? fmt::to_string(*real) : "null";
  } else if (auto const* text = std::get_if<std::string>(&value_)) {
    write_text(out, *text);
  } else if (auto const* elements = std::get_if<Elements>(&value_)) {
    out += '[';
    for (size_t i = 0; i < elements->size(); ++i) {
      if (i > 0) out += ',';
      begin_line(out, inner);
      (*elements)[i].write(out, inner);
    }
    if (!elements->empty()) begin_line(out, indent);
    out += ']';
  } else {
    auto const& members = std::get<Members>(value_);
    out += '{';
    for (size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ',';
      begin_line(out, inner);
      write_text(out, members[i].first);
      out += indent < 0 ? ":" : ": ";
      members[i].second.write(out, inner);
    }
    if (!members.empty()) begin_line(out, indent);
    out += '}';
  }
}

std::string Json::text() const {
  std::string out;
  write(out, 0);
  return out;
}

std::string Json::line() const {
  std::string out;
  write(out, -1);
  return out;
}

}  // namespace millrace::cli
