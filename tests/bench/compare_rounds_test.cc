// What the rounds of stored records can show, and rounds that are wrong or not there.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/compare_records.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CompareRounds, TooFewRoundsForSoManyCasesAreNamed) {
  const auto rounds_of = [](int cases, std::int64_t latency_ns, int first_second) {
    RecordFile file = file_of({});
    for (int round = 0; round < 8; ++round) {
      for (int i = 0; i < cases; ++i) {
        file.records.push_back(timed(2 + i, latency_ns + 7 * round,
                                     fmt::format("2026-11-21T10:00:{}", first_second + 2 * round)));
      }
    }
    return file;
  };
  const auto of = [&](int cases) {
    return compare_files(rounds_of(cases, 1000, 10), rounds_of(cases, 2000, 11), {}, false);
  };
  const Comparison few = of(64);
  EXPECT_EQ(count(few, VerdictOutcome::slower), 64);
  EXPECT_TRUE(few.warnings.empty());
  const Comparison many = of(65);
  EXPECT_EQ(count(many, VerdictOutcome::inconclusive), 65);
  EXPECT_THAT(many.warnings, ElementsAre(HasSubstr("8 rounds a side cannot show a change among 65 "
                                                   "cases, however large it is: from 9")));
  EXPECT_THAT(many.verdicts.front().reason, HasSubstr("beyond the threshold, but more rounds"));
}

TEST(CompareRounds, AChangeOfExactlyTheThresholdIsWithinIt) {
  const auto rounds_of = [](double factor, int first_second) {
    RecordFile file = file_of({});
    for (int round = 0; round < 12; ++round) {
      for (const int base : {20, 100, 200, 340, 400, 1000, 3000}) {
        Record record = timed(base, std::llround(base * factor),
                              fmt::format("2026-11-21T10:00:{}", first_second + 2 * round));
        record.measurement.latency_ns = {std::llround(base * factor)};
        file.records.push_back(record);
      }
    }
    return file;
  };
  const Comparison comparison = compare_files(rounds_of(1, 10), rounds_of(1.05, 11), {}, false);
  EXPECT_EQ(count(comparison, VerdictOutcome::same), 7) << headline(comparison);
}

TEST(CompareRounds, AWrongBaseIsSaid) {
  RecordFile base = cycles(10, 100);
  base.records[3].measurement.wrong = 1024;
  const Verdict verdict = only(compare_files(base, cycles(10, 10'000, 1), {}, false));
  EXPECT_EQ(verdict.outcome, VerdictOutcome::inconclusive);
  EXPECT_FALSE(verdict.ratio);
  EXPECT_THAT(verdict.reason, HasSubstr("base's result is wrong"));
}

TEST(CompareRounds, AHeadThatMostlyFailedIsSaidOrMissing) {
  const RecordFile base = cycles(16, 10'000);
  const RecordFile head = cycles(3, 10'000, 1);
  const Comparison warned = compare_files(base, head, {}, false);
  EXPECT_THAT(warned.warnings,
              testing::Contains(HasSubstr("under half of base's rounds in 1 of 1 cases")));
  const Verdict lost = only(compare_files(base, head, {}, false, {.base = 0, .head = 13}));
  EXPECT_EQ(lost.outcome, VerdictOutcome::missing);
  EXPECT_THAT(lost.reason, HasSubstr("in 3 rounds, base in 16: 13 files of head"));
  EXPECT_NE(only(compare_files(base, head, {}, false, {.base = 13, .head = 13})).outcome,
            VerdictOutcome::missing);
}

TEST(CompareRounds, ACaseThatHeadLostInMostRoundsIsMissing) {
  RecordFile base = cycles(16, 10'000);
  RecordFile head = cycles(16, 10'000, 1);
  for (RecordFile* file : {&base, &head}) {
    const std::vector<Record> rounds = file->records;
    file->records.clear();
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      file->records.push_back(rounds[i]);
      if (file == &head && i >= 3) continue;
      file->records.push_back(rounds[i]);
      file->records.back().point.workers = 4;
    }
  }
  const Comparison comparison = compare_files(base, head, {}, false);
  EXPECT_EQ(comparison.verdicts[0].outcome, VerdictOutcome::same);
  EXPECT_EQ(comparison.verdicts[1].outcome, VerdictOutcome::missing);
  EXPECT_EQ(comparison.verdicts[1].reason, "head has it in 3 rounds, base in 16");
}

TEST(CompareRounds, CallsOfASampleDoNotPartACase) {
  RecordFile base = cycles(10, 1010);
  RecordFile head = cycles(10, 990'000, 1);
  for (Record& record : head.records) {
    record.point.calls = 1000;
    for (std::int64_t& ns : record.measurement.latency_ns) ns += 20'000;
  }
  const Verdict verdict = only(compare_files(base, head, {}, false));
  EXPECT_NEAR(verdict.ratio->ratio, 1, 0.1);
}

}  // namespace
}  // namespace collbench
