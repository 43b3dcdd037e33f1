#include "core/units.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;
using namespace literals;

std::string refusal_of_size(const std::string& text) {
  return refusal([&] { parse_size(text); });
}

TEST(ParseSizeTest, UnitsAreBinaryInEverySpelling) {
  for (const char* text : {"64K", "64k", "64KB", "64Kb", "64Ki", "64KiB", "64 K", "64 KiB", "65536",
                           "65536B", "65536 b", "0.0625M"}) {
    EXPECT_EQ(parse_size(text), 64_KiB) << text;
  }
  EXPECT_EQ(parse_size("3M"), 3_MiB);
  EXPECT_EQ(parse_size("2G"), 2_GiB);
  EXPECT_EQ(parse_size("1T"), 1024_GiB);
  EXPECT_EQ(parse_size("0"), 0_B);
  EXPECT_EQ(parse_size("007"), 7_B);
}

TEST(ParseSizeTest, FractionsCountWhenTheyGiveWholeBytes) {
  EXPECT_EQ(parse_size("1.5G"), 1536_MiB);
  EXPECT_EQ(parse_size("0.5K"), 512_B);
  EXPECT_EQ(parse_size("1.0"), 1_B);
  EXPECT_EQ(parse_size("2.000000000K"), 2_KiB);
  EXPECT_THAT(refusal_of_size("0.5"), HasSubstr("'0.5' is not a whole number of bytes"));
  EXPECT_THAT(refusal_of_size("1.3K"), HasSubstr("is not a whole number of bytes"));
  EXPECT_THAT(refusal_of_size("1.0000000001G"), HasSubstr("more than 9 digits after the point"));
  EXPECT_THAT(refusal_of_size("1.K"), HasSubstr("has no digit after the point"));
  EXPECT_THAT(refusal_of_size(".5K"), HasSubstr("does not start with a digit"));
}

TEST(ParseSizeTest, NegativeSizesAreRefusedNotWrapped) {
  EXPECT_THAT(refusal_of_size("-5"), HasSubstr("size '-5' is negative"));
  EXPECT_THAT(refusal_of_size("-1K"), HasSubstr("is negative"));
  EXPECT_THAT(refusal_of_size("-0"), HasSubstr("is negative"));
}

