// Reads a file of JSON lines, gzipped or not.
#pragma once
#include <zlib.h>

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace {

// "-" is standard input. Nothing if the file cannot be read.
inline std::optional<std::string> text_of(std::string const& path) {
  auto* file = path == "-" ? gzdopen(0, "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr) return std::nullopt;
  std::string text;
  std::vector<char> chunk(size_t{1} << 16);
  int count = 0;
  while ((count = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0) {
    text.append(chunk.data(), static_cast<size_t>(count));
  }
  gzclose(file);
  return count < 0 ? std::nullopt : std::optional(std::move(text));
}

// Calls on_line(number, line) for each line that is not empty.
template <class OnLine>
void for_each_line(std::string const& text, OnLine&& on_line) {
  size_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    auto const end = std::min(text.find('\n', at), text.size());
    if (end > at) on_line(number, text.substr(at, end - at));
    at = end + 1;
  }
}

inline std::vector<nlohmann::json> lines_of(std::string const& path) {
  std::vector<nlohmann::json> lines;
  for_each_line(text_of(path).value_or(""),
                [&](size_t, std::string const& line) { lines.push_back(nlohmann::json::parse(line)); });
  return lines;
}

}  // namespace millrace
