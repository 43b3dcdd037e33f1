#include "core/crc32c.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"

namespace collbench {
namespace {

TEST(Crc32cTest, GivesTheValuesOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
}

TEST(Crc32cTest, InstructionAndTablesAgreeAtEveryLengthAndOffset) {
  RandomEngine engine = random_engine(1, "crc");
  std::vector<std::byte> bytes(10'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine());
  for (std::size_t length : {0, 1, 7, 8, 9, 3071, 3072, 3073, 6144, 9'000}) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      const auto part = std::span<const std::byte>(bytes).subspan(offset, length);
      EXPECT_EQ(crc32c(part), crc32c_by_tables(part)) << length << " at " << offset;
      EXPECT_EQ(crc32c(part, 0x1234U), crc32c_by_tables(part, 0x1234U)) << length;
    }
  }
}

TEST(Crc32cTest, GoesOnWhereItStopped) {
  const std::string text(5000, 'x');
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  for (const std::size_t cut : {0, 1, 100, 4999, 5000}) {
    EXPECT_EQ(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))), crc32c(text));
  }
}

TEST(Crc32cTest, EveryFlippedBitShows) {
  std::string text(300, 'y');
  const std::uint32_t right = crc32c(text);
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(text), right) << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

}  // namespace
}  // namespace collbench
