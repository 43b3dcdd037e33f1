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
  EXPECT_EQ(rule.next({}, no_time, no_time), 256);
  EXPECT_EQ(rule.next(constant(256, 5), no_time, no_time), 256);
  EXPECT_EQ(rule.next(constant(512, 5), Seconds{1e6}, no_time), 88);
  EXPECT_EQ(rule.next(constant(600, 5), no_time, no_time), 0);
}

TEST(StoppingRuleTest, NoBatchKeepsAStopSignalWaiting) {
  Sampling sampling;
  sampling.iterations = 600;
  EXPECT_EQ(StoppingRule(sampling).next({}, no_time, Seconds{0.01}), 20);
  EXPECT_EQ(StoppingRule(sampling).next({}, no_time, Seconds{3600}), 1);
  EXPECT_EQ(StoppingRule(sampling).next_warmup(1, no_time, Seconds{0.1}), 2);
}

TEST(StoppingRuleTest, StopsAtTenWhenTheIntervalIsNarrow) {
  const StoppingRule rule{Sampling{}};
  EXPECT_EQ(rule.next({}, no_time, no_time), 5);
  EXPECT_EQ(rule.next(constant(5, 1000), no_time, no_time), 5);
  EXPECT_EQ(rule.next(constant(10, 1000), no_time, no_time), 0);
}

TEST(StoppingRuleTest, GoesOnWhileTheIntervalIsWide) {
  const StoppingRule rule{Sampling{}};
  EXPECT_EQ(rule.next(noisy(10, 1000), no_time, no_time), 10);
  EXPECT_EQ(rule.next(noisy(100, 1000), no_time, no_time), 50);
  EXPECT_EQ(rule.next(noisy(1000, 1000), no_time, no_time), 256);
  EXPECT_EQ(rule.next(noisy(1900, 1000), no_time, no_time), 100);
  EXPECT_EQ(rule.next(noisy(2000, 1000), no_time, no_time), 0);
}

TEST(StoppingRuleTest, TargetDecidesWhatIsNarrow) {
  Sampling sampling;
  // Median 1000, interval of ten samples from the 2nd to the 9th: 990 to 1010, so +-1 %.
  const std::vector<std::int64_t> samples = {990,  990,  995,  1000, 1000,
                                             1000, 1000, 1005, 1010, 1010};
  sampling.target_interval = 0.01;
  EXPECT_EQ(StoppingRule(sampling).next(samples, no_time, no_time), 0);
  sampling.target_interval = 0.0099;
  EXPECT_GT(StoppingRule(sampling).next(samples, no_time, no_time), 0);
}

TEST(StoppingRuleTest, StopsWhenTheTimeIsSpent) {
  Sampling sampling;
  sampling.max_time = Seconds{1};
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.next(noisy(20, 1'000'000), Seconds{0.65}, Seconds{0.01}), 0);
  EXPECT_EQ(rule.next(noisy(20, 1'000'000), Seconds{0.60}, Seconds{0.01}), 5)
      << "at the pace of the wall, of which the samples are a tenth";
  EXPECT_EQ(rule.next(noisy(7, 1'000'000), Seconds{0.8}, Seconds{0.01}), 0);
}

TEST(StoppingRuleTest, HalfTheTimeIsEnoughToSeeThatTheIntervalStaysFarTooWide) {
  Sampling sampling;
  sampling.max_time = Seconds{1};
  const Seconds early{0.3};
  const Seconds late{0.4};
  const Seconds pace{0.002};
  EXPECT_GT(StoppingRule(sampling).next(noisy(100, 1'000'000), early, pace), 0);
  EXPECT_EQ(StoppingRule(sampling).next(noisy(100, 1'000'000), late, pace), 0);
  EXPECT_GT(StoppingRule(sampling).next(noisy(29, 1'000'000), late, pace), 0) << "too few to tell";
  sampling.target_interval = 0.1;  // half of the interval is 0.5 of the median: five times too wide
  EXPECT_GT(StoppingRule(sampling).next(noisy(100, 1'000'000), late, pace), 0);
  sampling.target_interval = 0;  // all of the time is asked for
  EXPECT_GT(StoppingRule(sampling).next(noisy(100, 1'000'000), late, pace), 0);
}

TEST(StoppingRuleTest, FiveAreMadeHoweverSlow) {
  Sampling sampling;
  sampling.max_time = Seconds{1};
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.next(noisy(3, 2'000'000'000), Seconds{100}, no_time), 2);
  EXPECT_EQ(rule.next(noisy(3, 2'000'000'000), Seconds{100}, Seconds{2}), 1);
  EXPECT_EQ(rule.next(noisy(5, 2'000'000'000), Seconds{100}, Seconds{2}), 0);
}

TEST(StoppingRuleTest, WarmUpIsATenthOfTheExpectedIterations) {
  Sampling sampling;
  sampling.warmup = 5;
  sampling.max_time = Seconds{1};
  const StoppingRule rule(sampling);
  EXPECT_EQ(rule.next_warmup(0, no_time, no_time), 1);
  EXPECT_EQ(rule.next_warmup(1, no_time, Seconds{1e-6}), 199);
  EXPECT_EQ(rule.next_warmup(1, no_time, Seconds{1e-3}), 99);
  EXPECT_EQ(rule.next_warmup(100, no_time, Seconds{1e-3}), 0);
  EXPECT_EQ(rule.next_warmup(1, Seconds{0.1}, Seconds{0.04}), 2) << "a fifth of the time";
  EXPECT_EQ(rule.next_warmup(1, Seconds{0.3}, Seconds{0.3}), 0);
  sampling.iterations = 30;
  EXPECT_EQ(StoppingRule(sampling).next_warmup(1, Seconds{100}, Seconds{1e-6}), 4);
  sampling.warmup = 0;
  EXPECT_EQ(StoppingRule(sampling).next_warmup(0, no_time, no_time), 0);
}

}  // namespace
}  // namespace collbench
