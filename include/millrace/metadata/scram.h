// SCRAM credentials (RFC 5802) as the metadata log keeps them: what proves a password, never the password.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "millrace/bytes/digest.h"
#include "millrace/bytes/view.h"

namespace millrace::metadata {

struct ScramMechanism {
  int8_t type{};  // 1 SCRAM-SHA-256, 2 SCRAM-SHA-512
  Digest digest{};
  int32_t iterations_min{};
};

inline constexpr int32_t kScramIterationsMax = 16'384;
// The first metadata.version whose readers know credentials: 3.5-IV2.
inline constexpr int16_t kMetadataVersionWithScram = 11;

// Null: there is no such mechanism.
ScramMechanism const* find_scram_mechanism(int8_t type);

struct ScramKeys {
  std::string stored_key, server_key;  // bytes
};
// What is kept of a salted password. It must not be empty: no key is.
ScramKeys scram_keys(ScramMechanism const& mechanism, ByteView salted_password);

}  // namespace millrace::metadata
