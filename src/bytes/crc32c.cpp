#include "millrace/bytes/crc32c.h"

#include <isa-l/crc.h>
#include <zlib.h>

#include <climits>

namespace millrace {

uint32_t crc32c(ByteView bytes, uint32_t seed) {
  // isa-l takes an int and a register value that is neither inverted at the start nor at the end.
  uint32_t state = ~seed;
  while (!bytes.empty()) {
    auto const part = bytes.first(std::min<size_t>(bytes.size(), INT_MAX));
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data()));
    state = crc32_iscsi(data, static_cast<int>(part.size()), state);
    bytes = bytes.subspan(part.size());
  }
  return ~state;
}

uint32_t crc32_zlib(ByteView bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

}  // namespace millrace
