// The proof of every registered algorithm: an all-reduce for 1 to 40 ranks and for larger samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"

#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

class EverySpec : public testing::TestWithParam<std::string> {};

void expect_proof(const std::string& text, int ranks) {
  const AlgorithmSpec spec = parse_algorithm_spec(text);
  const Verification verification = verify_allreduce(make_schedule(spec, ranks));
  ASSERT_TRUE(verification.ok()) << text << " with " << ranks
                                 << " ranks: " << verification.violations[0].what;
  if (is_replica_consistent(spec)) {
    EXPECT_TRUE(verification.replica_consistent) << text << " with " << ranks << " ranks";
  }
}

TEST_P(EverySpec, ReducesEveryContributionExactlyOnceOnEveryRank) {
  for (int n = 1; n <= 40; ++n) {
    if (allows(GetParam(), n)) expect_proof(GetParam(), n);
  }
}

TEST_P(EverySpec, HoldsForLargerSamples) {
  for (const int n : {63, 64, 65, 97, 100, 128}) {
    if (allows(GetParam(), n)) expect_proof(GetParam(), n);
  }
}

TEST_P(EverySpec, HasNoRoundsForOneRankAlone) {
  if (!allows(GetParam(), 1)) return;
  EXPECT_EQ(make_schedule(GetParam(), 1).rounds(), 0);
}

TEST_P(EverySpec, RefusesImpossibleRankCountsSayingWhatIsPossible) {
  for (int n = 1; n <= 40; ++n) {
    if (allows(GetParam(), n)) continue;
    try {
      make_schedule(GetParam(), n);
      ADD_FAILURE() << GetParam() << " accepted " << n << " ranks";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), testing::StartsWith(parse_algorithm_spec(GetParam()).name + ":"));
      EXPECT_THAT(error.what(), testing::ContainsRegex("possible are|would fit|must be"));
    }
  }
}

TEST_P(EverySpec, TableEqualsFunction) {
  for (const int n : {1, 2, 7, 8, 12, 24}) {
    if (!allows(GetParam(), n)) continue;
    const Schedule schedule = make_schedule(GetParam(), n);
    const Schedule table = tabulate(schedule);
    ASSERT_EQ(table.rounds(), schedule.rounds());
    ASSERT_EQ(table.chunks(), schedule.chunks());
    Round expected;
    Round actual;
    for (Rank r = 0; r < n; ++r) {
      for (int t = 0; t < schedule.rounds(); ++t) {
        schedule.round(r, t, expected);
        table.round(r, t, actual);
        ASSERT_THAT(actual.ops(), testing::ElementsAreArray(expected.ops()));
      }
    }
  }
}

std::string spec_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EverySpec, testing::ValuesIn(tested_specs()), spec_name);

TEST(InconsistentOption, IsRefutedByTheVerifier) {
  for (const AlgorithmInfo& info : algorithms()) {
    if (info.inconsistent_option.empty()) continue;
    const std::string spec = std::string(info.name) + ":" + std::string(info.inconsistent_option);
    const Verification verification = verify_allreduce(make_schedule(spec, 16));
    EXPECT_TRUE(verification.ok()) << spec;
    EXPECT_FALSE(verification.replica_consistent) << spec;
  }
}

TEST(LatencySwing, AgreesBitByBitOnlyUpToFourRanks) {
  EXPECT_TRUE(verify_allreduce(make_schedule("swing:latency", 4)).replica_consistent);
  EXPECT_FALSE(verify_allreduce(make_schedule("swing:latency", 8)).replica_consistent);
}

}  // namespace
}  // namespace collbench
