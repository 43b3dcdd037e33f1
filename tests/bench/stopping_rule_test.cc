#include "bench/measure/stopping_rule.h"

#include <gtest/gtest.h>

namespace collbench {
namespace {

constexpr Seconds no_time{0};

std::vector<std::int64_t> constant(int n, std::int64_t ns) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(n), ns);
}

// As noisy as it gets: half the samples fast, half of them three times slower.
std::vector<std::int64_t> noisy(int n, std::int64_t ns) {
  std::vector<std::int64_t> samples;
  for (int i = 0; i < n; ++i) samples.push_back(i % 2 == 0 ? ns : 3 * ns);
  return samples;
}

TEST(StoppingRuleTest, FixedIterationsAreMadeExactlyInBatches) {
  Sampling sampling;
  sampling.iterations = 600;
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.next({}, no_time), 256);
  EXPECT_EQ(rule.next(constant(256, 5), no_time), 256);
  EXPECT_EQ(rule.next(constant(512, 5), Seconds{1e6}), 88);
  EXPECT_EQ(rule.next(constant(600, 5), no_time), 0);
}

TEST(StoppingRuleTest, StopsAtTenWhenTheIntervalIsNarrow) {
  const StoppingRule rule{Sampling{}};
  EXPECT_EQ(rule.next({}, no_time), 10);
  EXPECT_EQ(rule.next(constant(10, 1000), no_time), 0);
}

TEST(StoppingRuleTest, GoesOnWhileTheIntervalIsWide) {
  const StoppingRule rule{Sampling{}};
  EXPECT_EQ(rule.next(noisy(10, 1000), no_time), 10);
  EXPECT_EQ(rule.next(noisy(100, 1000), no_time), 50);
  EXPECT_EQ(rule.next(noisy(1000, 1000), no_time), 256);
  EXPECT_EQ(rule.next(noisy(1900, 1000), no_time), 100);
  EXPECT_EQ(rule.next(noisy(2000, 1000), no_time), 0);
}

TEST(StoppingRuleTest, TargetDecidesWhatIsNarrow) {
  Sampling sampling;
  // Median 1000, interval of ten samples from the 2nd to the 9th: 990 to 1010, so +-1 %.
  const std::vector<std::int64_t> samples = {990,  990,  995,  1000, 1000,
                                             1000, 1000, 1005, 1010, 1010};
  sampling.target_interval = 0.01;
  EXPECT_EQ(StoppingRule(sampling).next(samples, no_time), 0);
  sampling.target_interval = 0.0099;
  EXPECT_GT(StoppingRule(sampling).next(samples, no_time), 0);
}

TEST(StoppingRuleTest, StopsWhenTheTimeIsSpent) {
  Sampling sampling;
  sampling.max_time = Seconds{1};
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.next(noisy(10, 50'000'000), no_time), 0);  // exactly 1 s timed
  EXPECT_EQ(rule.next(noisy(10, 40'000'000), no_time), 2);  // 0.8 s timed, 0.08 s each
  EXPECT_EQ(rule.next(noisy(20, 1'000'000), Seconds{4}), 0);
  EXPECT_EQ(rule.next(noisy(20, 1'000'000), Seconds{3.5}), 2);  // 0.175 s each, 0.5 s are left
}

TEST(StoppingRuleTest, TenAreMadeHoweverSlow) {
  Sampling sampling;
  sampling.max_time = Seconds{1};
  EXPECT_EQ(StoppingRule(sampling).next(noisy(3, 2'000'000'000), Seconds{100}), 7);
}

TEST(StoppingRuleTest, WarmUpIsATenthOfTheExpectedIterations) {
  Sampling sampling;
  sampling.warmup = 5;
  sampling.max_time = Seconds{1};
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.warmup(Seconds{1e-6}), 200);
  EXPECT_EQ(rule.warmup(Seconds{1e-3}), 100);
  EXPECT_EQ(rule.warmup(Seconds{0.5}), 5);
  EXPECT_EQ(rule.warmup(Seconds{0}), 200);
  sampling.iterations = 30;
  EXPECT_EQ(StoppingRule(sampling).warmup(Seconds{1e-6}), 5);
}

}  // namespace
}  // namespace collbench
