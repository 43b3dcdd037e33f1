#include "bench/records/record.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "bench/records/case_names.h"
#include "core/error.h"

namespace collbench {
namespace {

// Quantiles by numpy.quantile (NumPy 1.24), interval ranks by scipy.stats.binom (SciPy 1.10).
TEST(SummaryTest, QuantilesEqualNumPys) {
  const Summary s = summarize({812, 305, 977, 1204, 455, 390, 2210, 688, 701, 530, 641, 99, 1500});
  EXPECT_EQ(s.n, 13);
  EXPECT_DOUBLE_EQ(s.median_ns, 688.0);
  EXPECT_DOUBLE_EQ(s.min_ns, 99.0);
  EXPECT_DOUBLE_EQ(s.p25_ns, 455.0);
  EXPECT_DOUBLE_EQ(s.p75_ns, 977.0);
  EXPECT_NEAR(s.p95_ns, 1784.0, 1e-9);
  EXPECT_NEAR(s.p99_ns, 2124.8, 1e-9);
}

TEST(SummaryTest, IntervalOfTheMedianIsTheBinomialOne) {
  const Summary s = summarize({812, 305, 977, 1204, 455, 390, 2210, 688, 701, 530, 641, 99, 1500});
  EXPECT_DOUBLE_EQ(s.interval_low_ns, 390.0);
  EXPECT_DOUBLE_EQ(s.interval_high_ns, 1204.0);
  struct Row {
    std::int64_t n;
    std::int64_t rank;  // the largest l with P(Binomial(n, 1/2) < l) <= 2.5 %
  };
  for (const Row& row :
       {Row{6, 1}, Row{7, 1}, Row{10, 2}, Row{20, 6}, Row{50, 18}, Row{100, 40}, Row{101, 41},
        Row{500, 228}, Row{999, 469}, Row{1000, 469}, Row{2000, 956}}) {
    std::vector<std::int64_t> samples(static_cast<std::size_t>(row.n));
    std::iota(samples.rbegin(), samples.rend(), 1);
    const Summary ranks = summarize(samples);
    EXPECT_DOUBLE_EQ(ranks.interval_low_ns, static_cast<double>(row.rank)) << row.n;
    EXPECT_DOUBLE_EQ(ranks.interval_high_ns, static_cast<double>(row.n + 1 - row.rank)) << row.n;
  }
}

TEST(SummaryTest, FewSamplesGiveNoInterval) {
  const Summary one = summarize({7});
  EXPECT_DOUBLE_EQ(one.median_ns, 7);
  EXPECT_DOUBLE_EQ(one.p99_ns, 7);
  const Summary five = summarize({5, 1, 2, 4, 3});
  EXPECT_TRUE(std::isnan(five.interval_low_ns));
  EXPECT_TRUE(std::isnan(five.interval_high_ns));
  EXPECT_THROW(summarize(std::vector<std::int64_t>{}), InvalidArgument);
}

TEST(BandwidthTest, FollowsNcclTestsFormulas) {
  Record record;
  record.point.workers = 8;
  record.point.bytes = Bytes{1'000'000};
  const Seconds time{1e-3};
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(record, time).bytes_per_second, 1e9);
  EXPECT_DOUBLE_EQ(bus_bandwidth(record, time).bytes_per_second, 1.75e9);
  EXPECT_THROW(algorithm_bandwidth(record, Seconds{0}), InvalidArgument);
}

TEST(CaseNamesTest, AWholeNameSaysAllThatIsNotAsUsual) {
  Case point;
  point.algorithm = "ring";
  point.backend = "grpc";
  point.transport = "raw";
  EXPECT_EQ(whole_name(point), "ring/grpc/workers:2/0/f32/sum");
  point.transport = "tcp";
  point.in_place = false;
  EXPECT_EQ(whole_name(point), "ring/grpc.tcp/workers:2/0/f32/sum/out-of-place");
  point.devices = "gpu:0,gpu:1";
  point.calls = 7;
  point.buffers = Buffers::hot;
  EXPECT_EQ(whole_name(point),
            "ring/grpc.tcp/workers:2/0/f32/sum/out-of-place/buffers:hot/devices:gpu:0,gpu:1");
  point.simulated.topology = "star:2";
  point.simulated.seed = 3;
  EXPECT_TRUE(whole_name(point).ends_with("/on:star:2/devices:gpu:0,gpu:1/seed:3"));
  point.simulated.jitter = Seconds{1e-6};
  EXPECT_TRUE(whole_name(point).ends_with("/jitter:1 us:3/devices:gpu:0,gpu:1"))
      << whole_name(point);
  Case other;  // of another program
  other.algorithm = "BM_sort/8";
  other.workers = 1;
  EXPECT_EQ(whole_name(other), "BM_sort/8");
  other.statistic = "median";
  EXPECT_EQ(whole_name(other), "BM_sort/8/statistic:median");
}

TEST(BuffersTest, NamesReadBackAndUnknownOnesGetASuggestion) {
  for (const Buffers b : {Buffers::hot, Buffers::produced, Buffers::cold}) {
    EXPECT_EQ(parse_buffers(to_string(b)), b);
  }
  try {
    parse_buffers("hott");
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean 'hot'?"), std::string::npos);
  }
}

}  // namespace
}  // namespace collbench
