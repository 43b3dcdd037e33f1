#include "topologies/machine.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topologies/routes.h"

namespace collbench {
namespace {

using ::testing::Each;
using ::testing::Ge;
using ::testing::HasSubstr;

Costs laddered() {
  Costs costs;
  costs.message_latency = {{Bytes{0}, Seconds{1}}, {Bytes{100}, Seconds{5}}};
  costs.wire_factor = 1.5;
  costs.message_cap = {80};
  costs.protocols = {{.name = "LL",
                      .wire_factor = 2,
                      .message_latency = {Seconds{10}, Seconds{20}},
                      .message_cap = {{30}, {0}},
                      .source = "a test"}};
  return costs;
}

TEST(MessageCostTest, LatencyIsThatOfTheLargestStepNotAboveTheSize) {
  const Costs costs = laddered();
  EXPECT_EQ(message_cost(costs, nullptr, 99, 0).latency, Seconds{1});
  EXPECT_EQ(message_cost(costs, nullptr, 100, 0).latency, Seconds{5});
  EXPECT_EQ(message_cost({}, nullptr, 100, 0).latency, Seconds{0});
}

TEST(MessageCostTest, AProtocolAddsLatencyInflatesAndCapsByLevel) {
  const Costs costs = laddered();
  const MessageCost inside = message_cost(costs, &costs.protocols[0], 1, 0);
  EXPECT_EQ(inside.latency, Seconds{11});
  EXPECT_DOUBLE_EQ(inside.wire_factor, 3);
  EXPECT_DOUBLE_EQ(inside.cap, 30);
  const MessageCost between = message_cost(costs, &costs.protocols[0], 1, 5);  // as the last level
  EXPECT_EQ(between.latency, Seconds{21});
  EXPECT_DOUBLE_EQ(between.cap, 80);
}

TEST(MessageGapsTest, AllWaitButTheOneWithTheLargestGap) {
  Costs costs;
  EXPECT_FALSE(has_message_gaps(costs, nullptr));
  costs.protocols = {{.name = "LL",
                      .message_latency = {},
                      .message_cap = {},
                      .source = "a test",
                      .message_gap = {Seconds{0}, Seconds{4}}}};
  const Protocol* protocol = costs.protocols.data();
  EXPECT_TRUE(has_message_gaps(costs, protocol));
  costs.message_gap = {Seconds{1}};
  EXPECT_TRUE(has_message_gaps(costs, nullptr));
  MessageGaps gaps;
  EXPECT_EQ(gaps.beyond_one(costs, protocol), Seconds{0});
  gaps.add(9);  // as level 1, the last with a gap
  EXPECT_EQ(gaps.beyond_one(costs, protocol), Seconds{0});
  gaps.add(0);
  gaps.add(0);
  EXPECT_EQ(gaps.beyond_one(costs, protocol), Seconds{2});
  gaps.add(1);
  EXPECT_EQ(gaps.beyond_one(costs, protocol), Seconds{7});
  EXPECT_EQ(gaps.beyond_one(costs, nullptr), Seconds{3});
}

TEST(StartTimesTest, JitterIsExponentialAndReproducible) {
  const Disturbance disturbance{.jitter = Seconds{2e-3}, .seed = 7, .stragglers = {}};
  const std::vector<Seconds> starts = start_times(disturbance, 20000);
  EXPECT_EQ(starts, start_times(disturbance, 20000));
  EXPECT_NE(starts, start_times({.jitter = Seconds{2e-3}, .seed = 8, .stragglers = {}}, 20000));
  EXPECT_THAT(starts, Each(Ge(Seconds{0})));
  double sum = 0;
  int above_mean = 0;
  for (const Seconds start : starts) {
    sum += start.count();
    above_mean += start.count() > 2e-3 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 20000, 2e-3, 6e-5);             // 4 standard errors
  EXPECT_NEAR(above_mean / 20000.0, 0.368, 0.014);  // 1/e
}

TEST(StartTimesTest, StragglersAreDelayedAndMustExist) {
  const std::vector<Seconds> starts = start_times({.stragglers = {{2, Seconds{3}}}}, 4);
  EXPECT_EQ(starts[2], Seconds{3});
  EXPECT_EQ(starts[1], Seconds{0});
  EXPECT_THAT(refusal([] {
                start_times({.stragglers = {{4, Seconds{3}}}}, 4);
              }),
              HasSubstr("straggler 4 does not exist; ranks are 0 to 3"));
  EXPECT_THAT(refusal([] {
                start_times({.stragglers = {{1, Seconds{-3}}}}, 4);
              }),
              HasSubstr("must not be negative"));
}

TEST(StartTimesTest, JitterIsATime) {
  for (const double seconds : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(refusal([&] { start_times({.jitter = Seconds{seconds}}, 4); }),
                HasSubstr("the jitter of starts must be at least 0 s"))
        << seconds;
  }
}

}  // namespace
}  // namespace collbench