TEST(ParseSizeTest, JunkIsRefusedWhereverItStands) {
  for (const char* text :
       {"10Mfoo", "10M ", " 10M", "10  M", "1e6", "0x10", "10KK", "10iB", "10KBi", "+5", "K", "ten",
        "1,000", "1.5.5K", "10M\n", "10P", "1\t", "\xC3\xA9"}) {
    EXPECT_THAT(refusal_of_size(text), HasSubstr("size '" + std::string(text) + "'")) << text;
  }
  EXPECT_THAT(refusal_of_size(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of_size("10Mfoo"), HasSubstr("unknown unit 'Mfoo'"));
  EXPECT_THAT(refusal_of_size("10Mfoo"), HasSubstr("write NUMBER[K|M|G|T]"));
  EXPECT_THROW(parse_size(std::string("10\0K", 4)), InvalidArgument);
}

TEST(ParseSizeTest, LimitIsTwoToThe62Exactly) {
  const std::int64_t limit = std::int64_t{1} << 62;
  EXPECT_EQ(parse_size(std::to_string(limit)).count, limit);
  EXPECT_EQ(parse_size("4194304T").count, limit);
  for (const std::string& text :
       {std::to_string(limit + 1), std::string("4194305T"), std::string("4194304.5T"),
        std::string("9223372036854775807"), std::string("9223372036854775808"),
        std::string("18446744073709551616"), std::string(400, '9'),
        std::string("9999999999999G")}) {
    EXPECT_THAT(refusal_of_size(text), HasSubstr("is larger than 2^62 bytes")) << text;
  }
}

TEST(ParseSizeTest, WholeNumbersOfEveryUnitAreExact) {
  RandomEngine random = random_engine(1, "sizes");
  const std::string units = "BKMGT";
  for (int i = 0; i < 20000; ++i) {
    const auto u = static_cast<std::size_t>(i) % units.size();
    const auto shift = static_cast<int>(10 * u);
    const auto number = static_cast<std::int64_t>(random() >> (2 + shift + i % (62 - shift)));
    const std::string text = std::to_string(number) + units[u];
    EXPECT_EQ(parse_size(text).count, number << shift) << text;
  }
}

TEST(ParseSizeTest, PrintedSizesReadBackExactly) {
  RandomEngine random = random_engine(2, "sizes");
  for (int i = 0; i < 20000; ++i) {
    const Bytes size{static_cast<std::int64_t>(random() >> (2 + i % 62))};
    EXPECT_EQ(parse_size(to_string(size)), size) << size.count << " prints as " << to_string(size);
  }
  for (int bit = 0; bit <= 62; ++bit) {
    for (const std::int64_t off : {-1, 0, 1}) {
      const Bytes size{(std::int64_t{1} << bit) + off};
      if (size.count > std::int64_t{1} << 62) continue;
      EXPECT_EQ(parse_size(to_string(size)), size) << to_string(size);
    }
  }
}

TEST(ToStringTest, SizesUseTheLargestUnitThatStaysExact) {
  EXPECT_EQ(to_string(0_B), "0 B");
  EXPECT_EQ(to_string(1000_B), "1000 B");
  EXPECT_EQ(to_string(64_KiB), "64 KiB");
  EXPECT_EQ(to_string(1536_KiB), "1.5 MiB");
  EXPECT_EQ(to_string(1025_B), "1025 B");
  EXPECT_EQ(to_string(1_GiB), "1 GiB");
  EXPECT_EQ(to_string(1152_B), "1.125 KiB");
  EXPECT_EQ(to_string(Bytes{std::int64_t{1} << 62}), "4194304 TiB");
  EXPECT_EQ(to_string(1_KiB - 3_KiB), "-2 KiB");
}

TEST(ToStringTest, RoundedSizesHaveThreeDigits) {
  EXPECT_EQ(rounded(146591680_KiB), "140 GiB");
  EXPECT_EQ(rounded(169500_B), "166 KiB");
  EXPECT_EQ(rounded(1000_B), "0.977 KiB");
  EXPECT_EQ(rounded(999_B), "999 B");
}

TEST(ToStringTest, RatesAreDecimalAndTimesScaled) {
  EXPECT_EQ(to_string(Bandwidth{12.5e9}), "12.5 GB/s");
  EXPECT_EQ(to_string(Bandwidth{999}), "999 B/s");
  EXPECT_EQ(to_string(Seconds{4.2e-6}), "4.2 us");
  EXPECT_EQ(to_string(Seconds{1.3e-3}), "1.3 ms");
  EXPECT_EQ(to_string(Seconds{90}), "90 s");
  EXPECT_EQ(to_string(Seconds{0}), "0 ns");
}

template <typename Parse>
std::string refusal_of(Parse parse, const std::string& text) {
  return refusal([&] { parse(text); });
}

TEST(ParseBandwidthTest, ACapitalBIsAByteAndASmallOneABit) {
  for (const char* text : {"50GBps", "50 GBps", "50GB/s", "0.05 TB/s", "400Gbps", "400 Gb/s",
                           "400000Mbit/s", "5e10 Bps", "50000000kBps"}) {
    EXPECT_DOUBLE_EQ(parse_bandwidth(text).bytes_per_second, 50e9) << text;
  }
  EXPECT_EQ(parse_bandwidth("0Gbps"), Bandwidth{0});
  EXPECT_EQ(parse_bandwidth("2GiBps"), Bandwidth{2.0 * (1 << 30)});
  EXPECT_EQ(parse_bandwidth("3 PB/s"), Bandwidth{3e15});
}

TEST(ParseBandwidthTest, RefusesWhatHasNoUnitNoNumberOrNoEnd) {
  for (const char* text : {"", "50", "GBps", "-1GBps", "50XBps", "50 G", "50gbps", "infGBps",
                           "nan Gbps", "50GBps ", "1e308GBps"}) {
    const std::string why = refusal_of(parse_bandwidth, text);
    EXPECT_THAT(why, HasSubstr("bandwidth '" + std::string(text) + "'")) << text;
  }
  EXPECT_THAT(refusal_of(parse_bandwidth, "50"), HasSubstr("as in 50GBps (bytes) or 100Gbps"));
}

TEST(ParseDurationTest, KnowsAllUnitsAndZero) {
  EXPECT_DOUBLE_EQ(parse_duration("1.5us").count(), 1.5e-6);
  EXPECT_DOUBLE_EQ(parse_duration("200 ns").count(), 2e-7);
  EXPECT_DOUBLE_EQ(parse_duration("3ms").count(), 3e-3);
  EXPECT_DOUBLE_EQ(parse_duration("2s").count(), 2);
  EXPECT_DOUBLE_EQ(parse_duration("5m").count(), 300);
  EXPECT_DOUBLE_EQ(parse_duration("2 min").count(), 120);
  EXPECT_DOUBLE_EQ(parse_duration("1h30m0.5s").count(), 5400.5);
  EXPECT_EQ(parse_duration("0"), Seconds{0});
}

TEST(ParseDurationTest, RefusesOtherUnitsAndNegativeTimes) {
  for (const char* text : {"", "5", "us", "-5us", "5 minutes", "5us,", "5 US"}) {
    EXPECT_THAT(refusal_of(parse_duration, text), HasSubstr("time '" + std::string(text) + "'"))
        << text;
  }
}

TEST(QuantityTest, SizeOverRateIsTimeAndSizeOverTimeIsRate) {
  EXPECT_DOUBLE_EQ((125_MiB / Bandwidth{125.0 * (1 << 20)}).count(), 1.0);
  EXPECT_DOUBLE_EQ((100_B / Seconds{0.5}).bytes_per_second, 200.0);
  EXPECT_EQ(3_KiB - 1_KiB + 2_KiB * 2, 6_KiB);
  EXPECT_LT(1023_B, 1_KiB);
}

}  // namespace
}  // namespace collbench
