#include "bench/reports/standings.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/reports/contenders.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// Of `microseconds`, with samples that many percent around them.
Record timed(const std::string& algorithm, const std::string& backend, Bytes bytes,
             double microseconds, double spread_percent = 0) {
  Record record = scripted_record(algorithm, 2, bytes, 0);
  record.point.backend = backend;
  for (std::size_t i = 0; i < 20; ++i) {
    const double deviation = (static_cast<double>(i) - 9.5) / 9.5 * spread_percent / 100;
    record.measurement.latency_ns[i] =
        static_cast<std::int64_t>(microseconds * 1e3 * (1 + deviation));
  }
  return record;
}

std::vector<std::string> standings(const std::vector<Record>& records) {
  Standings all;
  for (const Record& record : records) all.add(record, figures(record));
  return all.lines(false);
}

TEST(StandingsTest, SayByHowMuchTheFastestLeadsTheNextAndTheLast) {
  EXPECT_THAT(
      standings({timed("mpi", "mpi", {1 << 20}, 740, 5), timed("direct", "shm", {1 << 20}, 100, 5),
                 timed("ring", "shm", {1 << 20}, 130)}),
      ElementsAre("at 1 MiB: direct@shm is 1.30 +- 0.03 times faster than ring@shm, 7.4 +- "
                  "0.2 times faster than mpi"));
}

TEST(StandingsTest, AreSilentWhereNothingIsCompared) {
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 1), timed("ring", "shm", {1024}, 2)}),
              IsEmpty());
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 1), timed("tree", "shm", {4096}, 2)}),
              IsEmpty());
}

TEST(StandingsTest, WrongAndSkippedCasesDoNotCompete) {
  Record wrong = timed("tree", "shm", {1024}, 1);
  wrong.measurement.wrong = 3;
  Record skipped = timed("mpi", "mpi", {1024}, 1);
  skipped.skipped = "no Open MPI here";
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 2), wrong, skipped}), IsEmpty());
  EXPECT_THAT(
      standings({timed("ring", "shm", {1024}, 2), wrong, timed("direct", "shm", {1024}, 4)}),
      ElementsAre("at 1 KiB: ring is 2.00 times faster than direct"));
}

TEST(StandingsTest, WhatCannotBeToldApartIsNotCalledFaster) {
  EXPECT_THAT(
      standings({timed("ring", "shm", {1024}, 100, 10), timed("tree", "shm", {1024}, 101, 10)}),
      ElementsAre(StartsWith("at 1 KiB: ring is as fast as tree (1.01 +- ")));
}

TEST(StandingsTest, TimesThatScatterWidelyAndOverlapAreNotCalledEquallyFast) {
  EXPECT_THAT(
      standings({timed("ring", "shm", {1024}, 100, 90), timed("tree", "shm", {1024}, 110, 90)}),
      ElementsAre(
          testing::ContainsRegex("^at 1 KiB: ring is not told apart from tree [(]0[.0-9]+ to ")));
}

TEST(StandingsTest, NoneIsCalledAsFastWhoseRatioLeavesOneOut) {
  const std::vector<std::string> lines =
      standings({timed("ring", "shm", {1024}, 100, 35), timed("tree", "shm", {1024}, 135, 35)});
  EXPECT_THAT(lines,
              ElementsAre(StartsWith("at 1 KiB: ring is not told apart from tree (1.4 +- ")));
}

TEST(StandingsTest, OfTimesThatScatterWidelyTheEndsOfTheRatioStand) {
  EXPECT_THAT(
      standings({timed("auto", "shm", {1024}, 10), timed("tree", "shm", {1024}, 2000, 190)}),
      ElementsAre(
          testing::ContainsRegex("^at 1 KiB: auto is [0-9.]+ to [0-9]+ times faster than tree$")));
}

TEST(StandingsTest, TheLastIsNotCalledSlowerWhereItCannotBeToldApart) {
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 100, 30), timed("tree", "shm", {1024}, 101),
                         timed("direct", "shm", {1024}, 102)}),
              ElementsAre(StartsWith("at 1 KiB: ring is as fast as tree (1.0")));
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 100, 30), timed("tree", "shm", {1024}, 101),
                         timed("direct", "shm", {1024}, 102)}),
              ElementsAre(testing::HasSubstr("as fast as direct (1.0")));
}

TEST(StandingsTest, SizesWithTheSameWinnerAreOneSentence) {
  EXPECT_THAT(
      standings({timed("ring", "shm", {1024}, 1), timed("tree", "shm", {1024}, 2),
                 timed("ring", "shm", {4096}, 2), timed("tree", "shm", {4096}, 6),
                 timed("ring", "shm", {8192}, 9), timed("tree", "shm", {8192}, 3)}),
      ElementsAre("from 1 KiB to 4 KiB: ring leads, at 4 KiB it is 3.00 times faster than tree",
                  "at 8 KiB: tree is 3.00 times faster than ring"));
}

TEST(StandingsTest, SettingsAreNotComparedWithEachOther) {
  Record four = timed("ring", "shm", {1024}, 1);
  four.point.workers = 4;
  EXPECT_THAT(standings({timed("tree", "shm", {1024}, 9), four}), IsEmpty());
  Record other = timed("tree", "shm", {1024}, 3);
  other.point.workers = 4;
  EXPECT_THAT(standings({timed("tree", "shm", {1024}, 9), four, other}),
              ElementsAre("at 1 KiB, 4 workers: ring is 3.00 times faster than tree"));
}

