#include "algorithms/schedule_table.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"

namespace collbench {
namespace {

TEST(ScheduleTable, ShowsOneLinePerRankAndOneColumnPerRound) {
  EXPECT_EQ(to_table(make_schedule("ring", 3)),
            "ring: 3 ranks, 3 chunks, 4 rounds; c>r sends chunk c to rank r, c<r stores it from r, "
            "c+r adds it\n"
            "\n"
            "rank  round 0  round 1  round 2  round 3\n"
            "0     2>1 1+2  1>1 0+2  0>1 2<2  2>1 1<2\n"
            "1     0>2 2+0  2>2 1+0  1>2 0<0  0>2 2<0\n"
            "2     1>0 0+1  0>0 2+1  2>0 1<1  1>0 0<1\n");
}

TEST(ScheduleTable, ShowsRangesOwnTermsAndIdleness) {
  EXPECT_THAT(to_table(make_schedule("halving-doubling", 4)), testing::HasSubstr("2-3>1 0-1+1"));
  EXPECT_THAT(to_table(make_schedule("one-shot", 2)), testing::HasSubstr("0>1 0own 0+1"));
  EXPECT_THAT(to_table(make_schedule("tree:segments=1", 4)), testing::HasSubstr("  .  "));
}

TEST(ScheduleTable, WrapsRoundsThatDoNotFit) {
  std::istringstream lines(to_table(make_schedule("ring", 8), 60));
  std::string line;
  std::getline(lines, line);  // the legend
  int headers = 0;
  while (std::getline(lines, line)) {
    EXPECT_LE(line.size(), 60u) << line;
    headers += line.starts_with("rank");
  }
  EXPECT_EQ(headers, 3);
}

TEST(ScheduleTable, ShowsASingleRankWithoutRounds) {
  EXPECT_THAT(to_table(make_schedule("ring", 1)),
              testing::StartsWith("ring: 1 rank, 1 chunk, 0 rounds;"));
}

}  // namespace
}  // namespace collbench
