// The SQLite history: what is added comes back, and nothing half.
#include "bench/verdicts/history.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "core/input_file.h"

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
    timed.point.algorithm = "ring";
    timed.base = timed.head = Arm{};
    timed.ratio = RatioEstimate{ratio, ratio * 0.99, ratio * 1.01, 1, 1, 10, 10};
    Verdict exact;
    exact.point.algorithm = "simulated";
    exact.exact = true;
    exact.base = exact.head = Arm{};
    exact.head->typical_ns = exact_ns;
    Verdict gone;
    gone.point.algorithm = "gone";
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
  History history(path_, History::Use::change_or_make);
  history.add(job("b", 1.1), day(2));
  EXPECT_EQ(history.add(job("a", 1.0), day(1)).cases, 2);
  const History again(path_, History::Use::read);
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
  History history(path_, History::Use::change_or_make);
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

TEST_F(HistoryTest, AnotherSettingOfACaseIsAnotherSeries) {
  History history(path_, History::Use::change_or_make);
  for (int i = 1; i <= 20; ++i) {
    Comparison each = job("r" + std::to_string(i), 1.0 + 0.004 * ((i * 7) % 5 - 2));
    Case& point = each.verdicts[0].point;
    point.backend = "shm";
    if (i > 10) point.buffers = Buffers::cold;
    if (i > 10) each.verdicts[0].ratio->ratio += 0.2;
    Case& simulated = each.verdicts[1].point;
    simulated.algorithm = "ring";
    simulated.backend = "sim";
    simulated.simulated.topology = "star:4";
    if (i > 10) simulated.simulated.engine = "fluid";
    if (i > 10) each.verdicts[1].head->typical_ns *= 1 + 1e-13;  // sums in another order
    history.add(each, day(i));
  }
  EXPECT_THAT(history.cases(), ElementsAre("ring/shm/workers:2/0/f32/sum",
                                           "ring/shm/workers:2/0/f32/sum/buffers:cold",
                                           "ring/sim/workers:2/0/f32/sum/on:star:4",
                                           "ring/sim/workers:2/0/f32/sum/on:star:4/engine:fluid"));
  for (const std::string& name : history.cases()) {
    const StoredSeries series = history.series(name, {});
    EXPECT_EQ(series.points.size(), 10u) << name;
    EXPECT_THAT(series.changes, testing::IsEmpty()) << name;
  }
}

TEST_F(HistoryTest, ExactTimesThatDifferBySumsInAnotherOrderAreNoChange) {
  History history(path_, History::Use::change_or_make);
  history.add(job("a", 1, 500), day(1));
  history.add(job("b", 1.01, 500 * (1 + 1e-14)), day(2));
  EXPECT_THAT(history.series("simulated", {}).changes, testing::IsEmpty());
}

TEST_F(HistoryTest, AChangeTellsIfTheMachineIsAnotherToo) {
  const auto told = [&](auto cpu_of_day) {
    std::remove(path_.c_str());
    History history(path_, History::Use::change_or_make);
    for (int i = 1; i <= 20; ++i) {
      Comparison each = job("r" + std::to_string(i),
                            (i <= 10 ? 1.0 : 1.2) + 0.004 * ((i * 7) % 5 - 2), i <= 10 ? 5 : 6);
      each.head["host"] = "runner-" + std::to_string(i);
      each.head["cpu"] = cpu_of_day(i);
      history.add(each, day(i));
    }
    const StoredSeries exact = history.series("simulated", {});
    EXPECT_EQ(other_cpus(exact, exact.changes.at(0)), "");
    const StoredSeries timed = history.series("ring", {});
    return other_cpus(timed, timed.changes.at(0));
  };
  EXPECT_EQ(told([](int) { return "EPYC"; }), "");
  EXPECT_EQ(told([](int i) { return i % 3 == 0 ? "Xeon" : "EPYC"; }), "");
  EXPECT_EQ(told([](int i) { return i <= 10 ? (i == 2 ? "Xeon" : "EPYC") : "Graviton, 64"; }),
            "on 'Graviton, 64', before it on 'EPYC', 'Xeon'");
}

TEST_F(HistoryTest, PruningKeepsTheLatestJobs) {
  History history(path_, History::Use::change_or_make);
  for (int i = 1; i <= 5; ++i) history.add(job("r" + std::to_string(i), 1), day(i));
  EXPECT_EQ(history.prune(2), 3);
  EXPECT_EQ(history.jobs().front().revision, "r4");
  EXPECT_EQ(history.series("ring", {}).points.size(), 2u);
  EXPECT_EQ(history.prune(0), 2);
  EXPECT_THAT(history.cases(), testing::IsEmpty()) << "points go with their jobs";
}

