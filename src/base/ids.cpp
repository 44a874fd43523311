#include "millrace/base/ids.h"

namespace millrace {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr size_t kUuidTextLength = 22;

}  // namespace

std::string Uuid::text() const {
  std::string out;
  out.reserve(kUuidTextLength);
  uint32_t bits = 0;
  int count = 0;
  for (uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    count += 8;
    while (count >= 6) {
      count -= 6;
      out.push_back(kAlphabet[(bits >> count) & 63]);
    }
  }
  out.push_back(kAlphabet[(bits << (6 - count)) & 63]);
  return out;
}

Result<Uuid> Uuid::parse(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() != kUuidTextLength) {
    return Error{ErrorKind::invalid, fmt::format("parse uuid '{}': {} characters, not {}", text, text.size(), kUuidTextLength)};
  }
  Uuid id;
  uint32_t bits = 0;
  int count = 0;
  size_t index = 0;
  for (char c : text) {
    auto const digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) {
      return Error{ErrorKind::invalid, fmt::format("parse uuid '{}': '{}' is not url-safe base64", text, c)};
    }
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    count += 6;
    if (count >= 8 && index < id.bytes.size()) {
      count -= 8;
      id.bytes[index++] = static_cast<uint8_t>(bits >> count);
    }
  }
  return id;
}

}  // namespace millrace
