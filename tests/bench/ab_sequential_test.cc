// The sequential comparison over runs that are made up: where it spends its budget, when it ends,
// and how often it is wrong.
#include <algorithm>
#include <cmath>
#include <set>

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
              static_cast<std::size_t>(2 * comparison.verdicts[i].ratio->head_rounds));
  }
}

TEST(AbSequential, ALargeSlowdownIsCalledAtAnEarlyLook) {
  SyntheticRuns runs(quiet_machine, 2, 0.5, 2, 4);
  const Comparison comparison = sequential(runs, 4);
  EXPECT_EQ(count(comparison, VerdictOutcome::slower), 2);
  EXPECT_LT(runs.elapsed().count(), 30);
}

TEST(AbSequential, ARoundHasSeveralStartsOfEachSideInRandomOrder) {
  SyntheticRuns runs(quiet_machine, 1, 0.05, 1, 5);  // on the threshold: never decided
  AbPlan plan = sequential_over(runs, 5, Seconds{20});
  std::string order;
  plan.measure = [&](const AbTask& task) {
    order += task.arm == AbArm::base ? 'b' : 'h';
    return runs.measure(task);
  };
  const Comparison comparison = run_ab(plan);
  ASSERT_EQ(order.size() % 4, 0u);
  std::set<std::string> orders;
  for (std::size_t round = 0; round < order.size(); round += 4) {
    orders.insert(order.substr(round, 4));
    EXPECT_EQ(std::count(order.begin() + static_cast<std::ptrdiff_t>(round),
                         order.begin() + static_cast<std::ptrdiff_t>(round) + 4, 'b'),
              2);
  }
  EXPECT_EQ(orders.size(), 6u);  // all there are
  EXPECT_EQ(static_cast<std::size_t>(comparison.rounds), order.size() / 4);
  plan.starts = 0;
  EXPECT_THROW(run_ab(plan), InvalidArgument);
}

TEST(AbSequential, WhatTheMachineDoesFromRoundToRoundPartsNoSides) {
  // The level moves by factors of up to 20 between rounds, on both sides alike.
  std::vector<double> base;
  std::vector<double> head;
  RandomEngine random = random_engine(9, "jumps");
  std::normal_distribution<double> noise(0, 0.02);
  for (int round = 0; round < 30; ++round) {
    const double level = 1e6 * std::exp(0.1 * (round * 7 % 30));
    for (int start = 0; start < 2; ++start) {
      base.push_back(level * std::exp(noise(random)));
      head.push_back(level * std::exp(noise(random)));
    }
  }
  EXPECT_TRUE(is_within(estimate_within_rounds(base, head, 30, 0.05), 0.05));
  EXPECT_FALSE(is_within(estimate_ratio(base, head, 0.05, Order::apart), 0.05));
}

TEST(AbSequential, DecidesMostEqualCasesUnderTwentyPercentOfNoise) {
  int open = 0;
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    SyntheticRuns runs(Noise{0.20, 0, 0, 0, 0}, 12, 0, 0, seed);
    const Comparison comparison = sequential(runs, seed, Seconds{300});
    open += count(comparison, VerdictOutcome::inconclusive);
    EXPECT_EQ(count(comparison, VerdictOutcome::slower), 0);
    EXPECT_EQ(count(comparison, VerdictOutcome::faster), 0);
  }
  EXPECT_LE(open, 8);  // a third of 24
}

TEST(AbSequential, TheLooksSpendAlphaOnce) {
  const std::vector<double> looks = sequential_looks();
  EXPECT_TRUE(std::is_sorted(looks.begin(), looks.end()));
  EXPECT_EQ(looks.back(), 1);
  EXPECT_EQ(spent_until(0), 0);
  EXPECT_EQ(spent_until(1), 1);
  double total = 0;
  double before = 0;
  for (const double look : looks) {
    EXPECT_GT(spent_until(look) - before, 0);
    total += spent_until(look) - before;
    before = spent_until(look);
  }
  EXPECT_DOUBLE_EQ(total, 1);
  // One case at the edge of alpha is shown by one look with all of alpha, not by one with a part.
  RatioEstimate edge;
  edge.p_slower = 0.009;
  const GateRule rule;
  EXPECT_EQ(confirmed(std::vector{edge}, rule, 1).front(), VerdictOutcome::slower);
  EXPECT_EQ(confirmed(std::vector{edge}, rule, 1 - spent_until(looks[looks.size() - 2])).front(),
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
  plan.stop_requested = [&] { return std::string(runs.processes() >= 8 ? "SIGINT" : ""); };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.stopped_by, "SIGINT");
  EXPECT_EQ(comparison.rounds, 2);
  EXPECT_EQ(count(comparison, VerdictOutcome::inconclusive), 2);
  EXPECT_THAT(comparison.warnings, testing::ElementsAre(testing::HasSubstr("2 rounds")));
}

TEST(AbSequential, ACaseThatHeadLosesNowAndThenIsMissing) {
  SyntheticRuns runs(quiet_machine, 3, 0, 3, 11);
  AbPlan plan = sequential_over(runs, 11, Seconds{20});
  int starts = 0;
  plan.measure = [&](const AbTask& task) {
    auto file = runs.measure(task);
    const int lost = ++starts % 3 != 0 ? 0 : task.arm == AbArm::head ? 2 : 4;
    if (starts > 4)
      std::erase_if(file->records, [&](const Record& r) { return r.point.workers == lost; });
    return file;
  };
  const Comparison comparison = run_ab(plan);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::missing);
  EXPECT_THAT(comparison.verdicts[0].reason, testing::HasSubstr("base in all"));
  EXPECT_EQ(comparison.verdicts[1].outcome, VerdictOutcome::same);
  EXPECT_NE(comparison.verdicts[2].outcome, VerdictOutcome::missing);
  EXPECT_THAT(comparison.warnings, testing::Contains(testing::HasSubstr("base has it in")));
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
  EXPECT_EQ(comparison.verdicts[1].head->rounds_ns.size(), 2u);  // those of one round
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::same);
  plan.budget = Seconds{0};
  EXPECT_THROW(run_ab(plan), InvalidArgument);
}

}  // namespace
}  // namespace collbench
