// Reads a gzipped file of JSON lines.
#pragma once
#include <zlib.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace millrace {

inline std::vector<nlohmann::json> lines_of(std::string const& path) {
  std::vector<nlohmann::json> lines;
  auto* file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return lines;
  std::string text;
  std::vector<char> chunk(size_t{1} << 16);
  for (int count = 0; (count = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()))) > 0;) {
    text.append(chunk.data(), static_cast<size_t>(count));
  }
  gzclose(file);
  for (size_t at = 0; at < text.size();) {
    auto const end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(nlohmann::json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

}  // namespace millrace
