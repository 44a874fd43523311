// Borrowed bytes: the owner must outlive the view.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace millrace {

using ByteView = std::span<std::byte const>;
using MutableByteView = std::span<std::byte>;

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<std::byte const*>(text.data()), text.size()};
}
inline std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

}  // namespace millrace
