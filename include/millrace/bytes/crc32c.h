// CRC32C (Castagnoli) as Kafka's record batches use it, and the zlib CRC-32 of its older message formats.
#pragma once
#include <cstdint>

#include "millrace/bytes/view.h"

namespace millrace {

// `seed` is the checksum of the bytes before, so that crc32c(b, crc32c(a)) is the checksum of a followed by b.
uint32_t crc32c(ByteView bytes, uint32_t seed = 0);
uint32_t crc32_zlib(ByteView bytes);

}  // namespace millrace
