// Digests equal published vectors; comparison and randomness behave.
#include "core/keyed_digest.h"

#include <set>

#include <gtest/gtest.h>

namespace collbench {
namespace {

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

TEST(KeyedDigestTest, EveryLengthOfKeyAndMessageGivesAnotherDigest) {
  std::set<std::string> seen;
  for (std::size_t n = 1; n < 200; ++n) {
    seen.insert(keyed_digest("key", std::string(n, 'x')));
    seen.insert(keyed_digest(std::string(n, 'k'), "message"));
  }
  EXPECT_EQ(seen.size(), 2 * 199U);
}

// The digest of the empty message under the empty key, as `openssl dgst -hmac ""` prints it.
TEST(KeyedDigestTest, TheEmptyKeyIsAKey) {
  keyed_digest("another", "x");
  EXPECT_EQ(keyed_digest("", ""),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_EQ(keyed_digest({}, {}), keyed_digest("", ""));
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
