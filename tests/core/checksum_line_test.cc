#include "core/checksum_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/flipped_bits.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ChecksumLineTest, EveryFlippedBitOfTheRestIsFound) {
  const std::string whole = with_checksum_line("hosts = 8\nspeed = \"100 Gbps\"\n");
  EXPECT_THAT(whole, StartsWith("# crc32c = "));
  EXPECT_EQ(checksum_complaint(whole), "");
  for_each_flipped_bit(
      whole, whole.find('\n') + 1, 1, [](const std::string& damaged, std::size_t at) {
        EXPECT_THAT(checksum_complaint(damaged), HasSubstr("do not fit their checksum")) << at;
      });
}

TEST(ChecksumLineTest, ATextCutShortDoesNotFit) {
  const std::string whole = with_checksum_line("a = 1\nb = 2\n");
  for (std::size_t length = std::string("# crc32c = ").size(); length < whole.size(); ++length) {
    EXPECT_NE(checksum_complaint(whole.substr(0, length)), "") << length;
  }
}

TEST(ChecksumLineTest, ATextWithoutTheLineIsTaken) {
  EXPECT_EQ(checksum_complaint(""), "");
  EXPECT_EQ(checksum_complaint("a = 1\n"), "");
  EXPECT_EQ(checksum_complaint("# crc32c\n"), "");
}

}  // namespace
}  // namespace collbench
