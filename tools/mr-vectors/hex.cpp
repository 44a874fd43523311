#include "vectors.h"

namespace millrace::vectors {

std::vector<std::byte> parse_hex(std::string const& hex) {
  std::vector<std::byte> out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

}  // namespace millrace::vectors