TEST_F(HistoryTest, OfOtherProgramsTheReferenceIsTheCommand) {
  History history(path_, History::Use::change_or_make);
  Comparison commands = job("abc", 1.0);
  commands.base = {{"command", "./old\n-x"}};
  commands.head = {{"command", "./new"}, {"host", "h"}, {"cpu", "c"}};
  const HistoryJob added = history.add(commands, "2026-11-01T00:00:00Z");
  EXPECT_EQ(added.reference, "./old -x");
  EXPECT_EQ(added.revision, "./new");
  commands.base["command"] = "./older";
  EXPECT_THAT(refusal([&] { history.add(commands, "2026-11-02T00:00:00Z"); }),
              testing::HasSubstr("is pinned to reference ./old -x, not ./older"));
}

TEST_F(HistoryTest, AnotherReferenceAndAnEmptyComparisonAreRefusedWhole) {
  History history(path_, History::Use::change_or_make);
  history.add(job("a", 1), day(1));
  Comparison other = job("b", 1);
  other.base["git_revision"] = "moved";
  EXPECT_THROW(history.add(other, day(2)), InvalidArgument);
  other.verdicts.clear();
  EXPECT_THROW(history.add(other, day(2)), InvalidArgument);
  EXPECT_EQ(history.jobs().size(), 1u);
}

std::string content_of(const std::string& path) { return read_file(path); }

TEST_F(HistoryTest, OfTwoThatAddAtOnceTheSecondSeesTheReferenceOfTheFirst) {
  { const History made(path_, History::Use::change_or_make); }
  // It asks for the reference while another writes, and may write only when that is done.
  SQLite::Database other(path_, SQLite::OPEN_READWRITE, 5000);
  other.exec("begin immediate");
  other.exec(
      "insert into job (happened, revision, reference, machine) values ('d', 'r', 'other', 'm')");
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    other.exec("commit");
  });
  History history(path_, History::Use::change_or_make);
  EXPECT_THROW(history.add(job("b", 1.1), day(1)), InvalidArgument);
  later.join();
}

TEST_F(HistoryTest, FilesThatAreNoHistoryAreRefusedAndLeftAsTheyAre) {
  for (const std::string& text : {std::string(5000, 'x'), std::string("x")}) {
    std::ofstream(path_, std::ios::trunc) << text;
    EXPECT_THROW(History(path_, History::Use::change_or_make), InvalidArgument);
    EXPECT_EQ(content_of(path_), text);
  }
  EXPECT_THROW(History("/proc/no/h.sqlite", History::Use::change_or_make), Unavailable);
  EXPECT_THROW(History("", History::Use::change_or_make), InvalidArgument);
}

TEST_F(HistoryTest, ReadingMakesNoFile) {
  EXPECT_THROW(History(path_, History::Use::read), Unavailable);
  EXPECT_THROW(History(path_, History::Use::change), Unavailable);
  try {
    History(path_, History::Use::read);
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("there is no history '" + path_));
  }
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(HistoryTest, TheSameFiguresAreAddedOnce) {
  History history(path_, History::Use::change_or_make);
  history.add(job("a", 1), day(1));
  EXPECT_THAT(refusal([&] { history.add(job("a", 1), day(2)); }),
              testing::HasSubstr("these very figures already, as job 1"));
  history.add(job("a", 1.01), day(2));
  EXPECT_EQ(history.jobs().size(), 2u);
}

// Every bit of the file in turn would take minutes: every 97th byte, one of its bits.
TEST_F(HistoryTest, NoFlippedBitChangesAFigureInSilence) {
  StoredSeries series;
  {
    History history(path_, History::Use::change_or_make);
    for (int i = 1; i <= 20; ++i) history.add(job("r" + std::to_string(i), 1 + i * 0.001), day(i));
    series = history.series("ring", {});
  }
  const std::string good = content_of(path_);
  int refused = 0;
  for (std::size_t at = 0; at < good.size(); at += 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    std::ofstream(path_, std::ios::trunc | std::ios::binary) << bad;
    try {
      const StoredSeries read = History(path_, History::Use::read).series("ring", {});
      ASSERT_EQ(read.points.size(), series.points.size()) << "byte " << at;
      for (std::size_t i = 0; i < read.points.size(); ++i) {
        ASSERT_EQ(read.points[i].value, series.points[i].value) << "byte " << at;
        ASSERT_EQ(read.points[i].job.revision, series.points[i].job.revision) << "byte " << at;
      }
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace collbench