TEST(StandingsTest, BuffersAreSettingsAndWhatDiffersIsNamed) {
  Record cold = timed("tree", "shm", {1024}, 9);
  cold.point.buffers = Buffers::cold;
  EXPECT_THAT(standings({timed("ring", "shm", {1024}, 3), cold}), IsEmpty());
  Record other = timed("tree", "shm", {1024}, 6);
  other.point.op = ReduceOp::max;
  Record slow = timed("ring", "shm", {1024}, 3);
  slow.point.op = ReduceOp::max;
  EXPECT_THAT(
      standings({timed("ring", "shm", {1024}, 3), timed("tree", "shm", {1024}, 3), other, slow}),
      testing::UnorderedElementsAre("at 1 KiB, max: ring is 2.00 times faster than tree",
                                    StartsWith("at 1 KiB, sum: ring is as fast as tree")));
}

TEST(StandingsTest, FewIterationsDoNotTellWhichIsTheFastest) {
  Record ring = timed("ring", "shm", {1024}, 3);
  ring.measurement.latency_ns.resize(5);
  const Record tree = timed("tree", "shm", {1024}, 9);
  EXPECT_THAT(standings({ring, tree}),
              ElementsAre("fewer than 6 iterations do not tell which is the fastest"));
  ring.measurement.latency_ns.resize(6, 3000);
  EXPECT_THAT(standings({ring, tree}), ElementsAre(StartsWith("at 1 KiB: ring is 3.00 times")));
}

TEST(StandingsTest, OfCyclesTheirDifferencesAreTheError) {
  // Each of them is steady, but they start fast or slow.
  for (const int cycles : {2, 6}) {
    std::vector<Record> records;
    for (int cycle = 0; cycle < cycles; ++cycle) {
      records.push_back(timed("ring", "shm", {4096}, cycle % 2 == 0 ? 100 : 150));
      records.push_back(timed("direct", "shm", {4096}, cycle % 2 == 0 ? 102 : 149));
    }
    EXPECT_THAT(standings(records),
                ElementsAre("at 4 KiB: ring is not told apart from direct (0.7 to 1.5)"))
        << cycles;
  }
  // What six cycles of one iteration show is known.
  std::vector<Record> records;
  for (int cycle = 0; cycle < 6; ++cycle) {
    for (const char* algorithm : {"ring", "tree"}) {
      Record record = timed(algorithm, "shm", {4096}, algorithm[0] == 'r' ? 100 : 200);
      record.measurement.latency_ns.resize(1);
      records.push_back(record);
    }
  }
  EXPECT_THAT(standings(records), ElementsAre("at 4 KiB: ring is 2.00 times faster than tree"));
}

TEST(StandingsTest, WhatRestsOnADisturbedRecordSaysSo) {
  Record ring = timed("ring", "shm", {4096}, 100);
  ring.measurement.warnings = {"foreign load: 38 % of the CPU time was not ours"};
  EXPECT_THAT(
      standings({ring, timed("tree", "shm", {4096}, 200)}),
      ElementsAre("at 4 KiB: ring is 2.00 times faster than tree (disturbed: equal ones may "
                  "differ as much)"));
}

TEST(StandingsTest, AreAtMostFourLinesTheClearestFirst) {
  std::vector<Record> records;
  for (int i = 0; i < 8; ++i) {
    const Bytes bytes{std::int64_t{1024} << i};
    records.push_back(timed("ring", "shm", bytes, i % 2 == 0 ? 1 : 2 + i));
    records.push_back(timed("tree", "shm", bytes, i % 2 == 0 ? 2 + i : 1));
  }
  const auto lines = standings(records);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], StartsWith("at 32 KiB: tree is 7.00 times"));
  EXPECT_THAT(lines[2], StartsWith("at 128 KiB: tree is 9.00 times"));
  EXPECT_THAT(lines[3], EndsWith("5 times"));
}

TEST(ContendersTest, NameTheBackEndOnlyWhereItTellsThemApart) {
  const Case shm = timed("ring", "shm", {1024}, 1).point;
  const Case grpc = timed("ring", "grpc", {1024}, 1).point;
  EXPECT_TRUE(backends_differ({shm, grpc}));
  EXPECT_FALSE(backends_differ({shm, shm}));
  EXPECT_EQ(contender_name(grpc, true), "ring@grpc");
  EXPECT_EQ(contender_name(grpc, false), "ring");
  EXPECT_EQ(contender_name(timed("mpi", "mpi", {1024}, 1).point, true), "mpi");
  Case simulated = shm;
  simulated.simulated.topology = "star:4,1GBps,1us";
  EXPECT_EQ(contender_name(simulated, true), "ring");
  EXPECT_FALSE(backends_differ({shm, simulated}));
}

TEST(ContendersTest, AnAlgorithmHasOneColourWhateverStandsBesideIt) {
  const auto point = [](const char* algorithm) { return timed(algorithm, "shm", {1024}, 1).point; };
  const auto alone = algorithm_places({point("direct")});
  const auto beside = algorithm_places({point("gloo"), point("direct"), point("ring")});
  EXPECT_EQ(alone.at("direct"), beside.at("direct"));
  EXPECT_NE(chart_colour(beside.at("ring")), chart_colour(beside.at("direct")));
  std::vector<Case> cases;
  for (const char* name : {"ring", "ring:segments=2", "ring:segments=4", "a", "b", "c", "d", "e"}) {
    cases.push_back(point(name));
  }
  std::vector<std::size_t> places;
  for (const auto& [algorithm, place] : algorithm_places(cases)) places.push_back(place);
  std::ranges::sort(places);
  EXPECT_EQ(std::ranges::adjacent_find(places), places.end());
  EXPECT_LT(places[6], chart_colours);  // eight have one more than the colours
}

}  // namespace
}  // namespace collbench
