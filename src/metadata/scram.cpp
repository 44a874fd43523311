#include "millrace/metadata/scram.h"

#include "millrace/base/assert.h"

namespace millrace::metadata {
namespace {

constexpr ScramMechanism kMechanisms[] = {{1, Digest::sha256, 4096}, {2, Digest::sha512, 4096}};

}  // namespace

ScramMechanism const* find_scram_mechanism(int8_t type) {
  for (auto const& mechanism : kMechanisms) {
    if (mechanism.type == type) return &mechanism;
  }
  return nullptr;
}

ScramKeys scram_keys(ScramMechanism const& mechanism, ByteView salted_password) {
  MR_ASSERT(!salted_password.empty());
  auto const client_key = hmac(mechanism.digest, salted_password, as_bytes("Client Key"));
  return {digest(mechanism.digest, as_bytes(client_key)), hmac(mechanism.digest, salted_password, as_bytes("Server Key"))};
}

}  // namespace millrace::metadata
