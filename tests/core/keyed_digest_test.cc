// Digests equal published vectors; comparison and randomness behave.
#include "core/keyed_digest.h"

#include <set>

#include <gtest/gtest.h>

namespace collbench {
namespace {

std::string hex(const Sha256& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

// FIPS 180-2, appendix B.
TEST(KeyedDigestTest, Sha256EqualsThePublishedVectors) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// RFC 4231, test cases 1, 2 and 6.
TEST(KeyedDigestTest, KeyedDigestsEqualThePublishedVectors) {
  EXPECT_EQ(keyed_digest(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(keyed_digest("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(keyed_digest(std::string(131, '\xaa'),
                         "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// Padding needs another block from 56 bytes on.
TEST(KeyedDigestTest, EveryLengthGivesAnotherDigest) {
  std::set<Sha256> seen;
  for (std::size_t n = 0; n < 200; ++n) seen.insert(sha256(std::string(n, 'x')));
  EXPECT_EQ(seen.size(), 200U);
}

TEST(KeyedDigestTest, OnlyEqualSecretsAreTheSame) {
  EXPECT_TRUE(same_secret("", ""));
  EXPECT_TRUE(same_secret("secret", "secret"));
  for (const char* other : {"", "secre", "secrets", "Secret", "secreT"}) {
    EXPECT_FALSE(same_secret("secret", other)) << other;
    EXPECT_FALSE(same_secret(other, "secret")) << other;
  }
}

TEST(KeyedDigestTest, RandomDigitsDiffer) {
  EXPECT_EQ(random_digits().size(), 32U);
  EXPECT_NE(random_digits(), random_digits());
}

}  // namespace
}  // namespace collbench
