#include "millrace/bytes/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "millrace/base/assert.h"

namespace millrace {
namespace {

EVP_MD const* algorithm(Digest kind) { return kind == Digest::sha256 ? EVP_sha256() : EVP_sha512(); }

unsigned char const* octets(ByteView bytes) { return reinterpret_cast<unsigned char const*>(bytes.data()); }

std::string text_of(std::array<unsigned char, EVP_MAX_MD_SIZE> const& bytes, unsigned length) {
  return {reinterpret_cast<char const*>(bytes.data()), length};
}

}  // namespace

std::string digest(Digest kind, ByteView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  auto const done = EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, algorithm(kind), nullptr);
  MR_ASSERT(done == 1);
  return text_of(out, length);
}

std::string hmac(Digest kind, ByteView key, ByteView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  auto const* done = HMAC(algorithm(kind), key.data(), static_cast<int>(key.size()), octets(bytes), bytes.size(),
                          out.data(), &length);
  MR_ASSERT(done != nullptr);
  return text_of(out, length);
}

}  // namespace millrace
