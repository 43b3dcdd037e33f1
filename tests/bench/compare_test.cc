// Stored records: exact figures for equality, timed ones by their rounds, and what is refused.
#include "bench/verdicts/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/compare_records.h"
#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CompareExact, EqualFiguresAreTheSameOnAnyMachine) {
  RecordFile other = file_of({simulated("ring", 12.5, 112)});
  other.environment["host"] = "two";
  const Verdict verdict =
      only(compare_files(file_of({simulated("ring", 12.5, 112)}), other, GateRule{}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::same);
  EXPECT_TRUE(verdict.exact);
}

TEST(CompareExact, ALongerTimeIsSlowerWithEveryFigureThatDiffers) {
  const Comparison comparison = compare_files(file_of({simulated("ring", 12.5, 112)}),
                                              file_of({simulated("ring", 13.0, 120)}), {}, false);
  const Verdict verdict = only(comparison);
  EXPECT_EQ(verdict.outcome, VerdictOutcome::slower);
  EXPECT_EQ(verdict.reason, "simulated time 12.5 us -> 13 us, messages 112 -> 120");
  EXPECT_TRUE(fails(verdict, comparison.rule));
}

TEST(CompareExact, AFasterTimeFailsTooUnlessExactFiguresMayDiffer) {
  GateRule rule;
  const auto base = file_of({simulated("ring", 12.5, 112)});
  const Verdict verdict =
      only(compare_files(base, file_of({simulated("ring", 11, 112)}), rule, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::faster);
  EXPECT_TRUE(fails(verdict, rule));
  rule.fail_on_exact = false;
  EXPECT_FALSE(fails(verdict, rule));
}

TEST(CompareExact, OtherFiguresAtTheSameTimeAreChanged) {
  Record chosen = simulated("auto", 12.5, 112);
  chosen.algorithm_chosen = "ring";
  Record other = chosen;
  other.algorithm_chosen = "tree";
  const Verdict verdict = only(compare_files(file_of({chosen}), file_of({other}), {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::changed);
  ASSERT_EQ(verdict.changes.size(), 1u);
  EXPECT_EQ(verdict.changes[0].metric, "algorithm");
  EXPECT_EQ(verdict.changes[0].head, "tree");
}

TEST(CompareExact, ADifferenceBelowTheLastDigitsIsNone) {
  const Verdict verdict =
      only(compare_files(file_of({simulated("ring", 12.5, 112)}),
                         file_of({simulated("ring", 12.5 * (1 + 1e-13), 112)}), {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::same);
}

TEST(Compare, CasesOfOneFileOnlyAreMissingOrNew) {
  const Comparison comparison =
      compare_files(file_of({simulated("ring", 1, 1), simulated("tree", 1, 1)}),
                    file_of({simulated("tree", 1, 1), simulated("direct", 1, 1)}), {}, false);
  std::vector<std::string> outcomes;
  for (const Verdict& verdict : comparison.verdicts) {
    outcomes.push_back(verdict.point.algorithm + " " + std::string(to_string(verdict.outcome)));
  }
  EXPECT_THAT(outcomes, ElementsAre("ring missing", "tree same", "direct new"));
}

TEST(Compare, ACaseThatHeadSkippedIsMissingWithTheReason) {
  Record skipped = timed(2, 0, "");
  skipped.measurement = {};
  skipped.skipped = "no NCCL here";
  const Verdict verdict = only(compare_files(cycles(1, 1000), file_of({skipped}), {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::missing);
  EXPECT_THAT(verdict.reason, HasSubstr("no NCCL here"));
}

TEST(Compare, ACaseThatHeadSkipsInSomeRoundsOnlyIsMissingToo) {
  Record skipped = timed(2, 0, "");
  skipped.measurement = {};
  skipped.skipped = "it did not start";
  RecordFile head = cycles(10, 1000);
  head.records.push_back(skipped);
  const Verdict verdict = only(compare_files(cycles(10, 1000), head, {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::missing);
  EXPECT_EQ(verdict.reason, "in 1 of 11 rounds head skipped it: it did not start");
  // What base skips as well says nothing of the change.
  EXPECT_NE(only(compare_files(head, head, {}, false)).outcome, VerdictOutcome::missing);
}

TEST(CompareExact, WhatIsSimulatedInOneFileAndMeasuredInTheOtherIsChanged) {
  Record measured = simulated("ring", 1, 1);
  measured.measurement = timed(2, 1000, "").measurement;
  const RecordFile base = file_of({measured});
  const RecordFile head = file_of({simulated("ring", 1, 1)});
  EXPECT_EQ(only(compare_files(base, head, {}, false)).reason,
            "measured in base, simulated in head");
  EXPECT_EQ(only(compare_files(head, base, {}, false)).outcome, VerdictOutcome::changed);
}

TEST(CompareExact, TheFirstRecordMayHaveBeenSkipped) {
  Record skipped = simulated("ring", 1, 1);
  skipped.measurement = {};
  skipped.skipped = "stopped";
  const RecordFile base = file_of({skipped, simulated("ring", 1, 1)});
  EXPECT_EQ(only(compare_files(base, file_of({simulated("ring", 1, 1)}), {}, false)).outcome,
            VerdictOutcome::same);
}

TEST(CompareTimed, InterleavedRoundsShowASlowdownAndItsAbsence) {
  const Verdict slow =
      only(compare_files(cycles(10, 10'000), cycles(10, 12'000, 1), GateRule{}, false));
  EXPECT_EQ(slow.outcome, VerdictOutcome::slower);
  EXPECT_NEAR(slow.ratio->ratio, 1.2, 0.01);
  EXPECT_FALSE(slow.confirmation);
  const Verdict same =
      only(compare_files(cycles(10, 10'000), cycles(10, 10'010, 1), GateRule{}, false));
  EXPECT_EQ(same.outcome, VerdictOutcome::same);
}

TEST(CompareTimed, ACaseMayHaveAThresholdOfItsOwn) {
  GateRule rule;
  rule.exceptions = {{"algo:ring", parse_filter("algo:ring"), 0.4},
                     {"workers:9", parse_filter("workers:9"), 0.01}};
  const RecordFile base = cycles(10, 10'000);
  const Verdict wide = only(compare_files(base, cycles(10, 12'000, 1), rule, false));
  EXPECT_EQ(wide.outcome, VerdictOutcome::same);
  EXPECT_THAT(wide.reason, HasSubstr("its threshold of 40 %"));
  // The last exception that matches holds.
  rule.exceptions.push_back({"bytes>=1", parse_filter("bytes>=1"), 0.1});
  const Comparison comparison = compare_files(base, cycles(10, 12'000, 1), rule, false);
  EXPECT_EQ(only(comparison).outcome, VerdictOutcome::slower);
  EXPECT_THAT(only(comparison).reason, HasSubstr("threshold 10 %"));
  EXPECT_THAT(method_line(comparison), HasSubstr("times are lower quartiles of rounds; "));
  EXPECT_THAT(method_line(comparison), HasSubstr("threshold 5 %"));
  EXPECT_THAT(method_line(comparison), HasSubstr("40 % for algo:ring, 1 % for workers:9"));
}

TEST(CompareTimed, OneProcessEachShowsNothing) {
  const Comparison comparison = compare_files(cycles(1, 1000), cycles(1, 9000), {}, false);
  EXPECT_EQ(only(comparison).outcome, VerdictOutcome::inconclusive);
  EXPECT_THAT(comparison.warnings, ElementsAre(HasSubstr("1 rounds"), HasSubstr("one after")));
}

TEST(CompareTimed, AnotherMachineGivesNoVerdictUnlessTold) {
  RecordFile other = cycles(10, 12'000, 1);
  other.environment["cpu"] = "Y";
  const Verdict verdict = only(compare_files(cycles(10, 10'000), other, {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::env_mismatch);
  EXPECT_THAT(verdict.reason, HasSubstr("cpu: 'X' is not 'Y'"));
  EXPECT_EQ(only(compare_files(cycles(10, 10'000), other, {}, true)).outcome,
            VerdictOutcome::slower);
}

TEST(Compare, CasesOfOneNameAreToldApart) {
  RecordFile file = file_of({timed(2, 1000, "a"), timed(2, 2000, "a")});
  file.records[1].point.buffers = Buffers::cold;
  const Comparison comparison = compare_files(file, file, {}, false);
  ASSERT_EQ(comparison.verdicts.size(), 2u);
  EXPECT_EQ(comparison.verdicts[0].name, "ring/shm/workers:2/1024/f32/sum/buffers:produced");
  EXPECT_EQ(comparison.verdicts[1].name, "ring/shm/workers:2/1024/f32/sum/buffers:cold");
  Record fluid = simulated("ring", 1, 1);
  fluid.point.simulated.engine = "fluid";
  const Comparison engines =
      compare_files(file_of({fluid}), file_of({simulated("ring", 1, 1)}), {}, false);
  EXPECT_THAT(engines.verdicts[0].name, testing::EndsWith("/engine:fluid"));
  EXPECT_THAT(engines.verdicts[1].name, testing::EndsWith("/engine:auto"));
}

/// The warnings of a comparison of rounds that began in these seconds.
std::string turn_warning(const std::vector<int>& base, const std::vector<int>& head) {
  const auto rounds = [](const std::vector<int>& seconds) {
    RecordFile file = file_of({});
    for (const int second : seconds) {
      file.records.push_back(timed(2, 10'000 + 7 * std::ssize(file.records),
                                   "2026-11-21T10:00:" + std::to_string(second)));
    }
    return file;
  };
  const auto warnings = compare_files(rounds(base), rounds(head), {}, false).warnings;
  return warnings.empty() ? "" : warnings.back();
}

TEST(CompareTimed, OnlyRoundsThatFollowEachOtherAreInTurn) {
  const std::vector<int> base = {10, 12, 14, 16, 18, 20, 22, 24};
  EXPECT_EQ(turn_warning(base, {11, 13, 15, 17, 19, 21, 23, 25}), "");
  EXPECT_EQ(turn_warning(base, base), "") << "seconds do not tell";
  EXPECT_EQ(turn_warning(std::vector<int>(8, 10), std::vector<int>(8, 10)), "");
  EXPECT_THAT(turn_warning(base, {23, 26, 27, 28, 29, 30, 31, 32}),
              HasSubstr("one after the other"));
  EXPECT_THAT(turn_warning({10, 11, 12, 13, 40, 41, 42, 43}, {20, 21, 22, 23, 24, 25, 26, 27}),
              HasSubstr("one after the other"));
}

std::string unsoundness(const RecordFile& file) {
  return refusal([&] { require_sound(file, "f.json"); });
}

TEST(CompareRefuses, WhatNoRunWrites) {
  EXPECT_EQ(unsoundness(cycles(3, 1000)), "");
  EXPECT_EQ(unsoundness(file_of({timed(2, 5, "a"), timed(3, 5, "a"), timed(2, 6, "b")})), "")
      << "a cycle that was cut short";
  EXPECT_EQ(unsoundness(file_of({simulated("ring", 1, 1), simulated("ring", 1, 1)})), "")
      << "two rounds of ab --keep";
  EXPECT_THAT(unsoundness(file_of({simulated("ring", 1, 1), simulated("ring", 2, 1)})),
              HasSubstr("'ring/sim/workers:8/1024/f32/sum/on:star:8' is simulated twice, with"));
  EXPECT_THAT(unsoundness(file_of({timed(2, 5, "a"), timed(2, 5, "a")})),
              HasSubstr("case 'ring/shm/workers:2/1024/f32/sum' has the same record twice"));
  EXPECT_EQ(unsoundness(
                file_of({timed(2, 5, "a"), timed(3, 5, "a"), timed(2, 6, "b"), timed(2, 7, "c")})),
            "")
      << "the other case was decided";
  EXPECT_THAT(unsoundness(file_of({timed(2, 5, "a"), timed(3, 5, "a"), timed(2, 6, "b"),
                                   timed(2, 7, "c"), timed(3, 6, "b")})),
              HasSubstr("not one run's records"));
  EXPECT_THAT(unsoundness(file_of({timed(2, 5, "a"), timed(2, 6, "b"), timed(3, 5, "a")})),
              HasSubstr("not one run's records"));
  EXPECT_THAT(unsoundness(file_of({timed(2, -5, "a")})), HasSubstr("a sample of -5 ns"));
}

std::string unreadable(const std::string& text) {
  try {
    records_from_json(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

/// `text` with the first `from` in it replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

// Rounded to two decimals, eight runs have many a figure in common.
TEST(CompareTimed, EqualFiguresOfATableThatDoesNotSayWhenAreRounds) {
  RecordFile file = file_of({timed(2, 1500, ""), timed(2, 1510, ""), timed(2, 1500, "")});
  EXPECT_NO_THROW(require_sound(file, "base"));
  for (Record& record : file.records) record.started = "2026-11-21T10:00:10Z";
  EXPECT_THAT(refusal([&] { require_sound(file, "base"); }), HasSubstr("the same record twice"));
}

TEST(CompareRefuses, OtherUnitsAndWhatIsNoNumberByPlace) {
  const std::string head = environment_line({{"host", "one"}}) + "\n";
  const std::string good = to_json(timed(2, 5, "a"));
  const std::string first = head + good + "\n";
  EXPECT_EQ(unreadable(first), "");
  EXPECT_THAT(unreadable(first + with(good, "latency_ns", "latency_us") + "\n"),
              testing::AllOf(testing::StartsWith("record 2 {\"algorithm\":\"ring\""),
                             HasSubstr("'latency_us' is in another unit than 'latency_ns'")));
  EXPECT_THAT(unreadable(first + with(good, "[5,6,7]", "[5,NaN,7]") + "\n"),
              HasSubstr("line 3: no JSON"));
  EXPECT_THAT(unreadable(first + with(good, "[5,6,7]", "[5,null,7]") + "\n"),
              HasSubstr("record 2 {"));
  EXPECT_EQ(unreadable(first + good.substr(0, 50)), "") << "cut short by a kill";
  EXPECT_EQ(records_from_json(first + good.substr(0, 50)).records.size(), 1u);
  EXPECT_EQ(records_from_json(first + good).records.size(), 2u) << "only its line end is missing";
  EXPECT_EQ(records_from_json(environment_line({{"host", "one"}})).environment.at("host"), "one");
}

TEST(Outcomes, HaveNamesThatAreReadBack) {
  for (const VerdictOutcome outcome : all_outcomes())
    EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
  EXPECT_THROW(parse_outcome("slowr"), InvalidArgument);
}

TEST(Outcomes, TheHeadlineCountsThemWorstFirst) {
  const Comparison comparison =
      compare_files(file_of({simulated("ring", 1, 1), simulated("tree", 1, 1)}),
                    file_of({simulated("ring", 2, 1), simulated("tree", 1, 1)}), {}, false);
  EXPECT_EQ(headline(comparison), "2 cases: 1 slower, 1 same");
  EXPECT_EQ(method_line(comparison), "exact figures, compared for equality");
}

}  // namespace
}  // namespace collbench
