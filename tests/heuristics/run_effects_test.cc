#include "heuristics/run_effects.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "heuristics/policies/regret.h"

namespace collbench {
namespace {

MeasuredTime timed_in(const std::string& batch, const std::string& algorithm, double us) {
  MeasuredTime row;
  row.system = "s";
  row.library = "l";
  row.algorithm = algorithm;
  row.scale = {16, 16};
  row.bytes = Bytes{256};
  row.batch = batch;
  row.time = row.low = row.high = Seconds{us * 1e-6};
  return row;
}

// The second run is half as fast again. "c" was measured on the fast day only.
std::vector<MeasuredTime> two_days() {
  return {timed_in("1", "a", 10), timed_in("1", "b", 20), timed_in("1", "c", 11),
          timed_in("2", "a", 15), timed_in("2", "b", 30.3)};
}

TEST(RunEffectsTest, WhatWasMeasuredOnAFastDayIsNotFasterForIt) {
  const std::vector<MeasuredTime> usual = without_run_effects(two_days());
  ASSERT_EQ(usual.size(), 5U);
  EXPECT_NEAR(usual[0].time / usual[3].time, 1, 0.01) << "a is a";
  EXPECT_NEAR(usual[2].time / usual[0].time, 1.1, 1e-9) << "within a run nothing changes";
  EXPECT_NEAR(usual[0].time.count() * usual[3].time.count(), 150e-12, 2e-12) << "nor the level";
}

TEST(RunEffectsTest, RegretComparesTimesOfTheSameRun) {
  const std::vector<RegretPoint> judged = regret_of("oracle", two_days());
  ASSERT_EQ(judged.size(), 1U);
  EXPECT_EQ(judged[0].best.algorithm, "a") << "by plain medians c: 11 beside 12.5 us";
  EXPECT_EQ(judged[0].chosen, "a");
}

TEST(RunEffectsTest, RunsOfTheSameAlgorithmsOrOfNoneInCommonKeepTheirTimes) {
  std::vector<MeasuredTime> same = two_days();
  same.erase(same.begin() + 2);
  std::vector<MeasuredTime> apart{timed_in("1", "a", 10), timed_in("2", "b", 30)};
  for (const std::vector<MeasuredTime>& rows : {same, apart}) {
    const std::vector<MeasuredTime> usual = without_run_effects(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_DOUBLE_EQ(usual[i].time.count(), rows[i].time.count()) << i;
    }
  }
}

TEST(RunEffectsTest, OtherPointsOfTheRunsDoNotCount) {
  std::vector<MeasuredTime> rows = two_days();
  for (MeasuredTime other : two_days()) {
    other.bytes = Bytes{1024};
    if (other.batch == "2") other.time *= 10;
    rows.push_back(other);
  }
  const std::vector<MeasuredTime> usual = without_run_effects(rows);
  EXPECT_NEAR(usual[0].time / usual[3].time, 1, 0.01);
  EXPECT_NEAR(usual[5].time / usual[8].time, 1, 0.01);
}

}  // namespace
}  // namespace collbench
