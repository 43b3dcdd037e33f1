// The SQLite history: what is added comes back, and nothing half.
#include "bench/verdicts/history.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;

class HistoryTest : public testing::Test {
 protected:
  HistoryTest()
      : path_(testing::TempDir() + "history." + std::to_string(getpid()) + "." +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::remove(path_.c_str());
  }
  ~HistoryTest() override { std::remove(path_.c_str()); }

  static Comparison job(const std::string& revision, double ratio, double exact_ns = 500) {
    Comparison comparison;
    comparison.base = {{"git_revision", "pinned"}};
    comparison.head = {{"git_revision", revision}, {"host", "h"}, {"cpu", "c"}};
    Verdict timed;
    timed.name = "ring";
    timed.base = timed.head = Arm{};
    timed.ratio = RatioEstimate{ratio, ratio * 0.99, ratio * 1.01, 1, 1, 10, 10};
    Verdict exact;
    exact.name = "simulated";
    exact.exact = true;
    exact.base = exact.head = Arm{};
    exact.head->typical_ns = exact_ns;
    Verdict gone;
    gone.name = "gone";
    gone.outcome = VerdictOutcome::missing;
    comparison.verdicts = {timed, exact, gone};
    return comparison;
  }
  static std::string day(int number) {
    return "2026-01-" + std::string(number < 10 ? "0" : "") + std::to_string(number) + "T00:00:00Z";
  }
  std::string path_;
};

TEST_F(HistoryTest, WhatIsAddedComesBackInTheOrderOfTime) {
  History history(path_);
  history.add(job("b", 1.1), day(2));
  EXPECT_EQ(history.add(job("a", 1.0), day(1)).cases, 2);
  const History again(path_);
  ASSERT_EQ(again.jobs().size(), 2u);
  EXPECT_EQ(again.jobs()[0].revision, "a");
  EXPECT_EQ(again.jobs()[0].cases, 2);
  EXPECT_THAT(again.cases(), ElementsAre("ring", "simulated"));
  const StoredSeries series = again.series("ring", {});
  ASSERT_EQ(series.points.size(), 2u);
  EXPECT_DOUBLE_EQ(series.points[1].value, 1.1);
  EXPECT_DOUBLE_EQ(series.points[1].low, 1.1 * 0.99);
  EXPECT_EQ(series.points[1].rounds, 10);
  EXPECT_THROW(again.series("rnig", {}), InvalidArgument);
}

TEST_F(HistoryTest, AStepOfTimedCasesAndAnyStepOfExactOnesIsAChange) {
  History history(path_);
  for (int i = 1; i <= 20; ++i) {
    const double wobble = 0.004 * ((i * 7) % 5 - 2);
    history.add(job("r" + std::to_string(i), (i <= 12 ? 1.0 : 1.15) + wobble, i <= 5 ? 500 : 501),
                day(i));
  }
  const auto timed = history.series("ring", {});
  ASSERT_EQ(timed.changes.size(), 1u);
  EXPECT_EQ(timed.points[timed.changes[0].at].job.revision, "r13");
  const auto exact = history.series("simulated", {});
  ASSERT_EQ(exact.changes.size(), 1u);
  EXPECT_EQ(exact.changes[0].at, 5u);
}

TEST_F(HistoryTest, PruningKeepsTheLatestJobs) {
  History history(path_);
  for (int i = 1; i <= 5; ++i) history.add(job("r" + std::to_string(i), 1), day(i));
  EXPECT_EQ(history.prune(2), 3);
  EXPECT_EQ(history.jobs().front().revision, "r4");
  EXPECT_EQ(history.series("ring", {}).points.size(), 2u);
  EXPECT_EQ(history.prune(0), 2);
  EXPECT_THAT(history.cases(), testing::IsEmpty()) << "points go with their jobs";
}

TEST_F(HistoryTest, AnotherReferenceAndAnEmptyComparisonAreRefusedWhole) {
  History history(path_);
  history.add(job("a", 1), day(1));
  Comparison other = job("b", 1);
  other.base["git_revision"] = "moved";
  EXPECT_THROW(history.add(other, day(2)), InvalidArgument);
  other.verdicts.clear();
  EXPECT_THROW(history.add(other, day(2)), InvalidArgument);
  EXPECT_EQ(history.jobs().size(), 1u);
}

TEST_F(HistoryTest, FilesThatAreNoHistoryAreRefused) {
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_THROW(History{path_}, InvalidArgument);
  EXPECT_THROW(History{"/no/such/folder/h.sqlite"}, Unavailable);
}

}  // namespace
}  // namespace collbench
