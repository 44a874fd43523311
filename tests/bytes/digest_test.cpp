// Digests give what RFC 4231 and FIPS 180 say.
#include "millrace/bytes/digest.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

std::string hex(std::string const& bytes) {
  std::string out;
  for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

TEST(Digest, of_text) {
  EXPECT_EQ(hex(digest(Digest::sha256, as_bytes("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(digest(Digest::sha512, as_bytes(""))),
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a"
            "81a538327af927da3e");
}

TEST(Digest, with_a_key) {
  auto const key = as_bytes("Jefe"), text = as_bytes("what do ya want for nothing?");
  EXPECT_EQ(hex(hmac(Digest::sha256, key, text)), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac(Digest::sha512, key, text)),
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b"
            "4b636e070a38bce737");
}

}  // namespace
}  // namespace millrace
