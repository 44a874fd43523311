// SHA-2 digests and their keyed form (HMAC), as SCRAM uses them.
#pragma once
#include <string>

#include "millrace/bytes/view.h"

namespace millrace {

enum class Digest : uint8_t { sha256, sha512 };

// 32 or 64 bytes.
std::string digest(Digest kind, ByteView bytes);
std::string hmac(Digest kind, ByteView key, ByteView bytes);

}  // namespace millrace
