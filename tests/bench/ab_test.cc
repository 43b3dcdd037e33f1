// The interleaved comparison over runs that are made up: what it calls slower, and how it stops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/verdict_runs.h"

#include "bench/verdicts/ab_rounds.h"
#include "bench/verdicts/verdict_rules.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr Noise shared_runner{0.08, 0.03, 0.98, 0.10, 0.7};
constexpr Noise quiet_runner{0.02, 0.005, 0.98, 0.02, 0.3};

struct Caught {
  int jobs_slower = 0;
  int slower = 0;
  int cases = 0;
};

Caught jobs_with(const Noise& noise, double slowdown, int jobs) {
  Caught caught;
  for (int job = 0; job < jobs; ++job) {
    const auto seed = static_cast<std::uint64_t>(job);
    SyntheticRuns runs(noise, 6, slowdown, 6, seed);
    const Comparison comparison = run_ab(plan_over(runs, seed));
    const int slower = count(comparison, VerdictOutcome::slower);
    caught.jobs_slower += slower > 0 ? 1 : 0;
    caught.slower += slower;
    caught.cases += static_cast<int>(comparison.verdicts.size());
  }
  return caught;
}

TEST(Ab, RaisesFalseAlarmsInAtMostOneJobOfAHundred) {
  EXPECT_LE(jobs_with(shared_runner, 0, 200).jobs_slower, 2);
}

TEST(Ab, CatchesASlowdownOf20PercentInMostCasesAndOf50InNearlyAll) {
  const Caught some = jobs_with(shared_runner, 0.2, 20);
  EXPECT_GE(some.slower, 0.7 * some.cases);
  const Caught much = jobs_with(shared_runner, 0.5, 20);
  EXPECT_GE(much.slower, 0.9 * much.cases);
}

TEST(Ab, OnlySuspectsAreMeasuredAfreshAndOnlyTheSlowOnesAreCalledSo) {
  SyntheticRuns runs(quiet_runner, 4, 0.3, 1, 3);
  AbPlan plan = plan_over(runs, 3);
  std::vector<int> confirmed_workers;
  plan.measure = [&](const AbTask& task) {
    if (task.confirms) confirmed_workers.push_back(task.only.front().workers);
    return runs.measure(task);
  };
  const Comparison comparison = run_ab(plan);
  ASSERT_EQ(comparison.verdicts.size(), 4u);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::slower);
  EXPECT_TRUE(comparison.verdicts[0].confirmation);
  EXPECT_NEAR(*ratio_of(comparison.verdicts[0]), 1.3, 0.05);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(comparison.verdicts[i].outcome, VerdictOutcome::same) << i;
  EXPECT_THAT(confirmed_workers, testing::Each(2));
  EXPECT_THAT(failures(comparison), testing::ElementsAre(&comparison.verdicts[0]));
}

TEST(Ab, WithoutFreshRoundsThoseOfScreeningDecide) {
  SyntheticRuns runs(quiet_runner, 4, 0.8, 1, 3);
  AbPlan plan = plan_over(runs, 3);
  plan.rounds = 20;
  plan.confirm_rounds = 0;
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::slower);
  EXPECT_FALSE(comparison.verdicts[0].confirmation);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(comparison.verdicts[i].outcome, VerdictOutcome::same) << i;
}

TEST(Ab, NoRoundsAreAdvisedWhereTheIntervalIsBeyondTheThresholdAlready) {
  RatioEstimate estimate;
  estimate.base_rounds = estimate.head_rounds = 4;
  estimate.ratio = 1.3;
  estimate.low = 1.02;
  estimate.high = 1.6;
  EXPECT_GT(rounds_needed(estimate, 0.05), 4);
  estimate.low = 1.2;
  EXPECT_EQ(rounds_needed(estimate, 0.05), 0);
}

TEST(Ab, ASpeedupIsFasterAndFailsNothing) {
  SyntheticRuns runs(quiet_runner, 2, -0.3, 1, 4);
  const Comparison comparison = run_ab(plan_over(runs, 4));
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::faster);
  EXPECT_THAT(failures(comparison), testing::IsEmpty());
}

