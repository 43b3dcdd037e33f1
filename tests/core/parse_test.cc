#include "core/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseCountTest, TakesWholeNumbersWithinBounds) {
  EXPECT_EQ(parse_count("--iters", "20", 1, 100), 20);
  EXPECT_EQ(parse_count("--iters", "1", 1, 100), 1);
  EXPECT_EQ(parse_count("--iters", "100", 1, 100), 100);
}

TEST(ParseCountTest, NamesTheOptionTheValueAndTheBound) {
  const auto of = [](const char* text) {
    return refusal([&] { parse_count("--workers", text, 1, 64); });
  };
  EXPECT_EQ(of("0"), "--workers must be at least 1 (got 0)");
  EXPECT_EQ(of("-5"), "--workers must be at least 1 (got -5)");
  EXPECT_EQ(of("65"), "--workers must be at most 64 (got 65)");
  EXPECT_EQ(of("99999999999999999999"), "--workers must be at most 64 (got 99999999999999999999)");
  for (const char* text : {"", "8x", "1.5", " 8", "0x8", "eight"}) {
    EXPECT_THAT(of(text), HasSubstr("is not a whole number")) << text;
  }
}

TEST(ParseCpuListTest, TakesNumbersAndRangesInTheOrderWritten) {
  EXPECT_EQ(parse_cpu_list("--pin", "4,0-2"), (std::vector<int>{4, 0, 1, 2}));
  EXPECT_EQ(refusal([] { parse_cpu_list("--pin", "3-1"); }), "--pin: '3-1' ends before it begins");
  EXPECT_EQ(refusal([] { parse_worker_counts("-W", "4:1"); }), "-W: '4:1' ends before it begins");
  EXPECT_EQ(refusal([] { parse_worker_counts("-W", "1:4:x1"); }),
            "-W: the factor must be at least 2 (got 1)");
  for (const char* text : {"", "0,", "-1", "0-", "1024", "0-99999999"}) {
    EXPECT_NE(refusal([&] { parse_cpu_list("--pin", text); }), "") << text;
  }
}

TEST(NumberInTest, IsTheWholeTextWithinBounds) {
  EXPECT_EQ(integer_in("-7", -7, 7), -7);
  EXPECT_EQ(small_integer_in("7", -7, 7), 7);
  EXPECT_EQ(number_in("1.5e3"), 1500);
  for (const char* text : {"", "8x", " 8", "8 ", "+8", "0x8", "8.5", "99999999999999999999"}) {
    EXPECT_FALSE(integer_in(text)) << text;
  }
  for (const char* text : {"", "nan", "inf", "1e999", "1,5", "1.5 "}) {
    EXPECT_FALSE(number_in(text)) << text;
  }
  EXPECT_FALSE(integer_in("-1"));
  EXPECT_FALSE(integer_in("8", 9, 10));
  EXPECT_FALSE(small_integer_in("4294967297"));
  EXPECT_FALSE(number_in("1.5", 0, 1));
}

TEST(ParseOptionDurationTest, TakesUnitsAndPlainSeconds) {
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "60").count(), 60);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "1.5s").count(), 1.5);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "500ms").count(), 0.5);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "20us").count(), 20e-6);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "2min").count(), 120);
  EXPECT_DOUBLE_EQ(parse_positive_duration("--timeout", "5m").count(), 300);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", "1h30m").count(), 5400);
  EXPECT_DOUBLE_EQ(parse_positive_duration("-T", " 1 s ").count(), 1);
}

TEST(ParseOptionDurationTest, RefusesWhatIsNoTimeToWait) {
  for (const char* text : {"", "s", "0", "-1s", "25h", "5M", "5 minutes", "30m1h", "5m5m", "1h30",
                           "nan", "inf", "1e9", "1 s s"}) {
    EXPECT_NE(refusal([&] { parse_positive_duration("-T", text); }), "") << text;
  }
}

TEST(ParseFractionTest, TakesPercentagesAndFractions) {
  EXPECT_DOUBLE_EQ(parse_fraction("--target-ci", "2%"), 0.02);
  EXPECT_DOUBLE_EQ(parse_fraction("--target-ci", "0.02"), 0.02);
  for (const char* text : {"", "%", "0", "100%", "1", "-2%", "2 percent"}) {
    EXPECT_NE(refusal([&] { parse_fraction("--target-ci", text); }), "") << text;
  }
}

TEST(ParseWorkerCountsTest, TakesListsRangesAndFactors) {
  EXPECT_THAT(parse_worker_counts("-W", "8"), ElementsAre(8));
  EXPECT_THAT(parse_worker_counts("-W", "8, 2,8"), ElementsAre(8, 2));
  EXPECT_THAT(parse_worker_counts("-W", "3:5"), ElementsAre(3, 4, 5));
  EXPECT_THAT(parse_worker_counts("-W", "2:20:x2,3"), ElementsAre(2, 4, 8, 16, 3));
}

TEST(ParseWorkerCountsTest, RefusesWhatIsNoCountOfWorkers) {
  for (const char* text : {"", "0", "2,,4", "5:3", "2:8:2", "2:8:x1", "2:", ":8", "1000000000"}) {
    EXPECT_THAT(refusal([&] { parse_worker_counts("--workers", text); }), HasSubstr("--workers"))
        << text;
  }
}

TEST(ParseSizeOptionTest, LeadsTheMessageByTheOption) {
  EXPECT_EQ(parse_size_option("-b", "1.5M").count, 3 << 19);
  EXPECT_THAT(refusal([] { parse_size_option("--minbytes", "10Mfoo"); }),
              AllOf(HasSubstr("--minbytes"), HasSubstr("10Mfoo")));
}

TEST(ParseBandwidthGateTest, TakesASizeAndARate) {
  const BandwidthGate gate = parse_bandwidth_gate("--min-busbw", "64M:40GB/s");
  EXPECT_EQ(gate.bytes.count, 64 << 20);
  EXPECT_DOUBLE_EQ(gate.least.bytes_per_second, 40e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth_gate("--min-busbw", "4:0.5").least.bytes_per_second, 0.5e9);
  for (const char* text : {"", "64M", "64M:", ":40", "64M:-1", "64M:40MB/s"}) {
    EXPECT_NE(refusal([&] { parse_bandwidth_gate("--min-busbw", text); }), "") << text;
  }
}

}  // namespace
}  // namespace collbench
