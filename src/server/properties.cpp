#include "millrace/server/configuration.h"

namespace millrace::server {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Undoes the escapes of `text`; false: a broken \uXXXX.
bool unescape(std::string_view text, std::string& out) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    switch (auto const c = text[++i]; c) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'f': out += '\f'; break;
      case 'u': {
        uint32_t code = 0;
        for (int digit = 0; digit < 4; ++digit) {
          if (++i >= text.size()) return false;
          auto const h = text[i];
          if (h >= '0' && h <= '9') code = code << 4 | static_cast<uint32_t>(h - '0');
          else if (h >= 'a' && h <= 'f') code = code << 4 | static_cast<uint32_t>(h - 'a' + 10);
          else if (h >= 'A' && h <= 'F') code = code << 4 | static_cast<uint32_t>(h - 'A' + 10);
          else return false;
        }
        append_utf8(out, code);
        break;
      }
      default: out += c;
    }
  }
  return true;
}

struct LogicalLine {
  std::string text;
  size_t number{};
};

// Natural lines joined where a line ends with an odd number of backslashes; comments and empty ones left out.
std::vector<LogicalLine> logical_lines(std::string_view content) {
  std::vector<LogicalLine> lines;
  bool is_continued = false;
  size_t number = 0;
  while (!content.empty()) {
    auto const end = std::min(content.find_first_of("\r\n"), content.size());
    auto line = content.substr(0, end);
    auto const is_crlf = end + 1 < content.size() && content[end] == '\r' && content[end + 1] == '\n';
    content.remove_prefix(std::min(end + (is_crlf ? 2 : 1), content.size()));
    ++number;
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
    if (!is_continued && (line.empty() || line[0] == '#' || line[0] == '!')) continue;
    size_t backslashes = 0;
    while (backslashes < line.size() && line[line.size() - 1 - backslashes] == '\\') ++backslashes;
    bool const continues = backslashes % 2 == 1;
    if (continues) line.remove_suffix(1);
    if (is_continued) lines.back().text += line;
    else lines.push_back({std::string(line), number});
    is_continued = continues;
  }
  return lines;
}

}  // namespace

Result<std::vector<FileEntry>> parse_properties(std::string_view content) {
  std::vector<FileEntry> entries;
  for (auto const& line : logical_lines(content)) {
    std::string_view const text = line.text;
    size_t key_end = 0;
    while (key_end < text.size() && text[key_end] != '=' && text[key_end] != ':' && !is_blank(text[key_end])) {
      key_end += text[key_end] == '\\' ? 2 : 1;
    }
    key_end = std::min(key_end, text.size());
    auto value = text.substr(key_end);
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    if (!value.empty() && (value.front() == '=' || value.front() == ':')) value.remove_prefix(1);
    while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
    FileEntry entry{.key = {}, .value = {}, .line = line.number};
    if (!unescape(text.substr(0, key_end), entry.key) || !unescape(value, entry.value)) {
      return Error{ErrorKind::invalid, fmt::format("line {}: \\u needs four hexadecimal digits", line.number)};
    }
    while (!entry.value.empty() && is_blank(entry.value.back())) entry.value.pop_back();
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace millrace::server