TEST(Ab, EqualSeedsGiveEqualVerdicts) {
  std::vector<double> ratios;
  for (int i = 0; i < 2; ++i) {
    SyntheticRuns runs(shared_runner, 3, 0.1, 3, 5);
    ratios.push_back(*ratio_of(run_ab(plan_over(runs, 5)).verdicts[0]));
  }
  EXPECT_EQ(ratios[0], ratios[1]);
}

TEST(Ab, TheNoiseArmShowsWhatBaseAgainstItselfDiffersBy) {
  SyntheticRuns runs(shared_runner, 3, 0.5, 3, 6);
  const Comparison comparison = run_ab(plan_over(runs, 6));
  ASSERT_NE(worst_noise(comparison), nullptr);
  EXPECT_LT(std::abs(worst_noise(comparison)->ratio - 1), 0.3);
}

TEST(Ab, AStopKeepsTheWholeRoundsAndSaysSo) {
  SyntheticRuns runs(quiet_runner, 2, 0, 2, 7);
  AbPlan plan = plan_over(runs, 7);
  plan.stop_requested = [&] { return std::string(runs.processes() >= 7 ? "SIGINT" : ""); };
  plan.measure = [&](const AbTask& task) {
    auto file = runs.measure(task);
    return runs.processes() > 7 ? std::nullopt : file;
  };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.stopped_by, "SIGINT");
  EXPECT_EQ(comparison.rounds, 2);
  ASSERT_EQ(comparison.verdicts.size(), 2u);
  EXPECT_EQ(comparison.verdicts[0].base->rounds_ns.size(), 2u);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::inconclusive);
}

TEST(Ab, TheBudgetEndsScreeningInTimeForConfirmation) {
  SyntheticRuns runs(quiet_runner, 2, 0.5, 2, 8);
  AbPlan plan = plan_over(runs, 8);
  plan.now = [&] { return Seconds{static_cast<double>(runs.processes())}; };
  plan.budget = Seconds{100};
  plan.rounds = 1000;
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.rounds, 20);  // of three processes: 60 % of the budget
  EXPECT_LE(runs.processes(), 100);
  EXPECT_EQ(count(comparison, VerdictOutcome::slower), 2);
}

TEST(Ab, FewRoundsAreInconclusiveWithAWarning) {
  SyntheticRuns runs(shared_runner, 2, 0.5, 2, 9);
  AbPlan plan = plan_over(runs, 9);
  plan.rounds = 2;
  plan.confirm_rounds = 0;
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(count(comparison, VerdictOutcome::inconclusive), 2);
  EXPECT_THAT(comparison.warnings, testing::ElementsAre(testing::HasSubstr("2 rounds")));
  plan.rounds = 0;
  EXPECT_THROW(run_ab(plan), InvalidArgument);
}

TEST(Ab, FewRoundsThatShowAllChangesAreNoWarning) {
  Comparison comparison;
  comparison.rounds = 4;
  comparison.verdicts.resize(2);
  for (Verdict& verdict : comparison.verdicts) verdict.outcome = VerdictOutcome::slower;
  warn_of_few_rounds(comparison);
  EXPECT_THAT(comparison.warnings, testing::IsEmpty());
  comparison.verdicts[1].outcome = VerdictOutcome::inconclusive;
  warn_of_few_rounds(comparison);
  EXPECT_THAT(comparison.warnings, testing::ElementsAre(testing::HasSubstr("4 rounds")));
}

TEST(Ab, AWrongResultOfHeadIsWrongWhateverTheTimes) {
  SyntheticRuns runs(quiet_runner, 2, 0, 2, 10);
  AbPlan plan = plan_over(runs, 10);
  plan.measure = [&](const AbTask& task) {
    auto file = runs.measure(task);
    if (task.arm == AbArm::head) file->records[1].measurement.wrong = 3;
    return file;
  };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.verdicts[1].outcome, VerdictOutcome::wrong);
  EXPECT_THAT(comparison.verdicts[1].reason, testing::HasSubstr("3 elements"));
}

}  // namespace
}  // namespace collbench
