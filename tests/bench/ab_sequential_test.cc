// The sequential comparison over runs that are made up: where it spends its budget, when it ends,
// and how often it is wrong.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/verdict_runs.h"

#include "bench/verdicts/verdict_rules.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr Noise shared_machine{0.08, 0.03, 0.98, 0.10, 0.7};
constexpr Noise quiet_machine{0.02, 0.005, 0.98, 0.02, 0.3};
constexpr Seconds two_minutes{120};

Comparison sequential(SyntheticRuns& runs, std::uint64_t seed, Seconds budget = two_minutes) {
  return run_ab(sequential_over(runs, seed, budget));
}

TEST(AbSequential, DecidesSameForEqualBinariesOnAQuietMachineBeforeTheBudgetEnds) {
  SyntheticRuns runs(quiet_machine, 12, 0, 0, 1);
  const Comparison comparison = sequential(runs, 1);
  EXPECT_EQ(count(comparison, VerdictOutcome::same), 12);
  EXPECT_LT(runs.elapsed().count(), 60);
  EXPECT_EQ(comparison.stopped_by, "");
}

TEST(AbSequential, DecidesMostEqualCasesOfASharedMachineWhereFixedRoundsDecideNone) {
  int decided = 0;
  int fixed = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SyntheticRuns runs(shared_machine, 12, 0, 0, seed);
    decided += count(sequential(runs, seed, Seconds{180}), VerdictOutcome::same);
    SyntheticRuns same_runs(shared_machine, 12, 0, 0, seed);
    fixed += count(run_ab(plan_over(same_runs, seed)), VerdictOutcome::same);
  }
  EXPECT_GE(decided, 29);  // 80 % of 36
  EXPECT_LE(fixed, 4);
}

TEST(AbSequential, RaisesFalseAlarmsInAtMostOneJobOfAHundred) {
  int alarms = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SyntheticRuns runs(shared_machine, 4, 0, 0, seed);
    const Comparison comparison = sequential(runs, seed, Seconds{15});
    alarms += count(comparison, VerdictOutcome::slower) > 0 ? 1 : 0;
  }
  EXPECT_LE(alarms, 1);
}

TEST(AbSequential, FindsTenPercentInOneCaseAndCallsNoOtherSlower) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SyntheticRuns runs(shared_machine, 12, 0.1, 1, seed);
    const Comparison comparison = sequential(runs, seed, Seconds{180});
    const int slowed = comparison.verdicts[0].outcome == VerdictOutcome::slower ? 1 : 0;
    EXPECT_EQ(count(comparison, VerdictOutcome::slower), slowed) << seed;
    found += slowed;
  }
  EXPECT_GE(found, 3);
}

TEST(AbSequential, DecidedCasesGetNoFurtherRounds) {
  SyntheticRuns runs(quiet_machine, 3, 0.05, 1, 3);  // the first lies on the threshold
  AbPlan plan = sequential_over(runs, 3, Seconds{30});
  std::vector<std::size_t> measured;
  plan.measure = [&](const AbTask& task) {
    measured.push_back(task.only.size());
    return runs.measure(task);
  };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::inconclusive);
  EXPECT_EQ(comparison.stopped_by, "budget");
  EXPECT_GE(runs.elapsed().count(), 29);
  EXPECT_LE(runs.elapsed().count(), 30.1);
  EXPECT_EQ(measured.front(), 0u);  // all
  EXPECT_EQ(measured.back(), 1u);
  const int rounds = comparison.verdicts[0].ratio->head_rounds;
  EXPECT_EQ(rounds, comparison.rounds);
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_EQ(comparison.verdicts[i].outcome, VerdictOutcome::same) << i;
    EXPECT_LT(comparison.verdicts[i].ratio->head_rounds, rounds / 3) << i;
    EXPECT_EQ(comparison.verdicts[i].head->rounds_ns.size(),
              static_cast<std::size_t>(comparison.verdicts[i].ratio->head_rounds));
  }
}

TEST(AbSequential, ALargeSlowdownIsCalledAtAnEarlyLook) {
  SyntheticRuns runs(quiet_machine, 2, 0.5, 2, 4);
  const Comparison comparison = sequential(runs, 4);
  EXPECT_EQ(count(comparison, VerdictOutcome::slower), 2);
  EXPECT_LT(runs.elapsed().count(), 30);
}

TEST(AbSequential, TheLooksSpendAlphaOnce) {
  const std::vector<double> looks = sequential_looks();
  EXPECT_TRUE(std::is_sorted(looks.begin(), looks.end()));
  EXPECT_EQ(looks.back(), 1);
  // One case at the edge of alpha is shown by one look with all of alpha, not by one with a third.
  RatioEstimate edge;
  edge.p_slower = 0.009;
  const GateRule rule;
  EXPECT_EQ(confirmed(std::vector{edge}, rule, 1).front(), VerdictOutcome::slower);
  EXPECT_EQ(confirmed(std::vector{edge}, rule, 1 - looks[looks.size() - 2]).front(),
            VerdictOutcome::inconclusive);
}

TEST(AbSequential, ARowShowsTheEstimateThatDecides) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    SyntheticRuns runs(shared_machine, 4, 0.1, 2, seed);
    SyntheticRuns same_runs(shared_machine, 4, 0.1, 2, seed);
    for (const Comparison& comparison :
         {sequential(runs, seed, Seconds{20}), run_ab(plan_over(same_runs, seed))}) {
      for (const Verdict& verdict : comparison.verdicts) {
        EXPECT_NEAR(verdict.head->typical_ns / verdict.base->typical_ns, deciding(verdict)->ratio,
                    1e-9);
        EXPECT_THAT(verdict.reason, testing::HasSubstr(percent_text(*ratio_of(verdict))));
      }
    }
  }
}

TEST(AbSequential, AStopShowsWhatThereIs) {
  SyntheticRuns runs(quiet_machine, 2, 0, 2, 7);
  AbPlan plan = sequential_over(runs, 7, two_minutes);
  plan.stop_requested = [&] { return std::string(runs.processes() >= 4 ? "SIGINT" : ""); };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.stopped_by, "SIGINT");
  EXPECT_EQ(comparison.rounds, 2);
  EXPECT_EQ(count(comparison, VerdictOutcome::inconclusive), 2);
  EXPECT_THAT(comparison.warnings, testing::ElementsAre(testing::HasSubstr("2 rounds")));
}

TEST(AbSequential, AWrongCaseIsMeasuredNoFurtherAndABudgetOfNothingIsRefused) {
  SyntheticRuns runs(quiet_machine, 2, 0, 2, 10);
  AbPlan plan = sequential_over(runs, 10, two_minutes);
  plan.measure = [&](const AbTask& task) {
    auto file = runs.measure(task);
    for (Record& record : file->records) {
      if (task.arm == AbArm::head && record.point.workers == 3) record.measurement.wrong = 3;
    }
    return file;
  };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.verdicts[1].outcome, VerdictOutcome::wrong);
  EXPECT_EQ(comparison.verdicts[1].head->rounds_ns.size(), 1u);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::same);
  plan.budget = Seconds{0};
  EXPECT_THROW(run_ab(plan), InvalidArgument);
}

}  // namespace
}  // namespace collbench
