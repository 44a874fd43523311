#include "millrace/bytes/text.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace millrace {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

constexpr auto kDigits = [] {
  std::array<int8_t, 256> digits{};
  digits.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) digits[static_cast<uint8_t>(kAlphabet[i])] = static_cast<int8_t>(i);
  return digits;
}();

struct Utf8Step {
  size_t bytes = 0;  // taken
  bool valid = false;
};

// The next character, or the longest start of one that can still become valid (at least one byte).
Utf8Step next_character(std::string_view text) {
  auto const at = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto const lead = at(0);
  if (lead < 0x80) return {1, true};
  if (lead < 0xc2 || lead > 0xf4) return {1, false};
  auto const length = lead < 0xe0 ? 2u : lead < 0xf0 ? 3u : 4u;
  // The second byte carries the limits against overlong forms and numbers past the end.
  auto const low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  auto const high = lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i == text.size() || at(i) < (i == 1 ? low : 0x80) || at(i) > (i == 1 ? high : 0xbf)) return {i, false};
  }
  auto const is_surrogate = lead == 0xed && at(1) >= 0xa0;  // Java replaces its three bytes by one character
  return {length, !is_surrogate};
}

}  // namespace

std::string base64(ByteView bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    auto const count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<uint32_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? kAlphabet[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

Result<std::vector<std::byte>> parse_base64(std::string_view text) {
  auto const bad = Error{ErrorKind::invalid, "base64: a malformed text"};
  if (text.size() % 4 != 0) return bad;
  std::vector<std::byte> out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    auto const is_last = i + 4 == text.size();
    auto const padding = !is_last ? 0u : text[i + 3] != '=' ? 0u : text[i + 2] != '=' ? 1u : 2u;
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      auto const digit = k >= 4 - padding ? int8_t{0} : kDigits[static_cast<uint8_t>(text[i + k])];
      if (digit < 0) return bad;
      group = group << 6 | static_cast<uint32_t>(digit);
    }
    for (size_t k = 0; k < 3 - padding; ++k) out.push_back(static_cast<std::byte>(group >> (16 - 8 * k)));
  }
  return out;
}

bool is_utf8(std::string_view text) {
  // Mostly ASCII: eight bytes at a time.
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    if ((word & 0x8080808080808080u) != 0) break;
    text.remove_prefix(sizeof(word));
  }
  while (!text.empty()) {
    auto const step = next_character(text);
    if (!step.valid) return false;
    text.remove_prefix(step.bytes);
  }
  return true;
}

size_t replaced_utf8_bytes(std::string_view text) {
  size_t bytes = 0;
  while (!text.empty()) {
    auto const step = next_character(text);
    bytes += step.valid ? step.bytes : kReplacement.size();
    text.remove_prefix(step.bytes);
  }
  return bytes;
}

void replace_malformed_utf8(std::string_view text, char* out) {
  while (!text.empty()) {
    auto const step = next_character(text);
    auto const piece = step.valid ? text.substr(0, step.bytes) : kReplacement;
    out = std::copy(piece.begin(), piece.end(), out);
    text.remove_prefix(step.bytes);
  }
}

std::string replace_malformed_utf8(std::string_view text) {
  std::string out(replaced_utf8_bytes(text), '\0');
  replace_malformed_utf8(text, out.data());
  return out;
}

}  // namespace millrace
